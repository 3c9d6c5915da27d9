// The conformance model (../README.md) for the C++ SDK.
#include <spawn.h>
#include <turnpike/worker.h>
#include <unistd.h>

#include <array>
#include <boost/json.hpp>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <thread>

namespace json = boost::json;
using turnpike::Answer;
using turnpike::Request;
using turnpike::Response;
using Clock = std::chrono::steady_clock;

namespace {

const std::string variant = [] {
    const char* const chosen = std::getenv("CONFORMANCE");
    return std::string(chosen != nullptr ? chosen : "full");
}();

json::object asked_by(const Request& request) {
    boost::system::error_code error;
    json::value value = json::parse(request.body(), error);
    if (error || !value.is_object()) throw turnpike::BadInput("the body is not a JSON object");
    return std::move(value.as_object());
}

std::optional<double> fraction_of(const json::value& value) {
    if (value.is_null()) return std::nullopt;
    return value.to_number<double>();
}

[[noreturn]] void fail(const json::object& asked) {
    const json::value* const given = asked.if_contains("message");
    const std::string message = given != nullptr ? json::value_to<std::string>(*given) : "";
    const auto kind = json::value_to<std::string>(asked.at("fail"));
    if (kind == "bad_input") throw turnpike::BadInput(message);
    if (kind == "out_of_memory") throw turnpike::OutOfMemory(message);
    if (kind == "non_finite") throw turnpike::NonFinite(message);
    if (kind == "unhealthy") throw turnpike::Unhealthy(message);
    throw std::domain_error(message);
}

Answer size(std::size_t bytes) {
    std::string body(bytes, '\0');
    for (std::size_t at = 0; at < bytes; ++at) body[at] = "0123456789abcdef"[at % 16];
    return Response{.content_type = "application/octet-stream", .body = std::move(body)};
}

Answer work(const json::object& asked, const Request& request, bool computes) {
    const turnpike::Job job = request.job();
    job.progress(std::nullopt, computes ? "computing" : "sleeping");
    const bool is_deaf = asked.contains("deaf");
    const double seconds = asked.at(computes ? "compute" : "sleep").to_number<double>();
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    volatile double sum = 0;
    while (Clock::now() < end) {
        if (!is_deaf && job.cancelled()) throw turnpike::Cancelled();
        if (!computes) std::this_thread::sleep_for(std::chrono::milliseconds(5));
        for (int number = 0; computes && number < 10'000; ++number) sum = sum + std::sqrt(number);
    }
    return json::serialize(json::object{{computes ? "computed" : "slept", seconds}});
}

Answer report(const json::object& asked, const Request& request) {
    const json::array& steps = asked.at("progress").as_array();
    for (const json::value& step : steps)
        request.job().progress(fraction_of(step.at(0)), json::value_to<std::string>(step.at(1)));
    return json::serialize(json::object{{"progress", steps.size()}});
}

Answer stream(const json::object& asked, const Request& request) {
    const turnpike::Stream out = request.stream();
    const auto size = asked.at("size").to_number<std::size_t>();
    for (std::int64_t number = 0; number < asked.at("stream").as_int64(); ++number) {
        const std::string digits = std::to_string(number);
        if (!out.write(std::string(size - 1 - digits.size(), '0') + digits + "\n"))
            throw turnpike::Cancelled();
    }
    const json::value* const then = asked.if_contains("then");
    if (then == nullptr) return {};
    if (then->as_string() == "fail") throw std::runtime_error("the stream broke");
    while (!request.job().cancelled()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    throw turnpike::Cancelled();
}

Answer meet(std::int64_t wanted) {
    static std::mutex lock;
    static std::condition_variable came;
    static std::int64_t there = 0;
    std::unique_lock held(lock);
    ++there;
    came.notify_all();
    came.wait(held, [&] { return there >= wanted; });
    return json::serialize(json::object{{"met", wanted}});
}

Answer spawn(std::int64_t seconds) {
    std::string program = "sleep";
    std::string argument = std::to_string(seconds);
    const std::array<char*, 3> arguments = {program.data(), argument.data(), nullptr};
    pid_t child = 0;
    if (posix_spawnp(&child, "sleep", nullptr, nullptr, arguments.data(), environ) != 0)
        throw std::runtime_error("the program sleep does not start");
    return json::serialize(json::object{{"pid", child}});
}

/// The variant without request().
class Plain : public turnpike::Model {
public:
    void load(turnpike::Lane& lane) override {
        if (variant == "fail_load") throw std::runtime_error("no such weights");
        lane.progress(0.5, "half");
        const char* const hold = std::getenv("CONFORMANCE_HOLD");
        while (hold != nullptr && !std::filesystem::exists(hold))
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }

    Answer predict(const Request& request) override {
        const json::object asked = asked_by(request);
        if (asked.contains("fail")) fail(asked);
        if (const json::value* const echo = asked.if_contains("echo"))
            return json::serialize(json::object{{"echo", *echo}});
        if (asked.contains("sleep")) return work(asked, request, false);
        if (asked.contains("compute")) return work(asked, request, true);
        if (asked.contains("stream")) return stream(asked, request);
        if (asked.contains("size")) return size(asked.at("size").to_number<std::size_t>());
        if (asked.contains("progress")) return report(asked, request);
        if (asked.contains("meet")) return meet(asked.at("meet").as_int64());
        if (asked.contains("spawn")) return spawn(asked.at("spawn").as_int64());
        throw turnpike::BadInput("the body has no key of the conformance model");
    }

    std::vector<turnpike::Result> predict_batch(std::span<const Request> requests) override {
        std::vector<turnpike::Result> results;
        for (const Request& request : requests) {
            try {
                const json::object asked = asked_by(request);
                if (asked.contains("fail")) fail(asked);
                results.emplace_back(json::serialize(
                    json::object{{"echo", asked.at("echo")}, {"together", requests.size()}}));
            } catch (const turnpike::BadInput& bad) {
                results.emplace_back(bad);
            }
        }
        return results;
    }

    int slots() const override { return variant == "slots" ? 4 : 1; }
    int batch() const override { return variant == "batch" ? 8 : 1; }
    std::optional<turnpike::Example> example() const override {
        return turnpike::Example{.body = R"({"echo": "example"})"};
    }
    std::string facts() const override { return R"({"model": "conformance"})"; }
    bool has_check() const override { return true; }
    bool check(const Response& answer) override { return answer.body == R"({"echo":"example"})"; }
};

class Full : public Plain {
public:
    Answer request(const Request& request) override {
        if (request.path() == "/bytes")
            return Response{.content_type = "application/octet-stream",
                            .body = std::string(request.body())};
        if (request.path() == "/teapot")
            return Response{.status = 418,
                            .content_type = "text/x-tea",
                            .headers = {{.name = "X-Conformance", .value = "yes"}},
                            .body = "short and stout"};
        if (request.path().starts_with("/seen")) return seen(request);
        return Plain::request(request);
    }

private:
    static Answer seen(const Request& request) {
        json::object told{{"method", request.method()},
                          {"path", request.path()},
                          {"query", request.query()},
                          {"name", request.job().id()},
                          {"attempt", request.job().attempt()}};
        for (const turnpike::Header& header : request.headers()) {
            std::string name = header.name;
            for (char& letter : name) letter = static_cast<char>(std::tolower(letter));
            told[name] = header.value;
        }
        return json::serialize(told);
    }
};

}  // namespace

int main() { return variant == "plain" ? turnpike::serve<Plain>() : turnpike::serve<Full>(); }
