// The numbers of the kinds of frames, and the rules for their headers: one row for each kind.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "wire/frame.h"

namespace turnpike::wire {

enum class Kind : std::uint8_t {
    welcome = 0x01,
    job,
    cancel,
    ping,
    ask_stacks,
    pause,
    resume,
    stop,
    hello = 0x81,
    loading,
    ready,
    progress,
    begin,
    chunk,
    done,
    failed,
    pong,
    log,
    stacks,
};

inline constexpr std::uint8_t flag_descriptor = 1;
inline constexpr std::uint8_t trait_example = 1;
inline constexpr std::uint8_t trait_checks_proofs = 2;
inline constexpr std::string_view hello_magic = "turnpike";
inline constexpr std::size_t text_max = 65535;  // for a text whose length is a u16

enum class IdIs : std::uint8_t { zero, job, number };

struct Shape {
    Kind kind;
    IdIs id;
    std::size_t least;  // bytes of payload: the fixed part
    std::size_t most;
    bool has_body = false;  // the body may be in a descriptor
};

inline constexpr std::array<Shape, 8> gate_shapes{{
    {Kind::welcome, IdIs::zero, 12, 12 + text_max},
    {Kind::job, IdIs::job, 20, payload_max, true},
    {Kind::cancel, IdIs::job, 0, 0},
    {Kind::ping, IdIs::number, 0, 0},
    {Kind::ask_stacks, IdIs::number, 0, 0},
    {Kind::pause, IdIs::job, 0, 0},
    {Kind::resume, IdIs::job, 0, 0},
    {Kind::stop, IdIs::zero, 0, 0},
}};

inline constexpr std::array<Shape, 11> worker_shapes{{
    {Kind::hello, IdIs::zero, 14, 14 + text_max},
    {Kind::loading, IdIs::zero, 6, 6 + text_max},
    {Kind::ready, IdIs::zero, 16, 16 + name_max + inline_max + facts_max},
    {Kind::progress, IdIs::job, 4, 4 + text_max},
    {Kind::begin, IdIs::job, 8, 8 + fields_max},
    {Kind::chunk, IdIs::job, 1, inline_max},
    {Kind::done, IdIs::job, 8, 8 + fields_max + inline_max, true},
    {Kind::failed, IdIs::job, 8, 8 + name_max + message_max},
    {Kind::pong, IdIs::number, 0, 0},
    {Kind::log, IdIs::zero, 2, 2 + message_max},
    {Kind::stacks, IdIs::number, 0, stacks_max},
}};

/// Returns nullptr if there is no such kind in this direction.
template <std::size_t N>
constexpr const Shape* shape_in(const std::array<Shape, N>& shapes, std::uint8_t kind) {
    const std::size_t first = static_cast<std::size_t>(shapes[0].kind);
    return kind >= first && kind < first + N ? &shapes[kind - first] : nullptr;
}

template <std::size_t N>
consteval bool are_in_order(const std::array<Shape, N>& shapes) {
    for (const Shape& shape : shapes)
        if (shape_in(shapes, static_cast<std::uint8_t>(shape.kind)) != &shape ||
            shape.most > payload_max)
            return false;
    return true;
}
static_assert(are_in_order(gate_shapes) && are_in_order(worker_shapes));

}  // namespace turnpike::wire
