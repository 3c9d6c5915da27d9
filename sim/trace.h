// The record of a run: lines for people, one hash for machines. Both come from the fields that
// events and actions list themselves. The hash needs no text, so it is cheap enough to be always
// on.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/time.h"
#include "core/action.h"
#include "core/event.h"

namespace turnpike::sim {

[[nodiscard]] std::uint64_t hash_of(const Event& event);
[[nodiscard]] std::uint64_t hash_of(const Action& action);

enum class Tracing : bool { off, on };

class Trace {
public:
    explicit Trace(Tracing tracing) : tracing_(tracing) {}

    /// `at` is the time since the opening.
    void add(Duration at, const Event& event, std::span<const Action> actions);
    void note(Duration at, const std::string& text);

    [[nodiscard]] bool is_on() const { return tracing_ == Tracing::on; }
    /// Returns the hash over every event and action so far, with their times.
    [[nodiscard]] std::uint64_t hash() const { return hash_; }
    [[nodiscard]] const std::string& text() const { return text_; }

private:
    Tracing tracing_;
    std::uint64_t hash_ = 0;
    std::string text_;
};

}  // namespace turnpike::sim
