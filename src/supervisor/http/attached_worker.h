// A worker that somebody else started: an HTTP server at a URL. We can't start or kill it, only
// watch it: it is up when its health path answers, and gone when we detach from it.
#pragma once

#include <memory>

#include <boost/asio/ip/tcp.hpp>

#include "supervisor/http/http_worker.h"

namespace turnpike {

class AttachedWorker final : public HttpWorker {
public:
    AttachedWorker(WorkerDeps& deps, const StartWorker& start, const PoolConfig& pool,
                   const WorkerUrl& url, std::shared_ptr<CommonProof> proof);

    void start() override;
    void stop(Reason) override { detach(); }
    void kill(Reason) override { detach(); }
    [[nodiscard]] bool is_gone() const override { return state_ == State::over; }

private:
    void come_up() override;
    void proof_broke(std::uint32_t number) override;
    void detach();

    const WorkerUrl& url_;
    boost::asio::ip::tcp::resolver resolver_;
};

}  // namespace turnpike
