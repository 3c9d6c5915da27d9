// A model that does what models should not do, and a few things that the conformance model does not
// need.
#include <turnpike/worker.h>

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <thread>

using turnpike::Answer;
using turnpike::Request;
using turnpike::Response;

namespace {}  // namespace

namespace c10 {  // as in libtorch
struct Error : std::exception {};
struct OutOfMemoryError : Error {};
}  // namespace c10

namespace {

struct Mixin {
    virtual ~Mixin() = default;
};
struct MyOutOfMemory : Mixin, c10::OutOfMemoryError {};

/// Throws an exception of this kind; "nested-" in front nests it in another one.
[[noreturn]] void raise_kind(std::string_view kind, const std::string& words) {
    if (kind == "unhealthy") throw turnpike::Unhealthy(words);
    if (kind == "out_of_memory") throw turnpike::OutOfMemory(words);
    if (kind == "torch") throw c10::OutOfMemoryError();
    if (kind == "subclass") throw MyOutOfMemory();
    if (kind == "host") throw std::bad_alloc();
    if (kind == "runtime") throw std::runtime_error(words);
    if (kind == "logic") throw std::out_of_range(words);
    if (kind == "system") throw std::system_error(std::make_error_code(std::errc::io_error), words);
    if (kind == "string") throw words;
    if (kind == "bad_input") throw turnpike::BadInput(words);
    if (kind == "non_finite") throw turnpike::NonFinite(words);
    try {
        raise_kind(kind.substr(std::string_view("nested-").size()), words);
    } catch (...) {
        std::throw_with_nested(std::runtime_error("layer 3: " + words));
    }
}

std::string words_of(const Request& request) {
    return std::string(request.body().empty() ? request.query() : request.body());
}

[[noreturn]] void raise_nested(const std::string& words) {
    try {
        throw std::invalid_argument(words);
    } catch (...) {
        std::throw_with_nested(std::runtime_error("layer 3: " + words));
    }
}

/// Uses the fake driver as a framework does, then makes its context fail for good.
[[noreturn]] void poison_cuda(int code) {
    void* const cuda = ::dlopen("libcuda.so.1", RTLD_NOW);
    if (cuda == nullptr) throw std::runtime_error("there is no driver");
    const auto call = [&]<class... Parameters>(const char* name, Parameters... arguments) {
        return reinterpret_cast<int (*)(Parameters...)>(::dlsym(cuda, name))(arguments...);
    };
    void* context = nullptr;
    call("cuInit", 0U);
    call("cuDevicePrimaryCtxRetain", &context, 0);
    call("fake_poison", code);
    throw std::runtime_error("words that nobody knows");
}

struct Unmapped {};  // an exception that is not a std::exception

class Odd : public turnpike::Model {
public:
    Answer request(const Request& request) override {
        const std::string_view path = request.path();
        if (path == "/status") return Response{.status = 99};
        if (path == "/framing")
            return Response{.headers = {{.name = "Content-Length", .value = "7"}}};
        if (path == "/injected")
            return Response{.headers = {{.name = "X-One", .value = "1\r\nX-Two: 2"}}};
        if (path == "/injected type") return Response{.content_type = "a/b\r\nSet-Cookie: x=1"};
        if (path == "/injected stream") return injected_stream(request);
        if (path == "/raise") throw std::runtime_error(words_of(request));
        if (path == "/raise nested") raise_nested(words_of(request));
        if (path == "/poison") poison_cuda(std::stoi(words_of(request)));
        if (path == "/kind") raise_kind(request.query(), std::string(request.body()));
        if (path == "/unmapped") throw Unmapped{};
        if (path == "/not utf8") throw std::runtime_error("caf\xe9");
        if (path == "/events") return events(request);
        if (path == "/twice") return twice(request);
        if (path == "/header") return std::string(request.header("x-NAME").value_or("none"));
        if (path == "/fork") return forked();
        if (path == "/leaves") throw turnpike::Cancelled();
        if (path == "/keep") return keep(request);
        if (path == "/late") return late();
        if (path == "/hammer") return hammer(request);
        return turnpike::Model::request(request);
    }

    std::vector<turnpike::Result> predict_batch(std::span<const Request> requests) override {
        if (requests.size() == 2) return {};  // no answers for two jobs
        return turnpike::Model::predict_batch(requests);
    }
    Answer predict(const Request& request) override {
        if (request.body() == "bad") throw turnpike::BadInput("bad");
        return std::string(request.body());
    }

    int batch() const override { return 4; }

    std::optional<turnpike::Example> example() const override {
        if (is("huge example")) return turnpike::Example{.body = std::string(1024 * 1024 + 1, ' ')};
        if (is("odd type"))
            return turnpike::Example{.body = "{}", .content_type = "a/b\r\nX-Two: 2"};
        if (is("endless type"))
            return turnpike::Example{.body = "{}", .content_type = std::string(256, 'a')};
        return std::nullopt;
    }
    std::string facts() const override {
        if (is("huge facts")) return "{" + std::string(16 * 1024, ' ') + "}";
        if (is("odd facts")) return "{\"a\": \"caf\xe9\"}";
        if (is("throws")) throw std::runtime_error("no facts today");
        return {};
    }

private:
    /// True if the test asked for this oddity, which shows before `ready`.
    static bool is(std::string_view oddity) {
        const char* const asked = std::getenv("ODDITY");
        return asked != nullptr && asked == oddity;
    }
    static Answer events(const Request& request) {
        const turnpike::Stream out = request.stream({.content_type = "text/event-stream"});
        out.event("{}");
        out.event("two\nlines", "poem");
        return "not seen";
    }
    static Answer injected_stream(const Request& request) {
        const turnpike::Stream out =
            request.stream({.status = 200, .content_type = "a/b\r\nSet-Cookie: x=1"});
        return out.write("more") ? "" : "";
    }
    static Answer twice(const Request& request) {
        if (!request.stream().write("once")) return {};
        return request.stream().write("more") ? "" : "";
    }
    /// Keeps a job, so that late() can use it after it has ended.
    Answer keep(const Request& request) {
        if (request.query() == "streams")
            stream_.emplace(request.stream());
        else
            kept_.emplace(request);
        return "kept";
    }
    Answer late() {
        std::string told;
        std::thread([&] {
            kept_->job().progress(0.5, "late");
            told = stream_->write("late") ? "written" : "refused";
            try {
                const turnpike::Stream again = kept_->stream();
            } catch (const std::logic_error& error) {
                told += std::string(", ") + error.what();
            }
            told += ", " + std::string(kept_->path());
        }).join();
        return told;
    }
    /// Starts a thread that reports progress of the latest job all the time, even if the job has
    /// ended.
    Answer hammer(const Request& request) {
        const std::lock_guard lock(hammered_);
        latest_.emplace(request.job());
        if (!hammer_.joinable())
            hammer_ = std::jthread([this](const std::stop_token& stopped) {
                while (!stopped.stop_requested()) {
                    std::unique_lock taking(hammered_);
                    const turnpike::Job job = *latest_;
                    taking.unlock();
                    job.progress(0.5, "again");
                }
            });
        return "hammered";
    }
    /// Forks a child that lives on and must not have the socket.
    static Answer forked() {
        const pid_t child = fork();
        if (child == 0) {
            pause();
            _exit(0);
        }
        return std::to_string(child);
    }

    std::optional<Request> kept_;
    std::optional<turnpike::Stream> stream_;
    std::mutex hammered_;
    std::optional<turnpike::Job> latest_;
    std::jthread hammer_;
};

}  // namespace

int main() { return turnpike::serve<Odd>(); }
