#include "supervisor/warm.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <boost/asio/buffer.hpp>
#include <boost/json.hpp>

#include "os/spawn.h"

namespace turnpike {

namespace asio = boost::asio;
namespace json = boost::json;

namespace {

constexpr std::size_t message_max = 16 * std::size_t{1024};  // of what it says
constexpr std::uint32_t failures_max = 5;                    // in a row; then it stays off
constexpr Duration build_delay_min = 500ms;                  // doubles with each failure

struct Ends {
    UniqueFd ours, theirs;
};

bool make_ends(Ends& sockets, Ends& output) {
    int pair[2] = {-1, -1};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) return false;
    sockets = {UniqueFd(pair[0]), UniqueFd(pair[1])};
    if (::pipe2(pair, O_CLOEXEC) != 0) return false;
    output = {UniqueFd(pair[0]), UniqueFd(pair[1])};
    return true;
}

std::string text_in(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// With the descriptors, in one message. Gives an errno; 0: it is sent.
int send_with(int socket, const std::string& text, const std::array<int, 4>& descriptors) {
    iovec bytes{.iov_base = const_cast<char*>(text.data()), .iov_len = text.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof descriptors)> room{};
    msghdr message{};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    message.msg_control = room.data();
    message.msg_controllen = room.size();
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof descriptors);
    std::memcpy(CMSG_DATA(header), descriptors.data(), sizeof descriptors);
    return ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? errno : 0;
}

}  // namespace

WarmProcess::WarmProcess(asio::io_context& loop, Children& children, LaneOutput& output,
                         WarmSpec spec)
    : loop_(loop),
      children_(children),
      output_(output),
      spec_(std::move(spec)),
      socket_(loop),
      timer_(loop) {}

WarmProcess::~WarmProcess() { drop(); }

void WarmProcess::close() {
    is_closed_ = true;
    timer_.cancel();
    drop();
    state_ = State::off;
}

void WarmProcess::learn() {
    if (is_closed_) return;
    std::string imports = spec_.preload.empty() ? text_in(spec_.imports) : std::string("named");
    if (imports.empty() || imports == built_of_) return;
    built_of_ = std::move(imports);
    failures_ = 0;
    build();
}

/// With it go its socket and its process, whatever it does.
void WarmProcess::drop() {
    boost::system::error_code ignored;
    socket_.close(ignored);
    if (pid_ != 0 && children_.has(pid_)) ::kill(pid_, SIGKILL);
    pid_ = 0;
    ++life_;
}

void WarmProcess::build() {
    drop();
    state_ = State::building;
    Ends sockets;
    Ends output;
    const UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    const UniqueFd program(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
    if (!make_ends(sockets, output) || !nothing || !program) {
        trouble_ = fmt::format("no pipe could be made: {}", std::strerror(errno));
        return build_later();
    }
    std::vector<std::string> arguments{spec_.python, spec_.script, "--warm", spec_.imports};
    arguments.insert(arguments.end(), spec_.preload.begin(), spec_.preload.end());
    const auto pid = spawn({.program = spec_.python,
                            .arguments = std::move(arguments),
                            .environment = spec_.environment,
                            .descriptors = {nothing.get(), output.theirs.get(), output.theirs.get(),
                                            sockets.theirs.get(), program.get()}});
    if (!pid) {
        trouble_ = fmt::format("it can't be started: {}", std::strerror(pid.error()));
        return build_later();
    }
    pid_ = *pid;
    output_.attach(std::move(output.ours), LogStream::err);
    socket_.assign(asio::generic::seq_packet_protocol(AF_UNIX, 0), sockets.ours.release());
    children_.watch(pid_, [weak = weak_from_this(), life = life_](const ExitStatus& exit) {
        if (const auto self = weak.lock()) self->ended(life, exit);
    });
    listen(life_);
}

void WarmProcess::build_later() {
    state_ = State::off;
    if (++failures_ >= failures_max || is_closed_) return;
    timer_.expires_after(build_delay_min * (1U << failures_));
    timer_.async_wait([weak = weak_from_this()](boost::system::error_code error) {
        if (const auto self = weak.lock(); self && !error && self->state_ == State::off)
            self->build();
    });
}

void WarmProcess::listen(std::uint64_t life) {
    message_.resize(message_max);
    socket_.async_receive(
        asio::buffer(message_), flags_,
        [weak = weak_from_this(), life](boost::system::error_code error, std::size_t size) {
            const auto self = weak.lock();
            if (self == nullptr || self->life_ != life || error || size == 0) return;
            self->hear(std::string_view(self->message_).substr(0, size));
            if (self->life_ == life) self->listen(life);
        });
}

/// `{"ready": 1834}` with how many modules, or `{"refused": why, "rebuild": bool}`.
void WarmProcess::hear(std::string_view message) {
    boost::system::error_code error;
    const json::value value = json::parse(json::string_view(message.data(), message.size()), error);
    const json::object* said = error ? nullptr : value.if_object();
    if (said == nullptr) return give_up("it says what nobody understands");
    if (const json::value* modules = said->if_contains("ready")) {
        state_ = State::ready;
        failures_ = 0;
        trouble_.clear();
        return output_.remark(
            fmt::format("warm process {}: {} modules imported", pid_, json::serialize(*modules)));
    }
    const json::value* why = said->if_contains("refused");
    trouble_ = why != nullptr && why->is_string() ? std::string(why->get_string()) : "it refused";
    output_.remark("warm process: " + trouble_);
    const json::value* again = said->if_contains("rebuild");
    if (again != nullptr && again->is_bool() && again->get_bool()) return build();
    drop();
    state_ = State::off;
}

void WarmProcess::ended(std::uint64_t life, const ExitStatus& exit) {
    if (life != life_) return;
    trouble_ = "it died: " + words_for(exit);
    output_.remark("warm process: " + trouble_);
    drop();
    build_later();
}

void WarmProcess::give_up(const std::string& why) {
    trouble_ = why;
    output_.remark("warm process: " + trouble_);
    drop();
    build_later();
}

std::expected<void, std::string> WarmProcess::fork(const GuardOrders& orders,
                                                   const std::string& model,
                                                   const std::vector<std::string>& environment,
                                                   Guarded::Offer offer) {
    json::array variables;
    for (const std::string& variable : environment) variables.emplace_back(variable);
    const std::string request = json::serialize(json::object{{"label", orders.label},
                                                             {"open_files", orders.open_files},
                                                             {"cgroup", orders.cgroup},
                                                             {"folder", orders.folder},
                                                             {"model", model},
                                                             {"environment", variables}});
    const int error =
        send_with(socket_.native_handle(), request,
                  {offer.out.get(), offer.err.get(), offer.control.get(), offer.link.get()});
    if (error == 0) return {};
    if (error == EMSGSIZE) return std::unexpected("the environment is too large for a warm start");
    return std::unexpected(std::string("it can't be asked: ") + std::strerror(error));
}

}  // namespace turnpike
