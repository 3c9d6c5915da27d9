#include "telemetry/lane_log.h"

#include <algorithm>

#include "base/plain_text.h"
#include "base/utc.h"

namespace turnpike {
namespace {

bool is_end(char c) { return c == '\n' || c == '\r'; }

bool is_blank(std::string_view text) {
    return text.find_first_not_of(" \t") == std::string_view::npos;
}

/// Returns the size of the UTF-8 character that starts with this byte. 0 if no character of several
/// bytes starts with it.
std::size_t promised_size(unsigned char first) {
    if (first >= 0xF0) return 4;
    if (first >= 0xE0) return 3;
    return first >= 0xC0 ? 2 : 0;
}

/// Returns how many bytes can be taken from the front without splitting a character.
std::size_t whole_characters(std::string_view text) {
    constexpr std::size_t back_max = 3;
    for (std::size_t back = 1; back <= std::min(back_max, text.size()); ++back) {
        const auto byte = static_cast<unsigned char>(text[text.size() - back]);
        if (const std::size_t promised = promised_size(byte); promised > 0)
            return promised > back ? text.size() - back : text.size();
        if (byte < 0x80) break;
    }
    return text.size();
}

}  // namespace

std::string_view name_of(LogStream stream) {
    switch (stream) {
        case LogStream::out: return "out";
        case LogStream::err: return "err";
        case LogStream::turnpike: return "turnpike";
        case LogStream::stacks: return "stacks";
    }
    return "";
}

// ── taking bytes ─────────────────────────────────────────────────────────────────────────────────

void LaneLog::take(LogSource& source, std::string_view bytes, std::int64_t unix_ns) {
    while (!bytes.empty()) {
        if (source.is_returned && !is_end(bytes[0])) {
            source.unfinished.clear();  // the new text overwrites it
            source.is_returned = false;
        }
        const auto size =
            static_cast<std::size_t>(std::ranges::find_if(bytes, is_end) - bytes.begin());
        append(source, bytes.substr(0, size), unix_ns);
        if (size == bytes.size()) break;
        source.is_returned = bytes[size] == '\r';
        if (!source.is_returned) {
            finish(source, source.unfinished, Wholeness::whole, unix_ns);
            source.unfinished.clear();
        }
        bytes.remove_prefix(size + 1);
    }
    unfinished_ = source.unfinished;
    unfinished_writer_ = source.writer;
}

void LaneLog::append(LogSource& source, std::string_view part, std::int64_t unix_ns) {
    std::string& raw = source.unfinished;
    while (raw.size() + part.size() > line_max) {
        const std::size_t room = line_max - raw.size();
        raw.append(part.substr(0, room));
        part.remove_prefix(room);
        const std::size_t whole = whole_characters(raw);
        finish(source, std::string_view(raw).substr(0, whole), Wholeness::cut, unix_ns);
        raw.erase(0, whole);
    }
    raw.append(part);
}

void LaneLog::end(LogSource& source, std::int64_t unix_ns) {
    if (!is_blank(source.unfinished)) finish(source, source.unfinished, Wholeness::whole, unix_ns);
    source.unfinished.clear();
    source.is_returned = false;
    unfinished_.clear();
}

void LaneLog::remark(std::string_view text, std::int64_t unix_ns, LogStream stream,
                     std::uint64_t writer) {
    LogSource source{stream, writer};
    const std::string shown = std::exchange(unfinished_, {});  // a worker's line: put back below
    const std::uint64_t shown_of = unfinished_writer_;
    take(source, text, unix_ns);
    end(source, unix_ns);
    unfinished_ = shown;
    unfinished_writer_ = shown_of;
}

// ── finishing lines ──────────────────────────────────────────────────────────────────────────────

void LaneLog::finish(const LogSource& source, std::string_view raw, Wholeness wholeness,
                     std::int64_t unix_ns) {
    const LogStream stream = source.stream;
    LogLine line{.number = ++newest_,
                 .unix_ns = unix_ns,
                 .stream = stream,
                 .writer = source.writer,
                 .text = {}};
    line.text.reserve(raw.size() + cut_mark.size());
    append_plain(line.text, raw);
    if (wholeness == Wholeness::cut) line.text += cut_mark;
    const bool is_of_worker = stream == LogStream::out || stream == LogStream::err;
    if (is_of_worker && !is_blank(line.text)) last_line_ = line.text;
    if (write_) give_out(line);
    keep(std::move(line));
}

void LaneLog::give_out(const LogLine& line) {
    if (stamp_.empty() || line.unix_ns != stamp_ns_) {
        stamp_.clear();
        append_utc(stamp_, line.unix_ns);
        stamp_ns_ = line.unix_ns;
    }
    rendered_.assign(stamp_).append(" ").append(name_of(line.stream));
    rendered_.append(" ").append(line.text).append("\n");
    write_(rendered_);
}

void LaneLog::keep(LogLine line) {
    bytes_kept_ += line.text.size();
    kept_.push_back(std::move(line));
    while (kept_.size() > lines_kept_max || bytes_kept_ > bytes_kept_max) {
        bytes_kept_ -= kept_.front().text.size();
        kept_.pop_front();
    }
}

std::vector<const LogLine*> LaneLog::lines(std::uint64_t after, std::size_t max) const {
    const std::uint64_t fresh = newest_ - std::min(after, newest_);
    const std::size_t count = std::min({max, kept_.size(), static_cast<std::size_t>(fresh)});
    std::vector<const LogLine*> found;
    found.reserve(count);
    for (std::size_t i = kept_.size() - count; i < kept_.size(); ++i) found.push_back(&kept_[i]);
    return found;
}

std::string LaneLog::last_line() const {
    const std::string text = unfinished_of(unfinished_writer_);
    return text.empty() ? last_line_ : text;
}

std::string LaneLog::unfinished_of(std::uint64_t writer) const {
    std::string text;
    if (writer == unfinished_writer_) append_plain(text, unfinished_);
    return is_blank(text) ? "" : text;
}

void LaneLog::forget_last_line() {
    last_line_.clear();
    unfinished_.clear();
}

}  // namespace turnpike
