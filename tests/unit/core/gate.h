// A gate for tests: the real engine, a clock that moves only when the test moves it, and workers
// that do what the test says. The invariants of the simulation check every event, too.
//
//   Gate gate({.lanes = 2});
//   gate.open();                                   // every lane serves
//   const JobId a = gate.queue_job();
//   gate.ends(a, Verdict::answered);
//   EXPECT_EQ(gate.ended(a), EndReason::answered);
//   EXPECT_THAT(gate.deeds(), ElementsAre("end j0 answered"));
//
// A *turn* is everything the engine did during the latest call that moves the gate. Its actions
// read as sentences, with workers w0, w1, … in the order of their starts and jobs j0, j1, … in the
// order of their admission.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"
#include "core/action.h"
#include "core/engine.h"
#include "core/event.h"
#include "core/settings.h"
#include "core/view.h"
#include "core/words.h"
#include "sim/invariants.h"

namespace turnpike {

/// Print words and ids for googletest.
template <class Word>
    requires requires(Word word) { name_of(word); }
void PrintTo(const Word& word, std::ostream* out) {
    *out << name_of(word);
}
template <class Tag>
void PrintTo(const Id<Tag>& id, std::ostream* out) {
    id.is_none() ? *out << "none" : *out << id.value;
}

}  // namespace turnpike

namespace turnpike::test {

struct Request {
    std::uint64_t pool = 0;
    Bytes bytes{10};
    std::uint8_t priority = 5;
    Duration timeout = Duration::max();
    std::optional<std::uint64_t> lane = {};
    bool is_aside = false;
    std::uint64_t client = 0;
    ClientLimits limits{};
};

class Gate {
public:
    explicit Gate(const PoolSettings& pool);
    explicit Gate(const Settings& settings);
    ~Gate();
    Gate(const Gate&) = delete;
    Gate& operator=(const Gate&) = delete;

    // ── moving the gate ──────────────────────────────────────────────────────────────────────────
    void tell(const Event& event);
    /// Delivers the event after this time, without TimePassed at the deadlines in between.
    void tell_after(Duration time, const Event& event);
    /// Lets time pass, with TimePassed at every deadline in between.
    void pass(Duration time);
    /// Opens the gate and brings up every lane. The workers announce `word`.
    void open(const WorkerReady& word = {});
    /// From now on only answers_probe() answers probes. Before, the gate answers each one at once.
    void leave_probes_to_me() { answers_probes_ = false; }
    /// Turns the invariants off, for events that no shell would send: the engine must tolerate
    /// them, but the invariants don't expect them.
    void forgo_invariants() { observes_ = false; }

    /// Returns no id if the job was refused.
    JobId arrive(const Request& request = {});
    JobId queue_job(const Request& request = {});
    std::vector<JobId> queue_jobs(std::size_t count);
    void ends(JobId job, Verdict verdict = Verdict::answered);
    void begins(JobId job);
    void moves(JobId job);
    void hashed(JobId job, std::uint64_t digest);
    /// Runs `count` jobs on this lane, one after another.
    void run_jobs(std::uint64_t lane, std::size_t count, Verdict verdict);

    /// Lets the worker start, load and pass its proof, as far as it has not yet.
    void comes_up(WorkerId worker, WorkerReady word = {});
    void comes_up(std::uint64_t lane, const WorkerReady& word = {}) {
        comes_up(current(lane), word);
    }
    void passes_proof(WorkerId worker);
    void fails_proof(WorkerId worker);
    void cannot_send_proof(WorkerId worker);
    void votes(WorkerId worker, std::uint32_t group);
    void answers_probe(WorkerId worker, ProbeVerdict verdict = ProbeVerdict::answered);
    void exits(WorkerId worker);
    void becomes_gone(WorkerId worker, Memory memory = Memory::freed);
    /// Lets the worker exit and leave nothing behind.
    void dies(WorkerId worker);
    void dies(std::uint64_t lane) { dies(current(lane)); }

    void drain(std::uint64_t lane) { tell(DrainAsked{LaneId{lane}}); }
    void resume(std::uint64_t lane) { tell(ResumeAsked{LaneId{lane}}); }
    void restart(std::uint64_t lane) { tell(RestartAsked{LaneId{lane}}); }
    void reload(std::uint64_t generation, ReloadKind kind = ReloadKind::beside) {
        tell(ReloadAsked{PoolId{0}, Generation{generation}, kind});
    }
    void reload_in_place(std::uint64_t generation) { reload(generation, ReloadKind::in_place); }
    void shut_down(Duration patience) { tell(ShutdownAsked{patience}); }

    // ── what the latest turn did ─────────────────────────────────────────────────────────────────
    [[nodiscard]] std::vector<std::string> turn() const;
    /// Returns the turn without what happens all the time: reports of lanes, and probes that the
    /// gate answers itself.
    [[nodiscard]] std::vector<std::string> deeds() const;
    template <class Kind>
    [[nodiscard]] std::vector<Kind> acts() const {
        std::vector<Kind> found;
        for (const Action& action : turn_)
            if (const Kind* it = std::get_if<Kind>(&action)) found.push_back(*it);
        return found;
    }
    /// Returns why the latest arrival was refused in this turn, or nullopt if it was not.
    [[nodiscard]] std::optional<EndReason> refusal() const;

    // ── the state of things ──────────────────────────────────────────────────────────────────────
    [[nodiscard]] Instant now() const { return now_; }
    [[nodiscard]] Instant next_deadline() const { return engine_.next_deadline(); }
    [[nodiscard]] const Engine& engine() const { return engine_; }
    [[nodiscard]] View view() const { return engine_.view(now_); }
    [[nodiscard]] PoolView pool(std::uint64_t number = 0) const { return view().pools.at(number); }
    [[nodiscard]] ClientView client(std::uint64_t number) const;
    [[nodiscard]] LaneView lane(std::uint64_t number) const { return view().lanes.at(number); }
    [[nodiscard]] LaneState state(std::uint64_t lane_number) const {
        return lane(lane_number).state;
    }
    [[nodiscard]] Reason reason(std::uint64_t lane_number) const {
        return lane(lane_number).reason;
    }
    [[nodiscard]] WorkerId current(std::uint64_t lane_number) const {
        return lane(lane_number).current;
    }
    [[nodiscard]] WorkerId other(std::uint64_t lane_number) const {
        return lane(lane_number).other;
    }

    /// Returns why the job ended, or nullopt if it lives.
    [[nodiscard]] std::optional<EndReason> ended(JobId job) const;
    [[nodiscard]] bool is_queued(JobId job) const;
    [[nodiscard]] bool is_running(JobId job) const;
    /// Returns how the latest attempt was sent.
    [[nodiscard]] const SendJob& sent(JobId job) const { return sends_.at(job); }
    [[nodiscard]] LaneId lane_of(JobId job) const { return sent(job).lane; }
    [[nodiscard]] std::string name(WorkerId worker) const;
    [[nodiscard]] std::string name(JobId job) const;

private:
    void hand_over(const Event& event);
    void note(const Action& action);
    void answer_probes(std::size_t first);
    std::string sentence(const Action& action) const;

    Engine engine_;
    sim::Invariants invariants_;
    Instant now_ = Instant{} + 1000s;
    Actions turn_;
    std::uint64_t tickets_ = 0;
    std::map<WorkerId, std::size_t> workers_;
    std::map<JobId, std::size_t> jobs_;
    std::map<AttemptId, JobId> attempts_;
    std::map<JobId, SendJob> sends_;
    std::map<JobId, EndReason> ends_;
    std::map<WorkerId, std::uint32_t> proofs_;
    std::map<WorkerId, std::uint32_t> probes_;
    bool answers_probes_ = true;
    bool observes_ = true;
};

/// Returns settings with these pools, for tests of the whole gate.
[[nodiscard]] Settings settings_with(std::vector<PoolSettings> pools);

}  // namespace turnpike::test
