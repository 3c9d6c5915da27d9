#include "wire/encode.h"

#include <array>
#include <bit>
#include <initializer_list>
#include <utility>

#include "base/check.h"
#include "wire/kind.h"

namespace turnpike::wire {

namespace {

template <class Number>
std::array<char, sizeof(Number)> little_endian(Number value) {
    if constexpr (std::endian::native == std::endian::big) value = std::byteswap(value);
    return std::bit_cast<std::array<char, sizeof(Number)>>(value);
}

/// Collects the header and the fixed part of a frame. append_to() appends both, and the variable
/// parts.
class Head {
public:
    Head(Kind kind, std::uint64_t id, const BodyPart& body = {}) {
        u32(0);  // the size, which append_to() fills in
        u8(static_cast<std::uint8_t>(kind));
        u8(body.is_in_descriptor ? flag_descriptor : 0);
        u16(0);
        u64(id);
    }

    Head& u8(std::uint8_t value) { return number(value); }
    Head& u16(std::uint16_t value) { return number(value); }
    Head& u32(std::uint32_t value) { return number(value); }
    Head& u64(std::uint64_t value) { return number(value); }
    Head& bytes(std::string_view part) {
        CHECK(size_ + part.size() <= bytes_.size());
        part.copy(bytes_.data() + size_, part.size());
        size_ += part.size();
        return *this;
    }
    Head& length16(std::string_view part, std::size_t most = text_max) {
        CHECK(part.size() <= most);
        return u16(static_cast<std::uint16_t>(part.size()));
    }
    Head& length32(std::string_view part, std::size_t most) {
        CHECK(part.size() <= most);
        return u32(static_cast<std::uint32_t>(part.size()));
    }

    /// Appends the frame to `out`. `following` is the size of the rest of the payload, which the
    /// caller appends.
    void append_to(std::string& out, std::initializer_list<std::string_view> parts,
                   std::size_t following = 0) {
        std::size_t payload = size_ - header_size;
        for (const std::string_view part : parts) payload += part.size();
        CHECK(payload + following <= payload_max);
        const std::size_t fixed_end = std::exchange(size_, 0);
        u32(static_cast<std::uint32_t>(payload + following));
        out.append(bytes_.data(), fixed_end);
        for (const std::string_view part : parts) out.append(part);
    }

private:
    template <class Number>
    Head& number(Number value) {
        const auto little = little_endian(value);
        return bytes({little.data(), little.size()});
    }

    std::array<char, header_size + 20> bytes_{};  // a job has the longest fixed part
    std::size_t size_ = 0;
};

/// The end of a frame whose body is in a descriptor: the length of that body. Empty for other
/// frames.
class DescriptorLength {
public:
    explicit DescriptorLength(const BodyPart& body)
        : length_(little_endian(body.in_descriptor)), is_there_(body.is_in_descriptor) {
        CHECK(body.bytes.size() <= inline_max && (!is_there_ || body.bytes.empty()));
    }
    [[nodiscard]] std::string_view view() const {
        return {length_.data(), is_there_ ? length_.size() : 0};
    }

private:
    std::array<char, sizeof(std::uint64_t)> length_;
    bool is_there_;
};

// ── from the gate ────────────────────────────────────────────────────────────────────────────────

void append(std::string& out, const Welcome& welcome) {
    Head(Kind::welcome, 0)
        .u16(welcome.version)
        .u16(welcome.lane)
        .u16(welcome.gpus)
        .u16(welcome.slots)
        .u16(welcome.batch)
        .length16(welcome.pool)
        .append_to(out, {welcome.pool});
}

void append(std::string& out, const Job& job) {
    append_head(out, job);
    out.append(job.body.bytes);
}

void append(std::string& out, const Cancel& it) { Head(Kind::cancel, it.id).append_to(out, {}); }
void append(std::string& out, const Ping& it) { Head(Kind::ping, it.id).append_to(out, {}); }
void append(std::string& out, const AskStacks& it) {
    Head(Kind::ask_stacks, it.id).append_to(out, {});
}
void append(std::string& out, const Pause& it) { Head(Kind::pause, it.id).append_to(out, {}); }
void append(std::string& out, const Resume& it) { Head(Kind::resume, it.id).append_to(out, {}); }
void append(std::string& out, const Stop&) { Head(Kind::stop, 0).append_to(out, {}); }

// ── from the worker ──────────────────────────────────────────────────────────────────────────────

void append(std::string& out, const Hello& hello) {
    Head(Kind::hello, 0)
        .bytes(hello_magic)
        .u16(hello.version_min)
        .u16(hello.version_max)
        .length16(hello.sdk)
        .append_to(out, {hello.sdk});
}

void append(std::string& out, const Loading& loading) {
    Head(Kind::loading, 0)
        .u8(static_cast<std::uint8_t>(loading.phase))
        .u8(0)
        .u16(loading.permille)
        .length16(loading.text)
        .append_to(out, {loading.text});
}

void append(std::string& out, const Ready& ready) {
    const int traits =
        (ready.has_example ? trait_example : 0) | (ready.checks_proofs ? trait_checks_proofs : 0);
    Head(Kind::ready, 0)
        .u16(ready.slots)
        .u16(ready.batch)
        .u8(static_cast<std::uint8_t>(traits))
        .u8(0)
        .length16(ready.example_type, name_max)
        .length32(ready.example, inline_max)
        .length32(ready.facts, facts_max)
        .append_to(out, {ready.example_type, ready.example, ready.facts});
}

void append(std::string& out, const Progress& progress) {
    Head(Kind::progress, progress.id)
        .u16(progress.permille)
        .length16(progress.text)
        .append_to(out, {progress.text});
}

void append(std::string& out, const Begin& begin) {
    Head(Kind::begin, begin.id)
        .u16(begin.status)
        .u16(0)
        .length32(begin.fields, fields_max)
        .append_to(out, {begin.fields});
}

void append(std::string& out, const Chunk& chunk) {
    CHECK(!chunk.bytes.empty() && chunk.bytes.size() <= inline_max);
    Head(Kind::chunk, chunk.id).append_to(out, {chunk.bytes});
}

void append(std::string& out, const Done& done) {
    const DescriptorLength descriptor_length(done.body);
    Head(Kind::done, done.id, done.body)
        .u16(done.status)
        .u16(0)
        .length32(done.fields, fields_max)
        .append_to(out, {done.fields, descriptor_length.view(), done.body.bytes});
}

void append(std::string& out, const Failed& failed) {
    Head(Kind::failed, failed.id)
        .u8(static_cast<std::uint8_t>(failed.why))
        .u8(0)
        .length16(failed.type, name_max)
        .length32(failed.message, message_max)
        .append_to(out, {failed.type, failed.message});
}

void append(std::string& out, const Pong& it) { Head(Kind::pong, it.id).append_to(out, {}); }

void append(std::string& out, const Log& log) {
    CHECK(log.text.size() <= message_max);
    Head(Kind::log, 0).u8(static_cast<std::uint8_t>(log.level)).u8(0).append_to(out, {log.text});
}

void append(std::string& out, const Stacks& stacks) {
    CHECK(stacks.text.size() <= stacks_max);
    Head(Kind::stacks, stacks.id).append_to(out, {stacks.text});
}

}  // namespace

void append_frame(std::string& out, const GateFrame& frame) {
    std::visit([&](const auto& one) { append(out, one); }, frame);
}

void append_frame(std::string& out, const WorkerFrame& frame) {
    std::visit([&](const auto& one) { append(out, one); }, frame);
}

void append_head(std::string& out, const Job& job) {
    const DescriptorLength descriptor_length(job.body);
    Head(Kind::job, job.id, job.body)
        .u16(job.attempt)
        .u8(static_cast<std::uint8_t>(job.purpose))
        .u8(0)
        .u16(job.batch_index)
        .u16(job.batch_size)
        .length16(job.name)
        .length16(job.method)
        .length16(job.target)
        .u16(0)
        .length32(job.fields, payload_max)
        .append_to(out, {job.name, job.method, job.target, job.fields, descriptor_length.view()},
                   job.body.bytes.size());
}

}  // namespace turnpike::wire
