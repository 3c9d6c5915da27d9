// One request of our own to a worker: a health check or a proof. It is sent on its own connection,
// with a time limit, and collects the whole answer. Calls back exactly once, unless it is stopped
// before.
#pragma once

#include <cstddef>
#include <expected>
#include <functional>
#include <string>

#include "base/time.h"
#include "supervisor/http/link.h"

namespace turnpike {

struct Fetched {
    int status = 0;
    std::string content_type;
    std::string body;
};

enum class FetchFailure : std::uint8_t {
    refused,   // nothing listens there
    stranger,  // another program listens there
    broke,     // no connection, or an incomplete answer
    late,      // no answer in time
    too_large,
    shortage,  // we had no descriptor or memory to ask
    no_port,   // no port of this machine was left to ask
    no_disk,   // our own disk did not store the request's body, or did not give it back
};

class Fetch final : private LinkUser {
public:
    using Result = std::expected<Fetched, FetchFailure>;
    using Then = std::move_only_function<void(Result)>;

    Fetch(const LinkDeps& deps, Destination& destination);

    /// The caller must fill in the head and the body before start().
    std::string& head() { return link_.head(); }
    Body& body() { return body_; }
    void start(http::Method method, Duration timeout, Then then);
    /// Ends the request without calling `then`.
    void stop();

private:
    void answer_head(const http::ResponseHead& head) override;
    Room answer_data(std::string_view bytes) override;
    void answer_ended() override;
    void answer_broke(Break why, http::Fault fault) override;
    void end(Result result);

    static constexpr std::size_t answer_max = 1024 * 1024;

    Link link_;
    Alarm timeout_;
    Body body_;
    Fetched fetched_;
    Then then_;
};

}  // namespace turnpike
