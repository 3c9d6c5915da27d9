// Write a model that Turnpike serves, in C++20. Derive from turnpike::Model:
//
//     #include <turnpike/worker.h>
//
//     struct Shout : turnpike::Model {
//         turnpike::Answer predict(const turnpike::Request& request) override {
//             return std::string(request.body()) + "!";
//         }
//     };
//     int main() { return turnpike::serve<Shout>(); }
//
// Then start it with `turnpike up ./shout`. Each lane has one process. While the model computes, a
// thread of the library answers the gate. Bodies are bytes: bring your own JSON library.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace turnpike {

namespace inside {
class Session;
struct Record;
}  // namespace inside

// ── exceptions for models; any other exception fails the job with its type and what() ────────────

/// The request is wrong. The client gets the message.
struct BadInput : std::runtime_error {
    using std::runtime_error::runtime_error;
};
/// This worker can't continue. It is restarted, and the job runs on another worker.
struct Unhealthy : std::runtime_error {
    using std::runtime_error::runtime_error;
};
/// The GPU is out of memory. Free what you can before you throw this. On a CPU lane it is an
/// exception like any other.
struct OutOfMemory : std::runtime_error {
    using std::runtime_error::runtime_error;
};
/// The answer contains NaN or infinity.
struct NonFinite : std::runtime_error {
    using std::runtime_error::runtime_error;
};
/// Throw this to stop early when job().cancelled() is true.
struct Cancelled : std::runtime_error {
    Cancelled() : std::runtime_error("cancelled") {}
};

// ── the arguments of a model ─────────────────────────────────────────────────────────────────────

/// Where the worker runs.
class Lane {
public:
    [[nodiscard]] int index() const { return index_; }
    [[nodiscard]] const std::string& pool() const { return pool_; }
    /// Returns how many GPUs the lane has; 0 means a CPU lane. The process sees only these GPUs.
    [[nodiscard]] int gpus() const { return gpus_; }
    /// Returns "cuda:0" or "cpu".
    [[nodiscard]] std::string device() const { return gpus_ > 0 ? "cuda:0" : "cpu"; }
    /// Returns "cuda:0", "cuda:1" …, or "cpu".
    [[nodiscard]] std::vector<std::string> devices() const;

    /// Shows people how far load() is, 0 … 1. Each call starts `load_timeout` again.
    void progress(std::optional<double> fraction, std::string_view text = {});

private:
    friend class inside::Session;
    inside::Session* session_ = nullptr;
    int index_ = 0;
    int gpus_ = 0;
    std::string pool_;
};

/// One job. You may keep it and use it from any thread, also after the job has ended.
class Job {
public:
    explicit Job(std::shared_ptr<inside::Record> record) : record_(std::move(record)) {}
    /// Returns the id that people see (`Turnpike-Job`).
    [[nodiscard]] std::string_view id() const;
    /// Returns 1 for the first try.
    [[nodiscard]] int attempt() const;
    [[nodiscard]] bool is_proof() const;
    /// True if nobody waits for the answer any more. This call is cheap, so make it often.
    [[nodiscard]] bool cancelled() const;
    /// Shows people how far the job is, 0 … 1. Each call starts `job_timeout` again. Does nothing
    /// once the job has ended.
    void progress(std::optional<double> fraction, std::string_view text = {}) const;

private:
    std::shared_ptr<inside::Record> record_;
};

struct Header {
    std::string name;
    std::string value;
};

struct StreamOptions {
    int status = 200;
    std::string content_type = "text/plain; charset=utf-8";
    std::vector<Header> headers = {};
};

/// An answer in pieces. Each piece is sent at once. write() waits while the client is slow.
class Stream {
public:
    explicit Stream(std::shared_ptr<inside::Record> record) : record_(std::move(record)) {}
    /// Returns false if nobody wants more, or the job has ended.
    bool write(std::string_view piece) const;
    /// Writes a server-sent event, for the content type `text/event-stream`. Returns the same as
    /// write().
    bool event(std::string_view data, std::string_view name = {}) const;

private:
    std::shared_ptr<inside::Record> record_;
};

/// The views are valid as long as the request, a copy of it, its Job or its Stream exists.
class Request {
public:
    explicit Request(std::shared_ptr<inside::Record> record) : record_(std::move(record)) {}
    [[nodiscard]] std::string_view method() const;
    [[nodiscard]] std::string_view path() const;   // percent-decoded
    [[nodiscard]] std::string_view query() const;  // not decoded, without the ?
    [[nodiscard]] std::string_view body() const;
    /// Returns the value of the first header line with this name. Upper and lower case do not
    /// matter.
    [[nodiscard]] std::optional<std::string_view> header(std::string_view name) const;
    [[nodiscard]] std::vector<Header> headers() const;
    [[nodiscard]] Job job() const { return Job(record_); }
    /// Begins an answer in pieces. May be called once. What the model returns is then ignored.
    [[nodiscard]] Stream stream(const StreamOptions& options = {}) const;

private:
    std::shared_ptr<inside::Record> record_;
};

// ── the answers of a model ───────────────────────────────────────────────────────────────────────

struct Response {
    int status = 200;
    std::string content_type = "application/json";
    std::vector<Header> headers = {};
    std::string body = {};
};

/// JSON text, a Response, or (in a batch) the reason why this member failed. Return `{}` after a
/// stream.
class Answer {
public:
    Answer() = default;
    Answer(std::string json) { response_.body = std::move(json); }  // NOLINT: implicit on purpose
    Answer(const char* json) { response_.body = json; }             // NOLINT
    Answer(Response response) : response_(std::move(response)) {}   // NOLINT
    Answer(std::exception_ptr failure) : failure_(std::move(failure)) {}     // NOLINT
    Answer(const BadInput& bad) : failure_(std::make_exception_ptr(bad)) {}  // NOLINT

    [[nodiscard]] const Response& response() const { return response_; }
    [[nodiscard]] const std::exception_ptr& failure() const { return failure_; }

private:
    Response response_;
    std::exception_ptr failure_;
};
using Result = Answer;

/// The body of a `POST /predict` that the model must be able to answer.
struct Example {
    std::string body;
    std::string content_type = "application/json";
};

// ── the model ────────────────────────────────────────────────────────────────────────────────────

/// load() runs on the thread that called serve(). If slots() is 1, every job does so, too.
class Model {
public:
    virtual ~Model() = default;

    /// Called once, before the first job. An exception ends the worker.
    virtual void load(Lane&) {}
    /// Answers `POST /` and `POST /predict`. By default calls request().
    virtual Answer predict(const Request& request);
    /// Called instead of predict() if batch() > 1. Returns one answer for each request, in the same
    /// order. After an exception the library tries each job by itself, so that only the faulty job
    /// fails. By default calls predict() for each.
    virtual std::vector<Result> predict_batch(std::span<const Request> requests);
    /// Answers all other paths and methods. By default answers 404 or 405. A request that the
    /// configuration lists as `aside` may come while another job runs.
    virtual Answer request(const Request& request);

    /// Return how many jobs may run at once, each on its own thread, and how many jobs a batch may
    /// have. The configuration overrides both.
    virtual int slots() const { return 1; }
    virtual int batch() const { return 1; }
    virtual std::optional<Example> example() const { return std::nullopt; }
    /// Returns a JSON object about the model, for people, or an empty string.
    virtual std::string facts() const { return {}; }
    /// Returns true if check() must accept the answers to proofs.
    virtual bool has_check() const { return false; }
    virtual bool check(const Response&) { return true; }
};

/// Serves until the gate sends stop. Returns the exit code for the program.
[[nodiscard]] int serve(Model& model);
/// The same, but makes the model only after the worker has sent hello to the gate.
[[nodiscard]] int serve(const std::function<std::unique_ptr<Model>()>& make);
template <class OneModel>
[[nodiscard]] int serve() {
    return serve([]() -> std::unique_ptr<Model> { return std::make_unique<OneModel>(); });
}

}  // namespace turnpike
