// The bytes of a worker, as the gate reads them, and the conversation that they are part of. The
// gate's own steps come from the same bytes: the text of a `log` frame is what the gate does next.
#include <map>
#include <set>

#include "fuzz/wire_properties.h"
#include "wire/conversation.h"

namespace {

using namespace turnpike::wire;
using fuzz::require;

bool is_status(std::uint16_t status) { return status >= 200 && status <= 599; }
bool is_permille(std::uint16_t permille) {
    return permille <= 1000 || permille == permille_unknown;
}

void require_plain(std::string_view fields) {
    for (const char c : fields)
        require((c >= ' ' && c != 0x7f) || c < 0 || c == '\t' || c == '\r' || c == '\n',
                "header lines have no control byte");
    require(fields.empty() || fields.ends_with("\r\n"), "header lines end with CRLF");
    require(fields.find("\r\n\r\n") == std::string_view::npos, "no header line is empty");
}

void require_within_bounds(const WorkerFrame& frame) {
    if (const auto* loading = std::get_if<Loading>(&frame))
        require(is_permille(loading->permille), "loading has bounds");
    if (const auto* progress = std::get_if<Progress>(&frame))
        require(is_permille(progress->permille), "progress has bounds");
    if (const auto* ready = std::get_if<Ready>(&frame))
        require(ready->slots - 1 < width_max && ready->batch - 1 < width_max, "a width has bounds");
    if (const auto* begin = std::get_if<Begin>(&frame)) {
        require(is_status(begin->status), "begin has a status");
        require_plain(begin->fields);
    }
    if (const auto* done = std::get_if<Done>(&frame)) {
        require_plain(done->fields);
        const bool is_bare = done->fields.empty() && done->body.bytes.empty();
        const bool ends_a_stream = done->status == 0 && is_bare && !done->body.is_in_descriptor;
        require(is_status(done->status) || ends_a_stream, "done has a status, or nothing at all");
    }
}

/// A simple model of the gate, to compare with the conversation that is tested.
class Gate {
public:
    bool hear(const WorkerFrame& frame) {
        require_within_bounds(frame);
        const bool was_ready = conversation_.is_ready();
        const Breach breach = conversation_.heard(frame);
        if (breach != Breach::none) {
            require(conversation_.heard(Log{}) == breach, "a breach is final");
            return false;
        }
        require(!was_ready || conversation_.is_ready(), "ready stays ready");
        remember(frame);
        require(conversation_.jobs_aboard() == aboard_.size(), "jobs are aboard until they end");
        if (const Log* const log = std::get_if<Log>(&frame)) do_as(log->text);
        return true;
    }

private:
    enum class Stream : std::uint8_t { none, open };

    void remember(const WorkerFrame& frame) {
        if (const auto* progress = std::get_if<Progress>(&frame)) aboard(progress->id);
        if (const auto* begin = std::get_if<Begin>(&frame)) {
            require(aboard(begin->id) == Stream::none, "an answer begins once");
            aboard(begin->id) = Stream::open;
        }
        if (const auto* chunk = std::get_if<Chunk>(&frame))
            require(aboard(chunk->id) == Stream::open, "a chunk belongs to what began");
        if (const auto* done = std::get_if<Done>(&frame)) {
            const bool is_open = aboard(done->id) == Stream::open;
            require(is_open == (done->status == 0), "an answer has one status");
            aboard_.erase(done->id);
        }
        if (const auto* failed = std::get_if<Failed>(&frame)) {
            aboard(failed->id);
            aboard_.erase(failed->id);
        }
        if (const auto* pong = std::get_if<Pong>(&frame))
            require(pings_.erase(pong->id) == 1, "a pong was asked for");
        if (const auto* stacks = std::get_if<Stacks>(&frame))
            require(stacks_.erase(stacks->id) == 1, "stacks were asked for");
    }

    Stream& aboard(std::uint64_t id) {
        require(aboard_.contains(id), "a job that is heard of is aboard");
        return aboard_[id];
    }

    /// Does the steps that pairs of bytes name: what to do, and with which number.
    void do_as(std::string_view text) {
        for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
            const std::uint64_t number = static_cast<std::uint8_t>(text[i + 1]);
            if (text[i] == 'j' && conversation_.is_ready() && number > 0 &&
                ever_sent_.insert(number).second) {
                conversation_.sent(number);
                aboard_.emplace(number, Stream::none);
            }
            if (text[i] == 'p' && pings_.insert(number).second) conversation_.pinged(number);
            if (text[i] == 's' && stacks_.insert(number).second) conversation_.asked_stacks(number);
            if (text[i] == 'h') conversation_.paused(number);
            if (text[i] == 'r') conversation_.resumed(number);
        }
    }

    Conversation conversation_;
    std::map<std::uint64_t, Stream> aboard_;
    std::set<std::uint64_t> ever_sent_;
    std::set<std::uint64_t> pings_;
    std::set<std::uint64_t> stacks_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view raw{reinterpret_cast<const char*>(data), size};
    fuzz::require_frames<WorkerFrame>(raw);
    Gate gate;
    Decoder<WorkerFrame> decoder;
    decoder.push(raw, [&](const WorkerFrame& frame) { return gate.hear(frame); });
    return 0;
}
