// Makes room when the answers that wait for their clients go beyond gate.answers_max. No lane waits
// for that, so somebody has to lose an answer: the client that holds most of the room, and of its
// connections the one that reads most slowly. A client that holds little loses nothing, however many
// slow readers others have.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/wakeups.h"
#include "stream/answer_account.h"

namespace turnpike {

class Connection;

class AnswerRoom final : public Sleeper {
public:
    /// In `connections` some may be nullptr.
    using Connections = std::vector<std::shared_ptr<Connection>>;
    AnswerRoom(AnswerAccount& account, const Connections& connections, Wakeups& wakeups);
    ~AnswerRoom();

    /// Cuts connections off until the rest fits. Called by Wakeups.
    void wake() override;

private:
    [[nodiscard]] Connection* slowest_reader_of_greediest();
    template <class Visit>
    void for_each_reader(Visit visit) const;

    AnswerAccount& account_;
    const Connections& connections_;
    Wakeups& wakeups_;
    std::vector<std::uint64_t> held_;  // index: ClientId
};

}  // namespace turnpike
