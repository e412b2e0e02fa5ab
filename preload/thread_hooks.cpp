// Threads begin with a signal stack while an iteration may be profiled by page faults.
#include <pthread.h>

#include "access/signal_stack.h"
#include "preload/real.h"
#include "runtime/runtime.h"

extern "C" __attribute__((visibility("default"))) int pthread_create(pthread_t* thread,
                                                                     const pthread_attr_t* attributes,
                                                                     void* (*run)(void*), void* argument) {
  if (!hearth::runtime::may_guard()) return hearth::real::pthread_create(thread, attributes, run, argument);
  return hearth::access::create_with_signal_stack(hearth::real::pthread_create, thread, attributes, run, argument);
}
