#include "supervisor/http/attached_worker.h"

#include <string>
#include <utility>

#include <fmt/format.h>

namespace turnpike {

AttachedWorker::AttachedWorker(WorkerDeps& deps, const StartWorker& start, const PoolConfig& pool,
                               const WorkerUrl& url, std::shared_ptr<CommonProof> proof)
    : HttpWorker(deps, start,
                 {.pool = pool,
                  .host = text_of(Address{url.host, url.port}),
                  .prefix = url.prefix,
                  .common = std::move(proof)}),
      url_(url),
      resolver_(deps.loop) {}

void AttachedWorker::start() {
    deps_.deliver(WorkerStarted{worker_});
    lane_facts().remark.clear();
    come_up();
}

/// Resolves the host name each time, because the server may have moved.
void AttachedWorker::come_up() {
    resolver_.async_resolve(
        url_.host, std::to_string(url_.port),
        lifeline_.bind([this](boost::system::error_code error, const auto& found) {
            if (state_ != State::coming) return;
            if (error) {
                set_trouble({.cause = LaneCause::unknown_host,
                             .told = fmt::format("the host name {} can't be resolved: {}",
                                                 url_.host, error.message())});
                return poll_health_later();
            }
            destination_.endpoints.clear();
            for (const auto& entry : found) destination_.endpoints.push_back(entry.endpoint());
            poll_health();
        }));
}

/// Reports the worker as exited at once, without waiting for a probe.
void AttachedWorker::proof_broke(std::uint32_t) { deps_.deliver(WorkerExited{worker_}); }

void AttachedWorker::detach() {
    if (state_ == State::over) return;
    close({});
    resolver_.cancel();
    deps_.deliver(WorkerExited{worker_});
    deps_.deliver(WorkerGone{worker_});
}

}  // namespace turnpike
