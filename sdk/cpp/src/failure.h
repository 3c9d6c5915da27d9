// Turns an exception of the model into the parts of a `failed` frame.
#pragma once

#include <cstdint>
#include <exception>
#include <string>

#include "wire/frame.h"

namespace turnpike::inside {

struct Failure {
    wire::FailWhy why = wire::FailWhy::exception;
    std::string type;
    std::string message;
};

enum class LaneKind : std::uint8_t { cpu, gpu };

/// Judges by the type of the exception, of those nested in it and, on a lane with a GPU, by what the
/// CUDA driver says about this process. On a CPU lane nothing is `out_of_memory`.
Failure failure_of(const std::exception_ptr& thrown, LaneKind lane);

/// Returns the readable name of a type: std::runtime_error, not St13runtime_error.
std::string demangled(const char* name);

}  // namespace turnpike::inside
