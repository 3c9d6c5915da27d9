// A worker that is a server which Turnpike starts: its process, its port and its connections are the
// test's.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "supervisor/http/started_worker.h"
#include "tests/unit/supervisor/http/http_process_stand.h"

namespace turnpike {

inline constexpr Duration look_every = 50ms;
inline constexpr Duration poll_every = 250ms;

struct StartedStand : HttpProcessStand {
    explicit StartedStand(const std::string& command = "serve --port {port}") {
        pool.worker.command = command;
        worker = std::make_unique<StartedWorker>(deps, process_deps, order, lane());
    }
    void run() {
        worker->start();
        guard().runs();
        settle();
    }
    /// The worker's own process listens, and the next look finds it.
    void listen() {
        port_status = {.holder = PortStatus::Holder::tree, .listeners = {*listener}};
        pass(look_every);
    }
    /// Another program listens on the worker's port.
    void lose_port() {
        port_status = {.holder = PortStatus::Holder::stranger, .stranger = "nginx (pid 812)"};
        listener = ListenerId{.number = 9, .owner = 1001};
    }
    void come_up() {
        run();
        listen();
        health_answers(200);
        EXPECT_EQ(told, (std::vector<std::string>{"WorkerStarted", "WorkerReady"}));
        told.clear();
        looks.clear();
    }
    void die(int code) {
        guard().exits(exit_code(code));
        guard().is_gone();
    }
    [[nodiscard]] std::uint16_t port() const {
        return process_deps.ports.empty() ? std::uint16_t{0} : *process_deps.ports.begin();
    }
};

}  // namespace turnpike
