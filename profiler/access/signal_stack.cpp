#include "access/signal_stack.h"

#include <signal.h>
#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "access/raw_signal.h"

namespace hearth::access {
namespace {

constexpr std::size_t kBytes = 256 * 1024;
constexpr std::size_t kForbidden = 4096;  // at its low end: too deep a handler faults, and goes over nothing

// What a new thread is to do, told at the high end of its stack, which nothing has used yet.
struct Start {
  void* (*run)(void*);
  void* argument;
};

char* map_stack() {
  const long mapped =
      raw(SYS_mmap, nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped < 0 && mapped > -4096) return nullptr;
  raw(SYS_mprotect, mapped, kForbidden, PROT_NONE);
  return reinterpret_cast<char*>(mapped);
}

stack_t stack_of(char* memory) {
  stack_t stack{};
  stack.ss_sp = memory + kForbidden;
  stack.ss_size = kBytes - kForbidden;
  return stack;
}

Start* start_in(char* memory) { return reinterpret_cast<Start*>(memory + kBytes) - 1; }

// When the thread ends. The program may have put a stack of its own in place of ours.
void give_back(void* memory) {
  stack_t now{};
  raw(SYS_sigaltstack, nullptr, &now);
  if (now.ss_sp == static_cast<char*>(memory) + kForbidden) {
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    raw(SYS_sigaltstack, &none, nullptr);
  }
  raw(SYS_munmap, memory, kBytes);
}

constinit std::atomic<std::int64_t> g_key{-1};

// Of the value whose destructor gives a thread's stack back; -1: there are no more of these. Made at the first call; of
// two threads that make one at a time the one that was later drops its own.
std::int64_t key() {
  std::int64_t known = g_key.load(std::memory_order_acquire);
  pthread_key_t made = 0;
  if (known >= 0 || pthread_key_create(&made, give_back) != 0) return known;
  if (g_key.compare_exchange_strong(known, made, std::memory_order_acq_rel)) return made;
  pthread_key_delete(made);
  return known;
}

bool set_own(char* memory) { return pthread_setspecific(static_cast<pthread_key_t>(key()), memory) == 0; }

bool install(char* memory) {
  const stack_t stack = stack_of(memory);
  if (!set_own(memory)) return false;
  if (raw(SYS_sigaltstack, &stack, nullptr) == 0) return true;
  set_own(nullptr);
  return false;
}

void* run_thread(void* memory) {
  auto* const stack = static_cast<char*>(memory);
  const Start start = *start_in(stack);
  if (!install(stack)) raw(SYS_munmap, stack, kBytes);
  return start.run(start.argument);
}

}  // namespace

bool take_signal_stack() {
  stack_t now{};
  if (raw(SYS_sigaltstack, nullptr, &now) != 0) return false;
  if ((now.ss_flags & SS_DISABLE) == 0) return true;
  // One that has been taken, and that the program has switched off, is not taken again.
  if (key() < 0 || pthread_getspecific(static_cast<pthread_key_t>(key())) != nullptr) return false;
  char* const memory = map_stack();
  if (memory == nullptr) return false;
  if (install(memory)) return true;
  raw(SYS_munmap, memory, kBytes);
  return false;
}

int create_with_signal_stack(CreateThread* create, pthread_t* thread, const pthread_attr_t* attributes,
                             void* (*run)(void*), void* argument) {
  char* const memory = key() >= 0 ? map_stack() : nullptr;
  if (memory == nullptr) return create(thread, attributes, run, argument);
  *start_in(memory) = {run, argument};
  const int error = create(thread, attributes, run_thread, memory);
  if (error != 0) raw(SYS_munmap, memory, kBytes);
  return error;
}

}  // namespace hearth::access
