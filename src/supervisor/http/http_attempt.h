// One attempt of one job over a link: the request goes out, the answer goes to the exchange, and the
// engine hears how it ended. The object is reused, with its link, for the next attempt.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "base/time.h"
#include "core/event.h"
#include "core/words.h"
#include "os/clock.h"
#include "stream/exchange.h"
#include "supervisor/http/link.h"

namespace turnpike {

using Deliver = std::function<void(const Event&)>;

class HttpAttempt final : private LinkUser, private AnswerWriter {
public:
    /// What an attempt needs of its worker.
    struct Host {
        WorkerId worker;
        const Store& store;
        Clock& clock;
        const Deliver& deliver;
        std::function<void(HttpAttempt&)> ended;  // before the engine hears of it
        /// Its link broke. Whoever takes it calls conclude() or stop(), at once or later: the worker
        /// may be dying, and how it died says more than a closed connection.
        std::function<void(HttpAttempt&)> broke = [](HttpAttempt& attempt) { attempt.conclude(); };
    };

    HttpAttempt(const Host& host, std::shared_ptr<Link> link);
    ~HttpAttempt();
    HttpAttempt(const HttpAttempt&) = delete;
    HttpAttempt& operator=(const HttpAttempt&) = delete;

    /// `prefix`: put before the target. `number`: of the attempt.
    void start(ExchangePtr exchange, AttemptId id, std::uint32_t number, std::string_view prefix);
    /// After `broke`: the engine hears of it.
    void conclude() { end(id_, verdict_); }
    /// Closes the link; the engine hears nothing. Gives the exchange back.
    ExchangePtr stop();

    [[nodiscard]] AttemptId id() const { return id_; }
    [[nodiscard]] const ExchangePtr& exchange() const { return exchange_; }
    /// Once it has ended.
    [[nodiscard]] Verdict verdict() const { return verdict_; }
    [[nodiscard]] Link& link() { return *link_; }
    [[nodiscard]] Instant idle_since() const { return moved_at_; }
    ExchangePtr take_exchange() { return std::move(exchange_); }

private:
    void answer_head(const http::ResponseHead& head) override;
    Room answer_data(std::string_view bytes) override;
    void answer_ended() override;
    void answer_broke(Break why, http::Fault fault) override;
    void answer_has_room() override;
    void end(AttemptId id, Verdict verdict);
    void moved();

    const Host& host_;
    std::shared_ptr<Link> link_;
    ExchangePtr exchange_;
    AttemptId id_;
    Verdict verdict_ = Verdict::answered;
    Instant moved_at_{};
};

}  // namespace turnpike
