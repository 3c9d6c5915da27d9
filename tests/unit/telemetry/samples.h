// Sample records for the tests of telemetry, and the lines made of them.
#pragma once

#include <cstdint>
#include <string>

#include "telemetry/job_record.h"

namespace turnpike {

inline constexpr std::int64_t ten_o_clock = 1'794'736'800'123'456'789;  // 2026-11-15, UTC

inline JobRecord sample_job() {
    return {.job = JobId{7},
            .id = Text<24>{"k3f9"},
            .pool = Text<64>{"default"},
            .lane = LaneId{0},
            .arrived_unix_ns = ten_o_clock,
            .queue = 100us,
            .run = 12'300us,
            .attempts = 1,
            .status = 200,
            .bytes_in = Bytes{5},
            .bytes_out = Bytes{7},
            .client = Text<64>{"127.0.0.1:5000"},
            .method = Text<8>{"POST"},
            .path = Text<128>{"/predict"}};
}

/// Returns a record with its own id: "00000", "00001", … so that all lines have the same length.
inline JobRecord numbered_job(std::uint64_t number) {
    JobRecord record = sample_job();
    record.job = JobId{number};
    record.id.assign(std::to_string(100'000 + number).substr(1));
    return record;
}

inline std::string json_line(const auto& record) {
    std::string line;
    append_json_line(line, record);
    return line;
}

inline std::string readable_line(const auto& record) {
    std::string line;
    append_readable_line(line, record);
    return line;
}

}  // namespace turnpike
