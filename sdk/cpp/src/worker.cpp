// Implements <turnpike/worker.h>.
#include "turnpike/worker.h"

#include <strings.h>

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>

#include "session.h"

namespace turnpike {

std::vector<std::string> Lane::devices() const {
    std::vector<std::string> names;
    for (int gpu = 0; gpu < gpus_; ++gpu) names.push_back("cuda:" + std::to_string(gpu));
    if (names.empty()) names.emplace_back("cpu");
    return names;
}

void Lane::progress(std::optional<double> fraction, std::string_view text) {
    session_->loading(fraction, text);
}

std::string_view Job::id() const { return record_->name; }
int Job::attempt() const { return record_->attempt; }
bool Job::is_proof() const { return record_->purpose == wire::Purpose::proof; }
bool Job::cancelled() const { return record_->is_cancelled.load(std::memory_order_relaxed); }

void Job::progress(std::optional<double> fraction, std::string_view text) const {
    record_->session.answering().progress(*record_, fraction, text);
}

bool Stream::write(std::string_view piece) const {
    return record_->session.answering().write(*record_, piece);
}

bool Stream::event(std::string_view data, std::string_view name) const {
    std::string text;
    if (!name.empty()) text.append("event: ").append(name).append("\n");
    while (true) {
        const std::size_t end = data.find('\n');
        text.append("data: ").append(data.substr(0, end)).append("\n");
        if (end == std::string_view::npos) break;
        data.remove_prefix(end + 1);
    }
    return write(text + "\n");
}

std::string_view Request::method() const { return record_->method; }
std::string_view Request::path() const { return record_->path; }
std::string_view Request::query() const { return record_->query; }
std::string_view Request::body() const { return record_->body; }

Stream Request::stream(const StreamOptions& options) const {
    record_->session.answering().begin(*record_, options);
    return Stream(record_);
}

namespace {

struct Line {
    std::string_view name, value;
};

std::string_view without_blanks(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// Removes the first header line and returns it. The lines were checked: each has a colon and a
/// CRLF.
Line take_line(std::string_view& fields) {
    const std::string_view line = fields.substr(0, fields.find("\r\n"));
    fields.remove_prefix(line.size() + 2);
    const std::size_t colon = line.find(':');
    return {.name = line.substr(0, colon), .value = without_blanks(line.substr(colon + 1))};
}

}  // namespace

std::optional<std::string_view> Request::header(std::string_view name) const {
    std::string_view left = record_->fields;
    while (!left.empty()) {
        const Line line = take_line(left);
        if (line.name.size() == name.size() &&
            ::strncasecmp(line.name.data(), name.data(), name.size()) == 0)
            return line.value;
    }
    return std::nullopt;
}

std::vector<Header> Request::headers() const {
    std::vector<Header> all;
    std::string_view left = record_->fields;
    while (!left.empty()) {
        const Line line = take_line(left);
        all.push_back({.name = std::string(line.name), .value = std::string(line.value)});
    }
    return all;
}

Answer Model::predict(const Request& request) { return this->request(request); }

std::vector<Result> Model::predict_batch(std::span<const Request> requests) {
    std::vector<Result> results;
    results.reserve(requests.size());
    for (const Request& one : requests) {
        try {
            results.push_back(predict(one));
        } catch (...) {
            results.emplace_back(std::current_exception());
        }
    }
    return results;
}

namespace {

/// Makes a 4xx: a problem of RFC 9457, with the `error` that OpenAI's clients read. The texts must
/// not need escapes.
Response problem(int status, const std::string& title, const std::string& detail) {
    std::string code = title;
    for (char& letter : code)
        letter = letter == ' ' ? '-' : static_cast<char>(std::tolower(letter));
    return {.status = status,
            .content_type = "application/problem+json",
            .body = R"({"type":"about:blank","title":")" + title + R"(","status":)" +
                    std::to_string(status) + R"(,"detail":")" + detail +
                    R"(","error":{"message":")" + detail +
                    R"(","type":"invalid_request_error","code":")" + code + R"("}})"};
}

}  // namespace

Answer Model::request(const Request& request) {
    const bool is_predict = request.path() == "/predict" || request.path() == "/";
    if (!is_predict || request.method() == "POST")
        return problem(404, "Not Found",
                       "This model has nothing at that path: it answers POST /predict.");
    Response refusal = problem(405, "Method Not Allowed",
                               "This model takes POST /predict, and no other method there.");
    refusal.headers = {{.name = "Allow", .value = "POST"}};
    return refusal;
}

namespace {

/// Returns the descriptor that TURNPIKE_SOCKET names, or −1 if it names none.
int socket_from_environment() {
    const char* const text = std::getenv("TURNPIKE_SOCKET");
    if (text == nullptr) return -1;
    char* end = nullptr;
    const long number = std::strtol(text, &end, 10);
    const bool is_number =
        end != text && *end == '\0' && number >= 0 && number <= std::numeric_limits<int>::max();
    return is_number ? static_cast<int>(number) : -1;
}

int serve_made(const std::function<Model*()>& make) {
    const int socket = socket_from_environment();
    if (socket < 0) {
        std::fputs("This program is a Turnpike worker. Start it with `turnpike up PROGRAM`.\n",
                   stderr);
        return 2;
    }
    ::unsetenv("TURNPIKE_SOCKET");  // so that no process that the model starts uses it
    // Never destroyed, because threads of the model may keep jobs, which use it.
    static inside::Session* session = nullptr;
    session = new inside::Session(socket);
    return session->run(make);
}

}  // namespace

int serve(Model& model) {
    return serve_made([&] { return &model; });
}

int serve(const std::function<std::unique_ptr<Model>()>& make) {
    std::unique_ptr<Model> model;
    return serve_made([&] {
        model = make();
        return model.get();
    });
}

}  // namespace turnpike
