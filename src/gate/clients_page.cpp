#include "gate/clients_page.h"

namespace turnpike {

bool is_idle(const ClientFigures& client) {
    return client.uploads + client.queued + client.running + client.refused == 0 &&
           !client.is_suspected;
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
        json.member("suspected", client.is_suspected);
        json.close_object();
    }
    json.close_array();
}

}  // namespace turnpike
