#include "failure.h"

#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <typeinfo>

#include "text.h"
#include "turnpike/worker.h"

namespace turnpike::inside {

namespace {

using wire::FailWhy;

// In lower case, from the CUDA driver, its runtime and the frameworks above.
constexpr std::array<std::string_view, 14> poisons = {
    "illegal memory access",      "illegal address",       "device-side assert",
    "unspecified launch failure", "misaligned address",    "illegal instruction",
    "invalid program counter",    "invalid address space", "uncorrectable ecc",
    "hardware stack error",       "launch timed out",      "nvlink error",
    "cuda_error_launch_failed",   "contained error"};
constexpr std::array<std::string_view, 4> shortages = {
    "out of memory", "memoryallocation", "cublas_status_alloc_failed", "cudnn_status_alloc_failed"};
constexpr std::array<std::string_view, 3> speaks_of_cuda = {"cuda", "cublas", "cudnn"};

/// Of an exception that is none of ours.
FailWhy why_by_text(std::string text) {
    for (char& letter : text)
        if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    const auto has = [&](std::string_view part) { return text.find(part) != std::string::npos; };
    if (!std::ranges::any_of(speaks_of_cuda, has)) return FailWhy::exception;
    if (std::ranges::any_of(poisons, has)) return FailWhy::unhealthy;
    return std::ranges::any_of(shortages, has) ? FailWhy::out_of_memory : FailWhy::exception;
}

FailWhy why_of(const std::exception& error) {
    if (dynamic_cast<const BadInput*>(&error) != nullptr) return FailWhy::bad_input;
    if (dynamic_cast<const Unhealthy*>(&error) != nullptr) return FailWhy::unhealthy;
    if (dynamic_cast<const OutOfMemory*>(&error) != nullptr) return FailWhy::out_of_memory;
    if (dynamic_cast<const NonFinite*>(&error) != nullptr) return FailWhy::non_finite;
    if (dynamic_cast<const Cancelled*>(&error) != nullptr) return FailWhy::cancelled;
    return why_by_text(error.what());
}

}  // namespace

std::string demangled(const char* name) {
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> text(
        abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
    return status == 0 ? text.get() : name;
}

Failure failure_of(const std::exception_ptr& thrown) {
    try {
        std::rethrow_exception(thrown);
    } catch (const std::exception& error) {
        return {.why = why_of(error),
                .type = bounded(demangled(typeid(error).name()), wire::name_max),
                .message = bounded(error.what(), wire::message_max)};
    } catch (...) {
        const std::type_info* const type = abi::__cxa_current_exception_type();
        return {
            .type = bounded(type != nullptr ? demangled(type->name()) : "unknown", wire::name_max),
            .message = "an exception that is no std::exception"};
    }
}

}  // namespace turnpike::inside
