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

// Parts of messages in lower case, from the CUDA driver, its runtime and the frameworks above them.
// sdk/python has the same lists. sdk/conformance/gpu_errors.json has the messages that they must
// classify.
constexpr auto gpu_words = std::to_array<std::string_view>(
    {"cuda", "cublas", "cudnn", "cufft", "nccl", "hip error", "hip out of memory", "gpu",
     "accelerator", "resource_exhausted"});
constexpr auto fatal_errors = std::to_array<std::string_view>({"illegal memory access",
                                                               "illegal address",
                                                               "illegaladdress",
                                                               "illegal_address",
                                                               "device-side assert",
                                                               "errorassert",
                                                               "error_assert",
                                                               "launch failure",
                                                               "launchfailure",
                                                               "launch_failed",
                                                               "launch timed out",
                                                               "misaligned address",
                                                               "illegal instruction",
                                                               "illegal_instruction",
                                                               "invalid program counter",
                                                               "invalid address space",
                                                               "uncorrectable ecc",
                                                               "hardware stack error",
                                                               "nvlink error",
                                                               "contained error",
                                                               "unrecoverable error",
                                                               "is lost"});
constexpr auto out_of_memory_errors = std::to_array<std::string_view>(
    {"out of memory", "out_of_memory", "memoryallocation", "alloc_failed"});

/// Classifies an exception that is not one of <turnpike/worker.h>.
FailWhy why_by_text(std::string text) {
    for (char& letter : text)
        if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    const auto has = [&](std::string_view part) { return text.find(part) != std::string::npos; };
    if (!std::ranges::any_of(gpu_words, has)) return FailWhy::exception;
    if (std::ranges::any_of(fatal_errors, has)) return FailWhy::unhealthy;
    return std::ranges::any_of(out_of_memory_errors, has) ? FailWhy::out_of_memory
                                                          : FailWhy::exception;
}

FailWhy why_of(const std::exception& error) {
    if (dynamic_cast<const BadInput*>(&error) != nullptr) return FailWhy::bad_input;
    if (dynamic_cast<const Unhealthy*>(&error) != nullptr) return FailWhy::unhealthy;
    if (dynamic_cast<const OutOfMemory*>(&error) != nullptr) return FailWhy::out_of_memory;
    if (dynamic_cast<const NonFinite*>(&error) != nullptr) return FailWhy::non_finite;
    if (dynamic_cast<const Cancelled*>(&error) != nullptr) return FailWhy::cancelled;
    return why_by_text(demangled(typeid(error).name()) + ": " + error.what());
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
            .message = "an exception that is not a std::exception"};
    }
}

}  // namespace turnpike::inside
