// A native worker, without any process.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "supervisor/native/native_worker.h"
#include "tests/unit/supervisor/acting_reader.h"
#include "tests/unit/supervisor/native/native_peer.h"
#include "tests/unit/supervisor/process/process_stand.h"

namespace turnpike {

/// A native worker whose process and whose frames are the test's.
struct NativeWorkerStand : ProcessStand {
    std::unique_ptr<NativeWorker> worker;
    NativePeer peer{loop};
    ActingReader reader;

    explicit NativeWorkerStand(std::vector<Gpu> on = {}) : ProcessStand(std::move(on)) {
        pool.worker.model = {.kind = ModelChoice::Kind::python,
                             .path = "/models/digits.py",
                             .name = "Digits",
                             .text = "digits.py:Digits"};
        pool.worker.python = "/usr/bin/python3";
        worker = std::make_unique<NativeWorker>(deps, process_deps, order, lane());
    }
    ~NativeWorkerStand() {
        worker.reset();
        loop.poll();
    }

    void start() {
        worker->start();
        peer.own = std::move(guard().link);
    }
    void run() {
        start();
        guard().runs();
    }
    void load() {
        run();
        say(wire::Hello{.sdk = "python 1"});
    }
    void come_up() {
        load();
        say(wire::Ready{.slots = 2, .batch = 3});
        hear();
        peer.told.clear();
        told.clear();
    }
    /// Sends a frame, and lets the gate hear it.
    void say(const wire::WorkerFrame& frame) {
        peer.say(bytes_of(frame));
        loop.poll();
    }
    /// The worker closes its socket, as the kernel does when it dies.
    void close_link() {
        peer.own = UniqueFd();
        loop.poll();
    }
    /// Returns what the worker has been told so far, besides jobs.
    const std::vector<std::string>& hear() {
        loop.poll();
        peer.hear();
        return peer.told;
    }
    ExchangePtr send(std::uint64_t job) {
        ExchangePtr exchange = exchanges.open(JobId{job});
        exchange->name = "job-" + std::to_string(job);
        exchange->method = "POST";
        exchange->target = "/predict";
        exchange->answer.set_reader(&reader);
        exchange->body.complete(store, [](int) {});
        settle();
        worker->send({.worker = order.worker, .job = {job}, .attempt = {100 + job}});
        hear();
        return exchange;
    }
};

}  // namespace turnpike
