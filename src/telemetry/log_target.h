// Where the job log goes and how it reads there.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "base/bytes.h"

namespace turnpike {

enum class LogFormat : std::uint8_t {
    json,      // one object a line, for programs
    readable,  // for people at a terminal
};

/// A file that is appended to. Before it would pass `size_max` it becomes PATH.1, PATH.1 becomes
/// PATH.2, and what would be beyond PATH.<keep> is removed. Nobody but the `readers` may read it.
struct LogFile {
    enum class Readers : std::uint8_t { owner_and_group, owner };

    std::string path;
    Bytes size_max{mebibyte.count * 64};
    std::uint32_t keep = 5;
    Readers readers = Readers::owner_and_group;

    static constexpr Bytes size_least{4096};  // holds the longest line
    static constexpr std::uint32_t keep_max = 100;
};

/// Somebody else's descriptor (stdout, stderr): never closed, its flags untouched.
struct LogDescriptor {
    int fd = 1;
    std::string name = "stdout";  // for messages
    std::string line_prefix;      // of each line
};

struct LogTarget {
    std::variant<LogFile, LogDescriptor> where;
    LogFormat format = LogFormat::json;
};

}  // namespace turnpike
