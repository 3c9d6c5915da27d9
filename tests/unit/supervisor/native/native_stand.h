// The attempts of one native worker on a real socket; records what the engine was told.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/native/native_attempts.h"
#include "tests/unit/stream/disk.h"
#include "tests/unit/supervisor/acting_reader.h"
#include "tests/unit/supervisor/native/native_peer.h"

namespace turnpike {

/// The store is small: a body of more than 100 bytes is sent in a descriptor.
struct NativeStand final : Disk, FrameLinkUser {
    NativePeer peer{loop};
    Exchanges exchanges{loop.wakeups()};
    Clock clock;
    std::vector<LaneFacts> lanes{1};
    std::vector<Event> events;
    std::function<void(const Event&)> act = [](const Event&) {};  // on each event for the engine
    SocketDialer dialer{loop.context()};
    LoopAlarms alarms{loop.context()};
    WorkerDeps deps{.loop = loop.context(),
                    .wakeups = loop.wakeups(),
                    .alarms = alarms,
                    .dialer = dialer,
                    .store = store,
                    .exchanges = exchanges,
                    .background = background,
                    .clock = clock,
                    .lanes = lanes,
                    .deliver = [this](const Event& event) {
                        events.push_back(event);
                        act(event);
                    }};
    std::unique_ptr<FrameLink> link =
        std::make_unique<FrameLink>(loop.context(), loop.wakeups(), alarms, *this);
    wire::Conversation conversation;
    enum class Lane : std::uint8_t { cpu, gpu };
    const bool has_gpu;
    NativeAttempts attempts{{.deps = deps,
                             .worker = WorkerId{1},
                             .link = *link,
                             .conversation = conversation,
                             .has_gpu = has_gpu,
                             .first_job_took = [this](Duration) { ++first_jobs; }}};
    ActingReader reader;
    int frames = 0;      // heard from the worker
    int first_jobs = 0;  // reported so far
    std::optional<wire::Breach> broke;

    explicit NativeStand(Lane lane = Lane::gpu) : has_gpu(lane == Lane::gpu) {
        EXPECT_EQ(conversation.heard(wire::Hello{}), wire::Breach::none);
        EXPECT_EQ(conversation.heard(wire::Ready{}), wire::Breach::none);
        link->open(std::move(peer.gate));
    }
    ~NativeStand() {
        link->close();
        loop.poll();
    }

    bool heard(const wire::WorkerFrame& frame) override {
        ++frames;
        clock.forget();
        wire::Breach breach = conversation.heard(frame);
        EXPECT_EQ(breach, wire::Breach::none) << sentence_of(breach);
        std::visit(
            [&]<class Frame>(const Frame& one) {
                if constexpr (std::same_as<Frame, wire::Chunk> || std::same_as<Frame, wire::Done>)
                    breach = attempts.hear(one);
                else if constexpr (requires { attempts.hear(one); })
                    attempts.hear(one);
            },
            frame);
        if (breach != wire::Breach::none) link->break_off(breach);
        return true;
    }
    void link_broke(wire::Breach breach, std::uint8_t) override { broke = breach; }

    // ── what the gate and the engine do ──
    /// Opens the job with this number.
    ExchangePtr open(std::uint64_t job, std::string_view body = "",
                     std::string_view method = "POST") {
        ExchangePtr exchange = exchanges.open(JobId{job});
        exchange->name = "job-" + std::to_string(job);
        exchange->method = method;
        exchange->target = "/predict?n=" + std::to_string(job);
        exchange->fields = "Host: client\r\n";
        exchange->is_aside = false;
        exchange->answer.set_reader(&reader);
        exchange->body.append(store, body, [](int error) { EXPECT_EQ(error, 0); });
        settle();
        exchange->body.complete(store, [](int error) { EXPECT_EQ(error, 0); });
        settle();
        return exchange;
    }
    static AttemptId attempt(std::uint64_t job) { return AttemptId{100 + job}; }
    void send(std::uint64_t job, std::uint32_t index = 0, std::uint32_t size = 1,
              std::uint32_t number = 1) {
        attempts.send(
            {.worker = WorkerId{1},
             .job = JobId{job},
             .attempt = attempt(job),
             .number = number,
             .batch_index = index,
             .batch_size = size},
            exchanges.begin_attempt(JobId{job}, attempt(job), Generation{1}, clock.now()));
    }

    // ── what the worker does ──
    /// Returns the job with this number, once it has been sent.
    HeardJob& heard_job(std::uint64_t job) {
        HeardJob* found = nullptr;
        const std::string name = "job-" + std::to_string(job);
        EXPECT_TRUE(loop.run_until([&] {
            peer.hear();
            for (HeardJob& one : peer.jobs)
                if (one.name == name) found = &one;
            return found != nullptr;
        })) << name
            << " was not sent";
        static HeardJob nothing;
        return found == nullptr ? nothing : *found;
    }
    /// Opens and sends a job. Returns the id in its frames.
    std::uint64_t start(std::uint64_t job, std::string_view body = "",
                        std::string_view method = "POST") {
        open(job, body, method);
        send(job);
        return heard_job(job).id;
    }
    /// Sends a frame and waits until it is heard.
    void say(const wire::WorkerFrame& frame, const UniqueFd& file = UniqueFd()) {
        const int before = frames;
        peer.say(bytes_of(frame), file ? std::vector<int>{file.get()} : std::vector<int>{});
        EXPECT_TRUE(loop.run_until([&] { return frames > before || broke; }));
    }

    // ── what came of it ──
    [[nodiscard]] Answer& answer(std::uint64_t job) const {
        return exchanges.find(JobId{job})->answer;
    }
    [[nodiscard]] Exchange& exchange(std::uint64_t job) const {
        return *exchanges.find(JobId{job});
    }
    [[nodiscard]] std::optional<Verdict> verdict(std::uint64_t job) const {
        std::optional<Verdict> found;
        for (const Event& event : events) {
            const auto* ended = std::get_if<AttemptEnded>(&event);
            if (ended == nullptr || ended->attempt != attempt(job)) continue;
            EXPECT_FALSE(found) << "it ended twice";
            found = ended->verdict;
        }
        return found;
    }
    template <class Told>
    [[nodiscard]] int count() const {
        int found = 0;
        for (const Event& event : events) found += std::holds_alternative<Told>(event) ? 1 : 0;
        return found;
    }
    /// Reads the rest of an answer, as a client does.
    std::string read_out(std::uint64_t job) {
        std::string text;
        Answer& from = answer(job);
        EXPECT_TRUE(loop.run_until([&] {
            from.want(store);
            const std::string piece(from.front());
            text += piece;
            if (!piece.empty()) from.consume(store, piece.size());
            return from.is_read_out();
        }));
        return text;
    }
};

}  // namespace turnpike
