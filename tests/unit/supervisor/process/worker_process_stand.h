// The process of a worker, without any process.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/unit/supervisor/process/process_stand.h"

namespace turnpike {

/// A process whose user only notes its calls, among the events for the engine.
struct WorkerProcessStand final : ProcessStand, ProcessUser {
    std::vector<ExchangePtr> aboard;
    Trouble end;
    std::unique_ptr<WorkerProcess> process =
        std::make_unique<WorkerProcess>(deps, process_deps, order, lane(), *this);

    explicit WorkerProcessStand(std::vector<Gpu> on = {}) : ProcessStand(std::move(on)) {}

    void process_started() override { told.emplace_back("user: started"); }
    [[nodiscard]] std::vector<ExchangePtr> suspects() const override { return aboard; }
    void process_exited(const Trouble& how) override {
        told.emplace_back("user: exited");
        end = how;
    }
    void process_gone() override { told.emplace_back("user: gone"); }

    void start() {
        process->begin();
        process->start({.command = "serve"});
    }
    void run() {
        start();
        guard().runs();
    }
    void end_by(const WorkerEnd& how) {
        guard().exits(how);
        guard().is_gone();
    }
    void rest_of_looks() {
        EXPECT_TRUE(loop.run_until([this] { return !gpus.is_hanging(); }));
    }
    ExchangePtr job(std::string_view target, std::string_view body) {
        ExchangePtr exchange = exchanges.open(JobId{aboard.size()});
        exchange->method = "POST";
        exchange->target = target;
        exchange->body.append(store, body, [](int) {});
        settle();
        aboard.push_back(exchange);
        return exchange;
    }
};

}  // namespace turnpike
