// Makes room when the answers that wait for their clients go beyond gate.answers_max, or when the disk
// has no room for them and workers wait. No lane waits for that, so somebody has to lose an answer:
// the client that holds most of the room, and of its connections the one that reads most slowly. A
// client that holds little loses nothing, however many slow readers others have.
//
// A worker may wait for the disk for a moment because its client reads more slowly than it writes.
// What counts is a client that takes less than progress_min from one look to the next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"
#include "base/wakeups.h"
#include "core/words.h"
#include "stream/answer.h"
#include "stream/answer_account.h"

namespace turnpike {

class Connection;

class AnswerRoom final : public Sleeper {
public:
    static constexpr Duration look_every = 2s;
    static constexpr Bytes progress_min{256 * kibibyte.count};  // from one look to the next

    /// In `connections` some may be nullptr.
    using Connections = std::vector<std::shared_ptr<Connection>>;
    AnswerRoom(AnswerAccount& account, const Store& store, const Connections& connections,
               Wakeups& wakeups);
    ~AnswerRoom();

    /// Cuts connections off until the rest fits. Called by Wakeups.
    void wake() override;
    /// Cuts one connection off if a worker has waited for room on the disk since the last look, and
    /// an answer other than its own is there. Must be called a few times a second.
    void look_at_disk(Instant now);

private:
    /// What counts when the client that holds most is looked for.
    enum class Room : std::uint8_t { all, on_disk };
    /// An answer whose worker waits for the disk.
    struct Stuck {
        Ticket ticket;
        std::uint64_t taken = 0;
        std::size_t on_disk = 0;  // 1 if it holds a part of the disk itself
    };

    [[nodiscard]] Connection* slowest_reader_of_greediest(Room room);
    [[nodiscard]] bool has_hardly_moved(const Stuck& now) const;
    template <class Visit>
    void for_each_reader(Visit visit) const;

    AnswerAccount& account_;
    const Store& store_;
    const Connections& connections_;
    Wakeups& wakeups_;
    std::vector<std::uint64_t> held_;  // index: ClientId
    std::vector<Stuck> stuck_;         // at the last look; none if somebody was cut off then
    Instant next_look_{};
};

}  // namespace turnpike
