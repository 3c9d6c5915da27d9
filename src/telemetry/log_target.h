// Where the job log is written, and in which format.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "base/bytes.h"

namespace turnpike {

enum class LogFormat : std::uint8_t {
    json,      // one object per line, for programs
    readable,  // for people at a terminal
};

/// A file to which lines are appended. Before it grows beyond `size_max` it is renamed to PATH.1,
/// PATH.1 to PATH.2 and so on; PATH.<keep> is the oldest that is kept. Only the `readers` may read
/// it.
struct LogFile {
    enum class Readers : std::uint8_t { owner_and_group, owner };

    std::string path;
    Bytes size_max{mebibyte.count * 64};
    std::uint32_t keep = 5;
    Readers readers = Readers::owner_and_group;

    static constexpr Bytes size_least{8192};  // enough for the longest line
    static constexpr std::uint32_t keep_max = 100;
};

/// A descriptor that is not ours (stdout, stderr). We never close it and never change its flags.
struct LogDescriptor {
    int fd = 1;
    std::string name = "stdout";  // for messages
    std::string line_prefix;      // put before each line
};

struct LogTarget {
    std::variant<LogFile, LogDescriptor> where;
    LogFormat format = LogFormat::json;
};

}  // namespace turnpike
