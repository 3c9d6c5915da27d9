// One job's bytes: its request as the worker shall get it, and the worker's answer. The one thing
// that gate and supervisor share.
//
// The gate opens an exchange when its job is admitted and drops it when the client is served (or
// gone). The supervisor takes it for each attempt and drops it when the worker is done, which may be
// later. Whoever drops it last gives it back for the next job, so a steady state allocates nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/words.h"
#include "stream/answer.h"
#include "stream/body.h"

namespace turnpike {

struct JobProgress {
    std::optional<std::uint16_t> permille;
    std::string text;
};

struct Exchange {
    JobId job;

    // written by the gate
    std::string name;       // as clients know the job
    bool is_aside = false;  // it takes no slot
    std::string method;
    std::string target;
    std::string fields;  // "Name: value\r\n" …, with the framing of the body
    Body body;

    // written by the supervisor, for the latest attempt
    Generation generation;
    std::string trouble;     // how the latest attempt broke; empty: it did not
    std::string last_words;  // what its worker printed before it died; not for clients
    JobProgress progress;    // as its model tells
    std::string stacks;  // of its worker, while it ran far over the usual time; empty: it did not
    Answer answer;
};

using ExchangePtr = std::shared_ptr<Exchange>;

class Exchanges {
public:
    /// A fresh one for a job that was just admitted; also found by its id.
    ExchangePtr open(JobId job);
    [[nodiscard]] ExchangePtr find(JobId job) const;

    /// The gate is done with it: no longer found.
    void close(ExchangePtr&& exchange);
    /// The supervisor is done with it.
    void drop(ExchangePtr&& exchange);

private:
    static constexpr std::size_t spare_max = 256;

    ExchangePtr take_oldest_spare();

    std::vector<ExchangePtr> by_place_;         // an id's low half is a dense place
    std::array<ExchangePtr, spare_max> spare_;  // a ring
    std::size_t spare_first_ = 0;
    std::size_t spare_count_ = 0;
};

}  // namespace turnpike
