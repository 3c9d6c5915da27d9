// A model that Turnpike serves, in C++20. Derive from turnpike::Model, then
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
// and `turnpike up ./shout`. One process per lane; a thread of the library answers the gate while the
// model computes. JSON is not its business: bodies are bytes, bring your own.
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

// ── what a model may throw; any other exception fails the job with its type and what() ───────────

/// The client's fault; it is told the message.
struct BadInput : std::runtime_error {
    using std::runtime_error::runtime_error;
};
/// This worker can't go on: it is restarted, and the job runs elsewhere.
struct Unhealthy : std::runtime_error {
    using std::runtime_error::runtime_error;
};
/// Out of GPU memory. Free what you can before you throw it.
struct OutOfMemory : std::runtime_error {
    using std::runtime_error::runtime_error;
};
/// The answer has NaN or infinity.
struct NonFinite : std::runtime_error {
    using std::runtime_error::runtime_error;
};
/// A way to leave when job().cancelled().
struct Cancelled : std::runtime_error {
    Cancelled() : std::runtime_error("cancelled") {}
};

// ── what a model gets ────────────────────────────────────────────────────────────────────────────

/// Where the worker runs.
class Lane {
public:
    [[nodiscard]] int index() const { return index_; }
    [[nodiscard]] const std::string& pool() const { return pool_; }
    /// How many GPUs it has; 0 is a CPU lane. Only those are visible.
    [[nodiscard]] int gpus() const { return gpus_; }
    /// "cuda:0" or "cpu"
    [[nodiscard]] std::string device() const { return gpus_ > 0 ? "cuda:0" : "cpu"; }
    /// "cuda:0", "cuda:1" …, or "cpu"
    [[nodiscard]] std::vector<std::string> devices() const;

    /// How far load() is, 0 … 1, for people; each call renews `load_timeout`.
    void progress(std::optional<double> fraction, std::string_view text = {});

private:
    friend class inside::Session;
    inside::Session* session_ = nullptr;
    int index_ = 0;
    int gpus_ = 0;
    std::string pool_;
};

/// One job, as people see it. May be kept, and used by any thread, also after its end.
class Job {
public:
    explicit Job(std::shared_ptr<inside::Record> record) : record_(std::move(record)) {}
    /// What people call it (`Turnpike-Job`).
    [[nodiscard]] std::string_view id() const;
    /// 1: the first try.
    [[nodiscard]] int attempt() const;
    [[nodiscard]] bool is_proof() const;
    /// Nobody wants the answer any more. Cheap: ask often.
    [[nodiscard]] bool cancelled() const;
    /// How far it is, 0 … 1, for people; each call renews `job_timeout`. Nothing once it has ended.
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

/// An answer in pieces. Each piece leaves at once; write() waits while the client is slow.
class Stream {
public:
    explicit Stream(std::shared_ptr<inside::Record> record) : record_(std::move(record)) {}
    /// False: nobody wants more, or the job has ended.
    bool write(std::string_view piece) const;
    /// The same as a server-sent event, for the content type `text/event-stream`.
    bool event(std::string_view data, std::string_view name = {}) const;

private:
    std::shared_ptr<inside::Record> record_;
};

/// Views live as long as the request, a copy of it, its Job or its Stream.
class Request {
public:
    explicit Request(std::shared_ptr<inside::Record> record) : record_(std::move(record)) {}
    [[nodiscard]] std::string_view method() const;
    [[nodiscard]] std::string_view path() const;   // percent-decoded
    [[nodiscard]] std::string_view query() const;  // as it came, without the ?
    [[nodiscard]] std::string_view body() const;
    /// The value of the first header line of that name, in any case.
    [[nodiscard]] std::optional<std::string_view> header(std::string_view name) const;
    [[nodiscard]] std::vector<Header> headers() const;
    [[nodiscard]] Job job() const { return Job(record_); }
    /// Begins an answer in pieces, once; what the model returns then plays no part.
    [[nodiscard]] Stream stream(const StreamOptions& options = {}) const;

private:
    std::shared_ptr<inside::Record> record_;
};

// ── what a model gives ───────────────────────────────────────────────────────────────────────────

struct Response {
    int status = 200;
    std::string content_type = "application/json";
    std::vector<Header> headers = {};
    std::string body = {};
};

/// JSON text, a Response, or (in a batch) why that member failed. Nothing: after a stream.
class Answer {
public:
    Answer() = default;
    Answer(std::string json) { response_.body = std::move(json); }           // NOLINT: as it is
    Answer(const char* json) { response_.body = json; }                      // NOLINT
    Answer(Response response) : response_(std::move(response)) {}            // NOLINT
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

/// load() and, with slots() 1, every job run on the thread that called serve().
class Model {
public:
    virtual ~Model() = default;

    /// Once, before the first job. An exception ends the worker.
    virtual void load(Lane&) {}
    /// `POST /` and `POST /predict`. By default: request().
    virtual Answer predict(const Request& request);
    /// The same with batch() > 1: an answer for each, in their order. After an exception each job is
    /// tried by itself, so that one job's failure is its own. By default: predict() for each.
    virtual std::vector<Result> predict_batch(std::span<const Request> requests);
    /// All other paths and methods. By default: 404 and 405. An `aside` of the configuration may come
    /// while another job runs.
    virtual Answer request(const Request& request);

    /// Jobs at once, each on a thread of its own, and how many a batch may have. The configuration outranks both.
    virtual int slots() const { return 1; }
    virtual int batch() const { return 1; }
    virtual std::optional<Example> example() const { return std::nullopt; }
    /// A JSON object about the model, for people; or nothing.
    virtual std::string facts() const { return {}; }
    /// Whether check() is to judge the answers to proofs.
    virtual bool has_check() const { return false; }
    virtual bool check(const Response&) { return true; }
};

/// Serves until the gate says stop. The result is the program's exit code.
[[nodiscard]] int serve(Model& model);
/// The same; the model is made after the gate has been greeted.
[[nodiscard]] int serve(const std::function<std::unique_ptr<Model>()>& make);
template <class OneModel>
[[nodiscard]] int serve() {
    return serve([]() -> std::unique_ptr<Model> { return std::make_unique<OneModel>(); });
}

}  // namespace turnpike
