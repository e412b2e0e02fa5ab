// A registry with tensors alone on their pages, and a sink that remembers what it was told.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <vector>

#include "access/guard.h"
#include "access/raw_signal.h"

namespace hearth::access {

constexpr std::size_t kPage = 4096;

struct Seen {
  TensorSlot slot{};
  std::uint32_t page = 0;
  hearth_access access = HEARTH_ACCESS_UNKNOWN;
  bool operator==(const Seen&) const = default;
};

inline constexpr std::uint32_t kMaxSeen = 1u << 16;
inline Seen g_seen[kMaxSeen];
inline std::atomic<std::uint32_t> g_seen_count{0};

inline void remember(TensorSlot slot, std::uint32_t page, hearth_access access) {
  const std::uint32_t i = g_seen_count.fetch_add(1);
  if (i < kMaxSeen) g_seen[i] = {slot, page, access};
}

class GuardTest : public ::testing::Test {
 protected:
  struct Tensor {
    char* data;
    TensorSlot slot;
  };

  void SetUp() override {
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "ThreadSanitizer's own thread blocks SIGSEGV, and its run time does not stand faults";
#endif
    // AddressSanitizer has a handler of its own for crashes; these tests are about the program's.
    const KernelAction none;
    raw_sigaction(SIGSEGV, &none, nullptr);
    ASSERT_TRUE(registry_.init(1u << 16));
    g_seen_count = 0;
  }
  void TearDown() override { stop(); }

  Tensor make(std::size_t bytes) {
    void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(data, MAP_FAILED);
    return {static_cast<char*>(data), registry_.add({data, bytes, NameId{}, 0, 0, 0, true})};
  }
  bool watch_it(const Tensor& tensor) {
    hearth_watch how;
    std::uint32_t pages;
    return watch(tensor.slot, &how, &pages);
  }
  void free_it(const Tensor& tensor) {
    registry_.remove(tensor.data);
    forget(tensor.slot);
    registry_.release(tensor.slot);
  }
  std::vector<Seen> seen() { return {g_seen, g_seen + g_seen_count.load()}; }

  registry::Registry registry_;
};

// Runs `body` in a child; its wait status. The child ends with the status that `body` returns.
inline int status_of_child(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

inline void touch(const volatile char* byte) { static_cast<void>(*byte); }
inline void change(volatile char* byte) { *byte = 1; }

}  // namespace hearth::access
