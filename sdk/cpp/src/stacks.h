// The stack of another thread of this process, while it runs: a signal makes it tell its own.
#pragma once

#include <pthread.h>

#include <string>

namespace turnpike::inside {

/// Once, before any call of stack_of().
void prepare_stacks();

/// One line per call. Names are there if the program was linked with -rdynamic.
std::string stack_of(pthread_t thread);

}  // namespace turnpike::inside
