// A shared library of the driver, opened at run time, so that one binary serves machines with and
// without a GPU. It is never closed: NVIDIA's libraries start threads and do not like to be unloaded.
#pragma once

#include <expected>
#include <string>

namespace turnpike {

class Library {
public:
    /// An error is a sentence: it is not there, or what else the loader said.
    [[nodiscard]] static std::expected<Library, std::string> open(const char* name);

    /// Null if the library has no such symbol.
    template <class Function>
    [[nodiscard]] Function* find(const char* symbol) const {
        return reinterpret_cast<Function*>(address_of(symbol));
    }

    /// Like find(); a symbol that is not there is remembered in `missing`, the first one.
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
