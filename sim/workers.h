// The workers and their machine. They carry out what the engine asks of the supervisor, as healthy
// or as faulty processes would. Even under faults they keep the shell's promises: a started worker
// becomes ready, stays silent or exits; WorkerGone follows each exit; a dead worker sends no
// events, unless a curse makes it do so. A native worker says itself when a cancelled job has ended.
// For a worker that speaks HTTP the shell closes the exchange, and the worker may go on computing.
// While a job blocks its worker, the worker does nothing else. workers.cpp has starts and ends, attempts.cpp jobs aboard,
// checkups.cpp probes and proofs.
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

    /// Must be called when a curse begins. Some act by themselves: a GPU is lost, an attached
    /// worker goes away.
    void begin(const Curse& curse);
    void strike(const Blow& blow);
    /// Ends all workers that survived their kill.
    void end_kill_survivors();
    /// True if a job or a core dump keeps a living worker from answering.
    [[nodiscard]] bool has_blocked_worker() const;

private:
    //   coming ──▶ up ──▶ exited ──▶ (gone: forgotten)
    //      └────────────────▲
    enum class Life : std::uint8_t { coming, up, exited };

    struct Aboard {
        AttemptId attempt;
        JobId job;
        std::uint32_t number = 1;
        bool blocks = false;
        bool is_cancelled = false;
        bool is_closed = false;  // the worker may still compute, but sends no more events about it
    };
    struct Worker {
        WorkerId id;
        LaneId lane;
        Generation generation;
        std::uint64_t key = 0;  // the lane, and how many workers were started there before
        Life life = Life::coming;
        ExitCause cause = ExitCause::worker;
        bool is_killed = false;
        bool has_survived_kill = false;   // was killed, and still runs
        bool has_left_a_child = false;    // exited, but a child process runs until the kill
        bool is_dumping_core = false;     // does nothing more, and exits soon
        std::vector<Aboard> aboard{};     // in the order in which they were sent
        std::vector<Agenda::Act> held{};  // what it does once no job blocks it
    };
    /// How an attempt will go. Decided when it is sent.
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

    // starts and ends
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
    [[nodiscard]] Ending ending_of(const Worker& worker, const Aboard& aboard,
                                   const Clients::Client& client) const;
    [[nodiscard]] bool may_go_stale(const Worker& worker, std::uint64_t key) const;
    void run(WorkerId id, AttemptId attempt, const Course& course, std::uint32_t part);
    void go_on(WorkerId id, AttemptId attempt, const Course& course, std::uint32_t part);
    void end(WorkerId id, AttemptId attempt, Ending ending);
    void end_closed(WorkerId id, AttemptId attempt, Ending ending);
    void answer(WorkerId id, AttemptId attempt, Verdict verdict);
    void answer_for_another(const Worker& liar);
    void dump_core(WorkerId id, AttemptId killer);
    void end_cancelled(WorkerId id, AttemptId attempt);
    void close(WorkerId id, AttemptId attempt);
    /// Takes the attempt off the worker. If the attempt blocked the worker, what waited goes on.
    void remove(Worker& worker, AttemptId attempt);
    [[nodiscard]] static Aboard* find_aboard(Worker& worker, AttemptId attempt);
    /// True if a job, or a core dump, keeps the worker from doing anything else than `attempt`.
    [[nodiscard]] static bool is_blocked(const Worker& worker, AttemptId attempt = AttemptId{});

    // probes and proofs
    void answer_probe(const ProbeEnded& ended);
    void answer_proof(WorkerId id, std::uint32_t proof);
    [[nodiscard]] ProofEnded proof_of(const Worker& worker, std::uint32_t proof) const;

    Stage& stage_;
    const Clients& clients_;
    std::map<WorkerId, Worker> workers_;
    std::vector<std::uint64_t> starts_;      // of each lane
    Duration batch_run_ = Duration::zero();  // of the batch that is being sent
};

}  // namespace turnpike::sim
