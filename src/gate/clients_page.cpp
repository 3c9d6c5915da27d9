#include "gate/clients_page.h"

#include <algorithm>

namespace turnpike {

void count_job(ClientFigures& client, const JobView& job) {
    switch (job.state) {
        case JobState::arriving: ++client.uploads; return;
        case JobState::queued:
            ++client.queued;
            client.oldest_wait = std::max(client.oldest_wait, job.since);
            return;
        case JobState::running: ++client.running; return;
    }
}

bool is_idle(const ClientFigures& client) {
    return client.uploads + client.queued + client.running + client.refused == 0;
}

void append_clients(JsonWriter& json, std::span<const ClientFigures> clients) {
    json.open_array();
    for (const ClientFigures& client : clients) {
        json.open_object();
        json.member("client", client.name);
        json.member("uploads", client.uploads);
        json.member("queued", client.queued);
        json.member("running", client.running);
        json.member("bytes", client.bytes.count);
        json.member("refused", client.refused);
        json.member("oldest_wait_s", client.oldest_wait);
        json.close_object();
    }
    json.close_array();
}

}  // namespace turnpike
