// The Python SDK, which the binary carries so that a model needs only a Python. `up` writes its
// files to a folder where the workers find it.
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

/// Replaces the folder by one with all SDK files, readable for this user only. Returns an error
/// message if that fails.
[[nodiscard]] std::optional<std::string> write_sdk(const std::string& folder);

/// Writes those files anew that are missing or were replaced. Returns an error message if that
/// fails. Looks at each file, but opens none that is in order.
[[nodiscard]] std::optional<std::string> renew_sdk(const std::string& folder);

/// Renews the files' times. Must be called now and then, or a clean-up of old temporary files
/// removes them.
void touch_sdk(const std::string& folder);

}  // namespace turnpike
