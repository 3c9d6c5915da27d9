#include "cli/status_clients.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "terminal/facts.h"

namespace turnpike {
namespace {

namespace json = boost::json;
using enum Column::Side;

/// Returns "512 B" or "1.5 MiB".
std::string size_text(std::size_t bytes) {
    constexpr double mebibyte = 1024.0 * 1024;
    if (bytes < 1024) return fmt::format("{} B", bytes);
    return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / mebibyte);
}

std::size_t jobs_of(const json::object& client) {
    return count_of(client, "queued") + count_of(client, "running") + count_of(client, "uploads");
}

std::vector<Cell> client_row(const json::object& client) {
    const std::string refused = text_of(client, "refused");
    return {{text_of(client, "client")},
            {text_of(client, "uploads")},
            {text_of(client, "queued")},
            {span_of(client, "oldest_wait_s")},
            {text_of(client, "running")},
            {size_text(count_of(client, "bytes"))},
            {refused, refused == "0" ? Paint::plain : Paint::yellow}};
}

std::string suspicion_of(const json::object& client) {
    if (!is_true(client, "suspected")) return "";
    return fmt::format(
        "{}: several of its jobs killed workers, so its jobs run alone, one at a time, "
        "while others use the pool\n",
        text_of(client, "client"));
}

}  // namespace

std::expected<std::string, std::string> clients_text(const StatusPage& status, TextStyle style) {
    const auto page = parse_facts(status.json);
    if (!page) return std::unexpected(page.error());
    if (!page->contains("clients"))
        return std::unexpected(
            "this gate does not tell who its clients are; it runs an older version");
    std::vector<const json::object*> clients;
    for (const json::value& client : list_of(*page, "clients"))
        clients.push_back(&object_of(client));
    if (clients.empty()) return "no client has a job here, and none was refused\n";
    std::ranges::sort(clients, [](const json::object* a, const json::object* b) {
        return std::pair(jobs_of(*b), text_of(*a, "client")) <
               std::pair(jobs_of(*a), text_of(*b, "client"));
    });
    Table table{.columns = {{"CLIENT"},
                            {"UPLOADS", right},
                            {"QUEUED", right},
                            {"OLDEST", right},
                            {"RUNNING", right},
                            {"BYTES", right},
                            {"REFUSED", right}},
                .rows = {}};
    for (const json::object* client : clients) table.rows.push_back(client_row(*client));
    std::string text = text_of(table, style);
    for (const json::object* client : clients) text += suspicion_of(*client);
    return text;
}

}  // namespace turnpike
