// An exception of the model as a frame.
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

/// CUDA's own errors are told by their text: poisoned contexts are unhealthy, some are out of memory.
Failure failure_of(const std::exception_ptr& thrown);

/// std::runtime_error, not St13runtime_error
std::string demangled(const char* name);

}  // namespace turnpike::inside
