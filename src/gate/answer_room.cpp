#include "gate/answer_room.h"

#include <algorithm>

#include "gate/connection.h"

namespace turnpike {

AnswerRoom::AnswerRoom(AnswerAccount& account, const Connections& connections, Wakeups& wakeups)
    : account_(account), connections_(connections), wakeups_(wakeups) {
    account_.set_watcher(this);
}

AnswerRoom::~AnswerRoom() {
    account_.set_watcher(nullptr);
    wakeups_.remove(*this);
}

void AnswerRoom::wake() {
    while (account_.is_over()) {
        Connection* connection = slowest_reader_of_greediest();
        if (connection == nullptr) return;  // no client reads yet: the answers are not complete
        connection->cut_off(Departure::answers_full);
    }
}

/// Visits the connections on which an answer waits.
template <class Visit>
void AnswerRoom::for_each_reader(Visit visit) const {
    for (const auto& connection : connections_)
        if (connection != nullptr && connection->answer_bytes_waiting() > 0) visit(*connection);
}

Connection* AnswerRoom::slowest_reader_of_greediest() {
    std::ranges::fill(held_, 0);
    for_each_reader([this](const Connection& connection) {
        const std::size_t client = connection.client_of_job().value;
        if (client >= held_.size()) held_.resize(client + 1);
        held_[client] += connection.answer_bytes_waiting();
    });
    const auto most = std::ranges::max_element(held_);
    if (most == held_.end() || *most == 0) return nullptr;
    const ClientId greediest{static_cast<std::uint64_t>(most - held_.begin())};
    Connection* slowest = nullptr;
    std::uint64_t slowest_rate = 0;
    for_each_reader([&](Connection& connection) {
        if (connection.client_of_job() != greediest) return;
        const std::uint64_t rate = connection.measure_reading_rate();
        if (slowest != nullptr && rate >= slowest_rate) return;
        slowest = &connection;
        slowest_rate = rate;
    });
    return slowest;
}

}  // namespace turnpike
