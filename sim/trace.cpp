// How each kind of field is hashed and printed.
#include "sim/trace.h"

#include <iterator>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/id.h"
#include "sim/chance.h"

namespace turnpike::sim {

namespace {

template <class Tag>
std::uint64_t number(Id<Tag> id) {
    return id.value;
}
std::uint64_t number(Bytes bytes) { return bytes.count; }
std::uint64_t number(Duration duration) { return static_cast<std::uint64_t>(duration.count()); }
template <class Value>
    requires std::is_integral_v<Value> || std::is_enum_v<Value>
std::uint64_t number(Value value) {
    return static_cast<std::uint64_t>(value);
}

template <class Variant>
std::uint64_t hash_variant(const Variant& value) {
    std::uint64_t hash = value.index();
    std::visit(
        [&](const auto& it) {
            it.fields([&](const char*, const auto& field) { hash = mix(hash, number(field)); });
        },
        value);
    return hash;
}

using Text = std::back_insert_iterator<std::string>;

/// Prints the place in a slab, and how often that place was used before.
template <class Tag>
void put(Text out, Id<Tag> id) {
    if (id.is_none())
        fmt::format_to(out, "-");
    else if (id.value >> 32 != 0)
        fmt::format_to(out, "{}'{}", id.value & 0xFFFF'FFFF, id.value >> 32);
    else
        fmt::format_to(out, "{}", id.value);
}
void put(Text out, Bytes bytes) { fmt::format_to(out, "{}", bytes.count); }
void put(Text out, bool value) { fmt::format_to(out, "{}", value ? "yes" : "no"); }
void put(Text out, Duration duration) {
    if (duration == Duration::max())
        fmt::format_to(out, "none");
    else
        fmt::format_to(out, "{}.{:09}s", duration / 1s, (duration % 1s).count());
}
template <class Value>
    requires std::is_integral_v<Value>
void put(Text out, Value value) {
    fmt::format_to(out, "{}", value);
}
template <class Value>
    requires std::is_enum_v<Value>
void put(Text out, Value value) {
    fmt::format_to(out, "{}", name_of(value));
}

template <class Variant>
void put_variant(Text out, const Variant& value) {
    std::visit(
        [&](const auto& it) {
            fmt::format_to(out, "{}", it.name);
            it.fields([&](const char* label, const auto& field) {
                fmt::format_to(out, " {}=", label);
                put(out, field);
            });
        },
        value);
}

void put_time(Text out, Duration at) {
    fmt::format_to(out, "{:>5}.{:09} ", at / 1s, (at % 1s).count());
}

}  // namespace

std::uint64_t hash_of(const Event& event) { return hash_variant(event); }
std::uint64_t hash_of(const Action& action) { return hash_variant(action); }

void Trace::add(Duration at, const Event& event, std::span<const Action> actions) {
    hash_ = mix(hash_, number(at));
    hash_ = mix(hash_, hash_of(event));
    for (const Action& action : actions) hash_ = mix(hash_, hash_of(action));
    if (tracing_ == Tracing::off) return;
    const Text out(text_);
    put_time(out, at);
    put_variant(out, event);
    text_ += '\n';
    for (const Action& action : actions) {
        text_ += "                 → ";
        put_variant(out, action);
        text_ += '\n';
    }
}

void Trace::note(Duration at, const std::string& text) {
    if (tracing_ == Tracing::off) return;
    put_time(Text(text_), at);
    text_ += "# ";
    text_ += text;
    text_ += '\n';
}

}  // namespace turnpike::sim
