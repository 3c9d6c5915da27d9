// A gate for tests: the real engine, a clock that only moves when told, and workers that do what
// the test says. Every event passes the invariants of the simulation, too.
//
//   Gate gate({.lanes = 2});
//   gate.open();                                   // every lane serves
//   const JobId a = gate.queue_job();
//   gate.ends(a, Verdict::answered);
//   EXPECT_EQ(gate.ended(a), EndReason::answered);
//   EXPECT_THAT(gate.deeds(), ElementsAre("end j0 answered"));
//
// A *turn* is all that the engine did during the latest call that moves the gate. Its actions read
// as sentences, with workers w0, w1, … in the order of their starts and jobs j0, j1, … in the order
// of their admission.
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

/// How googletest prints words and ids.
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
};

class Gate {
public:
    explicit Gate(const PoolSettings& pool);
    explicit Gate(const Settings& settings);
    ~Gate();
    Gate(const Gate&) = delete;
    Gate& operator=(const Gate&) = delete;

    // ── what moves it ────────────────────────────────────────────────────────────────────────────
    void tell(const Event& event);
    /// The event comes after this time, before any deadline on the way.
    void tell_after(Duration time, const Event& event);
    /// TimePassed at every deadline on the way.
    void pass(Duration time);
    /// Opens, and brings up every lane; its workers say this of themselves.
    void open(const WorkerReady& word = {});
    /// From now on probes are answered only by answers_probe(). Until then every one is, at once.
    void leave_probes_to_me() { answers_probes_ = false; }
    /// For arrivals that no shell would send: the engine bears them, the invariants don't know
    /// them.
    void forgo_invariants() { observes_ = false; }

    /// None if it was refused.
    JobId arrive(const Request& request = {});
    JobId queue_job(const Request& request = {});
    std::vector<JobId> queue_jobs(std::size_t count);
    void ends(JobId job, Verdict verdict = Verdict::answered);
    void begins(JobId job);
    void moves(JobId job);
    /// As many jobs, one after another, that end on this lane.
    void run_jobs(std::uint64_t lane, std::size_t count, Verdict verdict);

    /// Started, loaded and proved, as far as it needs to.
    void comes_up(WorkerId worker, WorkerReady word = {});
    void comes_up(std::uint64_t lane, const WorkerReady& word = {}) {
        comes_up(current(lane), word);
    }
    void passes_proof(WorkerId worker);
    void fails_proof(WorkerId worker);
    void votes(WorkerId worker, std::uint32_t group);
    void answers_probe(WorkerId worker, ProbeVerdict verdict = ProbeVerdict::answered);
    void exits(WorkerId worker);
    void is_gone(WorkerId worker, Memory memory = Memory::freed);
    /// Exits and leaves nothing behind.
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
    /// The same without what goes on all the time: reports of lanes, and probes that are answered
    /// by themselves.
    [[nodiscard]] std::vector<std::string> deeds() const;
    template <class Kind>
    [[nodiscard]] std::vector<Kind> acts() const {
        std::vector<Kind> found;
        for (const Action& action : turn_)
            if (const Kind* it = std::get_if<Kind>(&action)) found.push_back(*it);
        return found;
    }
    /// Why the latest arrival was refused, in this turn.
    [[nodiscard]] std::optional<EndReason> refusal() const;

    // ── how things are ───────────────────────────────────────────────────────────────────────────
    [[nodiscard]] Instant now() const { return now_; }
    [[nodiscard]] Instant next_deadline() const { return engine_.next_deadline(); }
    [[nodiscard]] const Engine& engine() const { return engine_; }
    [[nodiscard]] View view() const { return engine_.view(now_); }
    [[nodiscard]] PoolView pool(std::uint64_t number = 0) const { return view().pools.at(number); }
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

    /// Why it ended; nothing if it lives.
    [[nodiscard]] std::optional<EndReason> ended(JobId job) const;
    [[nodiscard]] bool is_queued(JobId job) const;
    [[nodiscard]] bool is_running(JobId job) const;
    /// Of the latest attempt.
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

/// Settings with these pools, for tests that care about the whole gate.
[[nodiscard]] Settings settings_with(std::vector<PoolSettings> pools);

}  // namespace turnpike::test
