// The clients. Each follows its script from the first byte of its job to the answer, or leaves
// earlier. Like the real gate, a client sends the engine no more events once its job has ended; but
// a few hang up just when their answer comes.
#pragma once

#include <cstdint>
#include <map>

#include "core/action.h"
#include "sim/stage.h"
#include "sim/stimulus.h"

namespace turnpike::sim {

class Clients {
public:
    explicit Clients(Stage& stage) : stage_(stage) {}

    /// `key` is the client's number and its ticket. The script must outlive the run.
    void arrive(std::uint64_t key, const JobScript& script);

    void carry_out(const AdmitJob& action);
    void carry_out(const RefuseJob& action);
    void carry_out(const HashJob& action);
    void carry_out(const EndJob& action);

    struct Client {
        std::uint64_t key = 0;
        const JobScript* script = nullptr;
        bool has_body = false;  // the whole body
        bool has_ended = false;
    };
    /// Returns the client whose job this is or was, or nullptr if no such job was ever admitted.
    [[nodiscard]] const Client* find(JobId job) const;

private:
    void send_body(JobId job, std::uint32_t chunks_sent);
    void upload(JobId job, std::uint32_t chunks_sent);
    void leave_later(JobId job);
    void forget_later(const Client& client);
    [[nodiscard]] bool is_waiting(JobId job) const;

    Stage& stage_;
    std::map<Ticket, const JobScript*> undecided_;
    std::map<JobId, Client> clients_;
};

}  // namespace turnpike::sim
