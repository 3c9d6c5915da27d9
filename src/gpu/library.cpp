#include "gpu/library.h"

#include <dlfcn.h>

#include <string_view>

#include <fmt/format.h>

namespace turnpike {
namespace {

/// Returns the loader's message without the file's name and the colon at its beginning, because our
/// message names the file already.
std::string_view shortened(std::string_view said, std::string_view name) {
    const std::size_t colon = said.find(": ");
    if (colon != std::string_view::npos && said.substr(0, colon).ends_with(name))
        said.remove_prefix(colon + 2);
    return said;
}

}  // namespace

std::expected<Library, std::string> Library::open(const char* name) {
    if (void* handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL)) return Library(handle);
    const char* error = ::dlerror();
    const std::string said(shortened(error != nullptr ? error : "the loader gave no reason", name));
    if (said.ends_with("No such file or directory"))
        return std::unexpected(
            fmt::format("there is no {} (it comes with the NVIDIA driver)", name));
    return std::unexpected(fmt::format("{} can't be used: {}", name, said));
}

void* Library::address_of(const char* symbol) const { return ::dlsym(handle_, symbol); }

}  // namespace turnpike
