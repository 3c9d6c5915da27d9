// The workers and their machine: carries out what the engine wants of the supervisor, as real
// processes would, and as cursed ones do. It keeps the shell's promises also under faults: a
// started worker either becomes ready, stays silent or exits; each exit is followed by WorkerGone;
// a dead worker says nothing, unless a curse makes it lie. workers.cpp: life and death;
// attempts.cpp: jobs aboard; checkups.cpp: probes and proofs.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/action.h"
#include "sim/clients.h"
#include "sim/stage.h"

namespace turnpike::sim {

class Workers {
public:
    Workers(Stage& stage, const Clients& clients);

    void carry_out(const StartWorker& action);
    void carry_out(const StopWorker& action);
    void carry_out(const KillWorker& action);
    void carry_out(const SendJob& action);
    void carry_out(const CancelAttempt& action);
    void carry_out(const ProbeWorker& action);
    void carry_out(const ProveWorker& action);

    /// A curse begins that acts by itself: a GPU falls off the bus, an attached worker goes away.
    void begin(const Curse& curse);
    void strike(const Blow& blow);
    /// What survived its kill dies at last.
    void end_kill_survivors();

private:
    //   coming ──▶ up ──▶ exited ──▶ (gone: forgotten)
    //      └────────────────▲
    enum class Life : std::uint8_t { coming, up, exited };

    struct Aboard {
        AttemptId attempt;
        JobId job;
        std::uint32_t number = 1;
        bool is_cancelled = false;
    };
    struct Worker {
        WorkerId id;
        LaneId lane;
        Generation generation;
        std::uint64_t key = 0;  // (lane, how many were started there before)
        Life life = Life::coming;
        bool is_killed = false;
        bool has_survived_kill = false;  // killed, and still there
        bool left_a_child = false;       // exited, but its tree waits for the kill
        std::vector<Aboard> aboard{};
    };
    /// How an attempt will go, decided when it is sent.
    struct Course {
        Duration step = Duration::zero();  // between signs of life
        std::uint32_t reports = 0;         // of its progress, before the answer
        std::uint32_t parts = 0;           // of the answer
        Ending ending = Ending::answers;
    };

    [[nodiscard]] Worker* find(WorkerId id);
    [[nodiscard]] Worker* find_living(WorkerId id);
    [[nodiscard]] Worker* newest_on(LaneId lane);
    [[nodiscard]] bool is_attached(const Worker& worker) const;
    [[nodiscard]] bool is_cursed(const Worker& worker, CurseKind kind,
                                 std::uint64_t which = 0) const;
    void after(Duration wait, const Worker& worker, void (Workers::*step)(WorkerId));

    // life and death
    void begin_load(WorkerId id);
    void load(WorkerId id, std::uint32_t steps_left);
    void await_outside(WorkerId id);
    void become_ready(WorkerId id);
    [[nodiscard]] WorkerReady ready_event_of(const Worker& worker) const;
    void exit(WorkerId id);
    void report_gone(WorkerId id);
    void answer_after_death(const Worker& worker);
    [[nodiscard]] Duration survives_kill_for(const Worker& worker) const;

    // jobs aboard
    [[nodiscard]] Course course_of(const Worker& worker, const Aboard& aboard,
                                   const Clients::Client& client);
    void run(WorkerId id, AttemptId attempt, Course course, std::uint32_t part);
    void end(WorkerId id, AttemptId attempt, Ending ending);
    void answer(WorkerId id, AttemptId attempt, Verdict verdict);
    void answer_for_another(const Worker& liar);
    [[nodiscard]] static Aboard* find_aboard(Worker& worker, AttemptId attempt);

    // proofs
    [[nodiscard]] ProofEnded proof_of(const Worker& worker, std::uint32_t proof) const;

    Stage& stage_;
    const Clients& clients_;
    std::map<WorkerId, Worker> workers_;
    std::vector<std::uint64_t> starts_;      // of each lane
    Duration batch_run_ = Duration::zero();  // of the batch that is being sent
};

}  // namespace turnpike::sim
