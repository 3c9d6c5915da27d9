// A worker that we start ourselves: an HTTP server under a guard, on a port or a Unix socket that
// we choose.
//
//   spawned ─▶ its tree listens ─▶ its health path answers ─▶ up ─▶ exited ─▶ gone
//
// Each new connection is checked: its listener must belong to the worker's process tree. So another
// program that takes the port, before the worker or later, gets nothing from us.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "os/ports.h"
#include "supervisor/http/http_worker.h"
#include "supervisor/process/worker_process.h"

namespace turnpike {

class StartedWorker final : public HttpWorker, private ProcessUser {
public:
    StartedWorker(WorkerDeps& deps, ProcessDeps& process_deps, const StartWorker& start,
                  const StartedLane& lane);

    void start() override;
    void stop(Reason why) override { process_.terminate(why); }
    void kill(Reason why) override {
        hang_up();
        process_.kill(why);
    }
    [[nodiscard]] bool is_gone() const override { return process_.is_gone(); }
    void process_printed() override;
    [[nodiscard]] WorkerProcess* process() override { return &process_; }

private:
    void come_up() override;
    void came_up() override;
    void first_job_took(Duration time) override { process_.first_job_took(time); }
    void link_broke(const std::function<void()>& report) override;
    void proof_broke(std::uint32_t number) override;

    void process_started() override { come_up(); }
    [[nodiscard]] std::vector<ExchangePtr> suspects() const override { return broken_or_aboard(); }
    void process_exited(const Trouble& end) override { close(end); }
    void process_gone() override;

    [[nodiscard]] std::optional<StartFailure> choose_address();
    [[nodiscard]] CheckedDialer::Eyes eyes();
    void look_at_listener(std::optional<ListenerId> listener,
                          const std::function<void(const PortStatus&)>& then);
    void port_seen(const PortStatus& status, PortLook look);
    void set_stranger(const PortStatus& status);
    void look_later();
    void set_destination(PortStatus::Protocol protocol);
    void started_listening();

    ProcessDeps& process_deps_;
    const LanePlan& plan_;
    WorkerProcess process_;
    std::uint16_t port_ = 0;   // 0 if it listens on a Unix socket
    std::string socket_path_;  // empty if it listens on a port
    Instant listens_at_ = never;
    std::uint32_t looks_ = 0;  // how often we looked at its port until it listened
};

}  // namespace turnpike
