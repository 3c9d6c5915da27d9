// One attempt of one job over a link: sends the request, writes the answer to the exchange, and
// tells the engine how the attempt ended. The object is reused, with its link, for the next
// attempt.
#pragma once

#include <functional>
#include <string_view>

#include "base/time.h"
#include "core/event.h"
#include "core/words.h"
#include "os/clock.h"
#include "stream/exchange.h"
#include "supervisor/http/link.h"
#include "supervisor/worker/lane_worker.h"

namespace turnpike {

class HttpAttempt final : private LinkUser, private AnswerWriter {
public:
    /// What an attempt needs of its worker.
    struct Host {
        WorkerId worker;
        const Store& store;
        Clock& clock;
        const Deliver& deliver;
        std::function<void(HttpAttempt&)> ended;
        /// Called when the link broke. Must call conclude() or stop(), now or later: the worker may
        /// be dying, and how it died says more than a closed connection.
        std::function<void(HttpAttempt&)> broke = [](HttpAttempt& attempt) { attempt.conclude(); };
    };

    HttpAttempt(const Host& host, const LinkDeps& deps, Destination& destination);
    ~HttpAttempt();
    HttpAttempt(const HttpAttempt&) = delete;
    HttpAttempt& operator=(const HttpAttempt&) = delete;

    /// Sends the request. `number` counts the job's attempts; `prefix` is put before the target.
    /// Only the first attempt of a job that is no aside may go on a reused connection.
    void start(ExchangePtr exchange, AttemptId id, std::uint32_t number, std::string_view prefix);
    /// Tells the engine how the attempt ended. Must be called only after `broke` was called.
    void conclude();
    /// Closes the link without telling the engine. Returns the exchange, or nullptr if there is
    /// none.
    ExchangePtr stop();
    /// Closes the link, so that the worker writes no more. The attempt stays aboard.
    void hang_up() { link_.close(); }
    /// True if the exchange is not used by a later attempt of the job, on another worker.
    [[nodiscard]] bool is_current() const {
        return exchange_ != nullptr && exchange_->attempt.id == id_;
    }

    [[nodiscard]] AttemptId id() const { return id_; }
    [[nodiscard]] const ExchangePtr& exchange() const { return exchange_; }
    /// Returns how the attempt ended. Valid once it has ended.
    [[nodiscard]] Verdict verdict() const { return verdict_; }
    /// True if a part of the request was sent, so the worker may know of the job.
    [[nodiscard]] bool is_sent() const { return link_.has_sent(); }
    /// True if the exchange with the worker is over, but the engine is not told yet how it ended.
    [[nodiscard]] bool is_ending() const { return link_.is_idle() || link_.is_closed(); }
    [[nodiscard]] Link& link() { return link_; }
    [[nodiscard]] Instant idle_since() const { return moved_at_; }
    ExchangePtr take_exchange() { return std::move(exchange_); }

private:
    void answer_head(const http::ResponseHead& head) override;
    Room answer_data(std::string_view bytes) override;
    void answer_ended() override;
    void answer_broke(Break why, http::Fault fault) override;
    void answer_has_room() override;
    void moved();

    const Host& host_;
    Link link_;
    ExchangePtr exchange_;
    AttemptId id_;
    Verdict verdict_ = Verdict::answered;
    Instant moved_at_{};
};

}  // namespace turnpike
