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

/// Recognises CUDA's own errors by their text: a poisoned context is `unhealthy`, a lack
/// of memory is `out_of_memory`, all others are `exception`.
Failure failure_of(const std::exception_ptr& thrown);

/// Returns the readable name of a type: std::runtime_error, not St13runtime_error.
std::string demangled(const char* name);

}  // namespace turnpike::inside
