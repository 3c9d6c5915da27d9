#include "telemetry/job_record.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "base/append.h"
#include "base/json_text.h"
#include "base/utc.h"

namespace turnpike {
namespace {

/// Appends `thousandths` / 1000 without trailing zeros: 1500 → 1.5
void append_thousandths(std::string& out, std::uint64_t thousandths) {
    append_number(out, thousandths / 1000);
    std::uint64_t rest = thousandths % 1000;
    std::array<char, 4> fraction = {'.'};
    std::size_t size = 1;
    for (std::uint64_t unit = 100; rest > 0; rest %= unit, unit /= 10)
        fraction[size++] = static_cast<char>('0' + rest / unit);
    if (size > 1) out.append(fraction.data(), size);
}

std::uint64_t microseconds(Duration duration) {
    return static_cast<std::uint64_t>(std::max(duration, Duration::zero()) / 1us);
}

// ── for programs ─────────────────────────────────────────────────────────────────────────────────

void append_member(std::string& out, std::string_view key, std::string_view value) {
    out += key;
    append_json_string(out, value);
}

void append_member(std::string& out, std::string_view key, std::uint64_t value) {
    append_all(out, key, Digits(value).view());
}

void append_milliseconds(std::string& out, std::string_view key, Duration value) {
    out += key;
    append_thousandths(out, microseconds(value));
}

void append_lane(std::string& out, LaneId lane, std::string_view gpu) {
    out += ",\"lane\":";
    if (lane.is_none())
        out += "null";
    else
        append_number(out, lane.value);
    out += ",\"gpu\":";
    if (gpu.empty())
        out += "null";
    else
        append_json_string(out, gpu);
}

void append_time(std::string& out, std::string_view key, std::int64_t unix_ns) {
    out += key;
    append_utc(out, unix_ns);
    out += '"';
}

// ── for people ───────────────────────────────────────────────────────────────────────────────────

constexpr std::size_t id_width = 13;
constexpr std::size_t lane_width = 2;
constexpr std::size_t request_width = 24;

/// Pads the text since `start` with blanks to `width`. Wider text pushes the rest of its line to
/// the right.
void pad(std::string& out, std::size_t start, std::size_t width) {
    if (const std::size_t used = out.size() - start; used < width) out.append(width - used, ' ');
}

/// Appends text that a client chose. Replaces all but printable ASCII: escape sequences could
/// control the terminal, and other characters may have an unusual width.
void append_printable(std::string& out, std::string_view text) {
    for (const char c : text) out += c >= 0x20 && c < 0x7F ? c : '?';
}

void append_words(std::string& out, std::string_view name) {
    for (const char c : name) out += c == '_' ? ' ' : c;
}

/// Appends "3 ms", "1.2 s" or "4 min 5 s": two or three digits are enough for people.
void append_span(std::string& out, Duration duration) {
    const std::uint64_t us = microseconds(duration);
    if (us < 10'000) {
        append_thousandths(out, us / 100 * 100);
        out += " ms";
    } else if (us < 1'000'000) {
        append_number(out, us / 1000);
        out += " ms";
    } else if (us < 60'000'000) {
        append_thousandths(out, us / 100'000 * 100);
        out += " s";
    } else {
        append_number(out, us / 60'000'000);
        out += " min ";
        append_number(out, us / 1'000'000 % 60);
        out += " s";
    }
}

void append_head(std::string& out, std::int64_t unix_ns, std::string_view id) {
    append_time_of_day(out, unix_ns);
    out += "  ";
    const std::size_t start = out.size();
    append_printable(out, id);
    pad(out, start, id_width);
    out += "  ";
}

void append_lane_column(std::string& out, LaneId lane) {
    const std::size_t start = out.size();
    if (lane.is_none()) {
        out += "no lane";
    } else {
        out += "lane ";
        append_number(out, lane.value);
    }
    pad(out, start, std::string_view("lane ").size() + lane_width);
    out += "  ";
}

void append_request(std::string& out, const JobRecord& record) {
    const std::size_t start = out.size();
    append_printable(out, record.method.view());
    out += ' ';
    append_printable(out, record.path.view());
    pad(out, start, request_width);
    out += "  ";
    if (record.status > 0)
        append_number(out, static_cast<std::uint64_t>(record.status));
    else
        out += "  -";
}

void append_timing(std::string& out, const JobRecord& record) {
    out += "  queued ";
    append_span(out, record.queue);
    if (record.attempts > 0) {
        out += ", ran ";
        append_span(out, record.run);
    }
    if (record.attempts > 1) {
        out += ", attempt ";
        append_number(out, record.attempts);
    }
}

/// True if the problem has the same name as the reason, as "worker-died" and "worker_died".
bool is_named_like(std::string_view problem, EndReason reason) {
    const auto is_same = [](char a, char b) { return a == b || (a == '-' && b == '_'); };
    return std::ranges::equal(problem, name_of(reason), is_same);
}

/// The parts of the text about a failure, and what comes between them.
using FailureText = std::array<std::string_view, 6>;

std::string_view intro_of(WithheldWords::Are words) {
    switch (words) {
        case WithheldWords::Are::none: return "";
        case WithheldWords::Are::message: return "not shown to its client: ";
        case WithheldWords::Are::last_output: return "its last output: ";
    }
    return "";
}

FailureText text_of(const JobFailure& failure, std::string_view problem, Withheld words) {
    const std::string_view detail = failure.detail.view();
    const WithheldWords& withheld = failure.withheld;
    FailureText text{problem, problem.empty() || detail.empty() ? "" : ": ", detail};
    if (words == Withheld::hidden || withheld.are == WithheldWords::Are::none) return text;
    text[3] = problem.empty() && detail.empty() ? "" : "; ";
    text[4] = intro_of(withheld.are);
    text[5] = withheld.text.view();
    return text;
}

bool is_empty(const FailureText& text) {
    return std::ranges::all_of(text, [](std::string_view part) { return part.empty(); });
}

/// Appends the failure to a line for people. The line names the reason already.
void append_failure(std::string& out, const JobRecord& record) {
    const std::string_view problem = record.failure.problem.view();
    const bool is_repeated = is_named_like(problem, record.reason);
    const FailureText text =
        text_of(record.failure, is_repeated ? std::string_view() : problem, Withheld::shown);
    if (is_empty(text)) return;
    out += " (";
    for (const std::string_view part : text) append_printable(out, part);
    out += ')';
}

}  // namespace

void append_json_members(std::string& out, const JobRecord& record, Withheld words) {
    append_member(out, "\"id\":", record.id.view());
    append_member(out, ",\"pool\":", record.pool.view());
    append_lane(out, record.lane, record.gpu.view());
    append_time(out, ",\"arrived\":\"", record.arrived_unix_ns);
    append_milliseconds(out, ",\"queue_ms\":", record.queue);
    append_milliseconds(out, ",\"run_ms\":", record.run);
    append_member(out, ",\"attempts\":", std::uint64_t{record.attempts});
    if (record.status > 0)
        append_member(out, ",\"status\":", static_cast<std::uint64_t>(record.status));
    else
        out += ",\"status\":null";
    append_member(out, ",\"bytes_in\":", record.bytes_in.count);
    append_member(out, ",\"bytes_out\":", record.bytes_out.count);
    append_member(out, ",\"client\":", record.client.view());
    if (!record.key.empty()) append_member(out, ",\"key\":", record.key.view());
    append_member(out, ",\"method\":", record.method.view());
    append_member(out, ",\"path\":", record.path.view());
    append_all(out, ",\"outcome\":\"", name_of(record.outcome), "\",\"reason\":\"",
               name_of(record.reason), "\"");
    if (record.is_slow) out += ",\"slow\":true";
    const FailureText text = text_of(record.failure, record.failure.problem.view(), words);
    if (is_empty(text)) return;
    out += ",\"detail\":";
    append_json_string(out, text);
}

void append_json_line(std::string& out, const JobRecord& record) {
    out += '{';
    append_json_members(out, record, Withheld::shown);
    out += "}\n";
}

void append_json_line(std::string& out, const JobStart& start) {
    append_member(out, "{\"id\":", start.id.view());
    out += ",\"event\":\"started\"";
    append_member(out, ",\"pool\":", start.pool.view());
    append_lane(out, start.lane, start.gpu.view());
    append_member(out, ",\"attempt\":", std::uint64_t{start.attempt});
    append_time(out, ",\"at\":\"", start.at_unix_ns);
    out += "}\n";
}

void append_readable_line(std::string& out, const JobRecord& record, Duration utc_offset) {
    const Duration end =
        Duration{record.arrived_unix_ns} + record.upload + record.queue + record.run;
    append_head(out, (end + utc_offset).count(), record.id.view());
    append_lane_column(out, record.lane);
    append_request(out, record);
    append_timing(out, record);
    if (record.outcome != Outcome::finished) {
        out += "  ";
        append_words(out, name_of(record.outcome));
        out += ": ";
        append_words(out, name_of(record.reason));
        append_failure(out, record);
    }
    out += '\n';
}

void append_readable_line(std::string& out, const JobStart& start, Duration utc_offset) {
    append_head(out, (Duration{start.at_unix_ns} + utc_offset).count(), start.id.view());
    append_lane_column(out, start.lane);
    out += "started on ";
    if (start.gpu.empty()) {
        out += "lane ";
        append_number(out, start.lane.value);
    } else {
        out += "GPU ";
        append_printable(out, start.gpu.view());
    }
    if (start.attempt > 1) {
        out += ", attempt ";
        append_number(out, start.attempt);
    }
    out += '\n';
}

}  // namespace turnpike
