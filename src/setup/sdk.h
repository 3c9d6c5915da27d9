// The Python SDK that the binary carries, so that a model needs nothing but a Python: `up` writes it
// down where its workers find it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace turnpike {

/// A file of sdk/python.
struct SdkFile {
    std::string_view path;  // "turnpike/__init__.py"
    std::string_view text;
};

[[nodiscard]] std::span<const SdkFile> sdk_files();

/// Writes all of them, for nobody else to read; whatever was in that folder is gone. Something: why
/// it could not be done.
[[nodiscard]] std::optional<std::string> write_sdk(const std::string& folder);

/// Now and then, for those who clean up what nobody has touched for days.
void touch_sdk(const std::string& folder);

}  // namespace turnpike
