// A worker that speaks HTTP through fake connections.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "supervisor/worker/lane_worker.h"
#include "tests/unit/supervisor/acting_reader.h"
#include "tests/unit/supervisor/process/process_stand.h"

namespace turnpike {

struct HttpProcessStand : ProcessStand {
    std::unique_ptr<LaneWorker> worker;
    ActingReader reader;

    ~HttpProcessStand() {
        worker.reset();
        loop.poll();
    }

    /// Takes the connection that the worker's owner makes now. Returns its other end.
    /// `maker`: the process that made its Unix socket.
    std::shared_ptr<FakePeer> accept(std::optional<ListenerProcess> maker = std::nullopt) {
        EXPECT_EQ(dialer.waiting(), 1U) << "nobody connects";
        return dialer.accept({.listener_process = maker});
    }
    void say(FakePeer& peer, std::string_view text) {
        peer.says += text;
        peer.run();
        settle();
    }
    void answer(FakePeer& peer, int status) {
        say(peer, "HTTP/1.1 " + std::to_string(status) + " Text\r\nContent-Length: 0\r\n\r\n");
    }
    void hang_up(FakePeer& peer) {
        peer.end = InputEnd::broken;
        peer.run();
        settle();
    }
    /// Answers one health check.
    void health_answers(int status) { answer(*accept(), status); }

    /// Sends a job to the worker. Its attempt's id is 100 more than its number.
    ExchangePtr send(std::uint64_t job) {
        ExchangePtr exchange = exchanges.open(JobId{job});
        exchange->method = "POST";
        exchange->target = "/predict";
        exchange->answer.set_reader(&reader);
        worker->send({.worker = order.worker, .job = {job}, .attempt = {100 + job}});
        return exchange;
    }
};

}  // namespace turnpike
