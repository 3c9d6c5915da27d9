// A shared library of the driver, opened at run time, so that one binary serves machines with and
// without a GPU. It is never closed: NVIDIA's libraries start threads and do not support being
// unloaded.
#pragma once

#include <expected>
#include <string>

namespace turnpike {

class Library {
public:
    /// Opens the library. The error is a sentence that says why it can't be used.
    [[nodiscard]] static std::expected<Library, std::string> open(const char* name);

    /// Returns nullptr if the library has no such symbol.
    template <class Function>
    [[nodiscard]] Function* find(const char* symbol) const {
        return reinterpret_cast<Function*>(address_of(symbol));
    }

    /// Like find(). If the symbol is missing and `missing` is empty, puts its name into `missing`.
    template <class Function>
    void need(Function*& place, const char* symbol, std::string& missing) const {
        place = find<Function>(symbol);
        if (place == nullptr && missing.empty()) missing = symbol;
    }

private:
    explicit Library(void* handle) : handle_(handle) {}
    [[nodiscard]] void* address_of(const char* symbol) const;

    void* handle_;
};

}  // namespace turnpike
