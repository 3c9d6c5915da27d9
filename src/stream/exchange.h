// The bytes of one job: its request as the worker gets it, and the worker's answer. It is the only
// thing that gate and supervisor share.
//
// The gate opens an exchange when its job is admitted and drops it when the client is served or
// gone. The supervisor takes it for each attempt and drops it when the worker is done, which may be
// later. When both have dropped it, the next job uses it again, so a steady load allocates nothing.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/words.h"
#include "stream/answer.h"
#include "stream/attempt_report.h"
#include "stream/body.h"

namespace turnpike {

struct Exchange {
    Exchange(Wakeups& wakeups, AnswerAccount& answers) : answer(wakeups, answers) {}

    JobId job;

    // written by the gate
    std::string name;       // the job's name for clients
    bool is_aside = false;  // the job takes no slot of a lane
    std::string method;
    std::string target;
    std::string fields;  // lines of "Name: value\r\n", with the framing of the body
    Body body;

    // written by the supervisor
    AttemptReport attempt;  // the latest
    Answer answer;
};

using ExchangePtr = std::shared_ptr<Exchange>;

class Exchanges {
public:
    /// The two sides of an exchange are woken through `wakeups`. `answers_max` bounds what waits for
    /// readers.
    explicit Exchanges(Wakeups& wakeups, Bytes answers_max = AnswerAccount::no_max)
        : wakeups_(wakeups), answers_(wakeups, answers_max) {}
    /// After expect_dropped(), CHECKs that the other exchanges have all been dropped.
    ~Exchanges();
    Exchanges(const Exchanges&) = delete;
    Exchanges& operator=(const Exchanges&) = delete;

    /// Returns an empty exchange for a job that was just admitted. find() then returns it too.
    ExchangePtr open(JobId job);
    [[nodiscard]] ExchangePtr find(JobId job) const;

    /// Returns the exchange for a new attempt of an open job, without anything that an earlier
    /// attempt reported. Every attempt begins here, whatever its worker speaks.
    [[nodiscard]] ExchangePtr begin_attempt(JobId job, AttemptId attempt, Generation of_worker,
                                            Instant now);

    /// Must be called when the gate is done with the exchange. find() no longer returns it.
    void close(ExchangePtr&& exchange);
    /// Must be called when the supervisor is done with the exchange.
    void drop(ExchangePtr&& exchange);

    /// Returns what the answers of all exchanges hold.
    [[nodiscard]] AnswerAccount& answers() { return answers_; }
    [[nodiscard]] const AnswerAccount& answers() const { return answers_; }

    /// Must be called at an orderly end, when the gate has closed every exchange. `except` is how
    /// many of them workers still hold that survived a kill.
    void expect_dropped(std::size_t except) { undropped_max_ = except; }

private:
    static constexpr std::size_t spare_max = 256;

    ExchangePtr take_oldest_spare();

    Wakeups& wakeups_;
    AnswerAccount answers_;                     // outlives the exchanges
    std::vector<ExchangePtr> by_place_;         // index: the low half of a job's id; ids are dense
    std::array<ExchangePtr, spare_max> spare_;  // used as a ring
    std::size_t spare_first_ = 0;
    std::size_t spare_count_ = 0;
    std::size_t in_use_ = 0;                    // opened, and not yet dropped by both sides
    std::optional<std::size_t> undropped_max_;  // set at an orderly end
};

}  // namespace turnpike
