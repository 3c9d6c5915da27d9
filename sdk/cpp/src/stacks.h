// Shows the stack of another thread of this process while it runs. A signal makes the thread record
// its own stack.
#pragma once

#include <pthread.h>

#include <string>

namespace turnpike::inside {

/// Must be called once, before stack_of().
void prepare_stacks();

/// Returns one line per function call. It has names if the program was linked with -rdynamic.
std::string stack_of(pthread_t thread);

}  // namespace turnpike::inside
