// What the tests of the contract of tier::Backend share: memory with contents, and each backend that can be had here.
// The numa backend needs two nodes; where there is one its tests are not there, unless HEARTH_TEST_NUMA=1 demands them
// (in the guest that scripts/vm boots).
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "platform/os_memory.h"
#include "tier/emulated_backend.h"
#include "tier/numa_backend.h"
#include "tier/single_backend.h"

namespace hearth::tier {

constexpr std::uint64_t kPage = Pages::kPage;

// The nodes with memory, as the kernel lists them: "0-1,4".
inline os::NodeMask nodes_with_memory() {
  os::NodeMask mask;
  std::ifstream file("/sys/devices/system/node/has_memory");
  std::string text;
  std::getline(file, text);
  for (std::size_t at = 0; at < text.size();) {
    std::size_t used = 0;
    const unsigned first = static_cast<unsigned>(std::stoul(text.substr(at), &used));
    unsigned last = first;
    at += used;
    if (at < text.size() && text[at] == '-') {
      last = static_cast<unsigned>(std::stoul(text.substr(at + 1), &used));
      at += used + 1;
    }
    for (unsigned node = first; node <= last; ++node) mask.set(node);
    ++at;  // the comma
  }
  return mask;
}

inline Machine quick_machine() {
  Machine machine;
  machine.fast.write = 8e9;
  machine.move_to_fast = 4e9;
  machine.move_to_slow = 2e9;
  return machine;
}

struct Memory {
  explicit Memory(std::uint64_t bytes_) : bytes(bytes_), base(os::reserve(bytes_, std::size_t{2} << 20)) {
    os::commit(base, bytes);
  }
  ~Memory() { os::unmap(base, bytes); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  unsigned char* data() const { return static_cast<unsigned char*>(base); }
  Extent pages(std::uint64_t first, std::uint64_t count) const { return {data() + first * kPage, count * kPage}; }
  Extent all() const { return {base, bytes}; }
  static unsigned char pattern(std::uint64_t i) { return static_cast<unsigned char>(i * 131 + i / kPage); }
  void fill() const {
    for (std::uint64_t i = 0; i < bytes; ++i) data()[i] = pattern(i);
  }
  bool intact() const { return intact(0, bytes); }
  bool intact(std::uint64_t from, std::uint64_t to) const {
    for (std::uint64_t i = from; i < to; ++i) {
      if (data()[i] != pattern(i)) return false;
    }
    return true;
  }
  bool zero(std::uint64_t from, std::uint64_t to) const {
    return std::all_of(data() + from, data() + to, [](unsigned char byte) { return byte == 0; });
  }

  std::uint64_t bytes;
  void* base;
};

inline bool numa_demanded() { return std::getenv("HEARTH_TEST_NUMA") != nullptr; }

inline std::vector<std::string> numa_here() {
  if (!numa_demanded() && nodes_with_memory().count() < 2) return {};
  return {"numa"};
}

inline std::vector<std::string> all_here() {
  std::vector<std::string> backends{"single", "emulated"};
  for (const std::string& name : numa_here()) backends.push_back(name);
  return backends;
}

class BackendTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const std::string name = GetParam();
    if (name == "single") {
      backend = &single;
    } else if (name == "emulated") {
      ASSERT_TRUE(emulated.init(quick_machine()));
      backend = &emulated;
    } else {
      const os::NodeMask nodes = nodes_with_memory();
      ASSERT_GE(nodes.count(), 2u) << "HEARTH_TEST_NUMA asks for two nodes";
      os::NodeMask fast;
      os::NodeMask slow;
      fast.set(nodes.next(0));
      slow.set(nodes.next(nodes.next(0) + 1));
      numa.init(fast, slow);
      backend = &numa;
    }
  }

  bool real() const { return backend == &numa; }
  std::vector<Tier> locate(Extent pages) const {
    std::vector<Tier> tiers(pages.bytes / kPage);
    EXPECT_EQ(backend->locate(pages.address, tiers.size(), tiers.data()), 0);
    return tiers;
  }
  std::size_t count_on(Extent pages, Tier tier) const {
    const std::vector<Tier> tiers = locate(pages);
    return static_cast<std::size_t>(std::count(tiers.begin(), tiers.end(), tier));
  }

  SingleBackend single;
  EmulatedBackend emulated;
  NumaBackend numa;
  Backend* backend = nullptr;
};

}  // namespace hearth::tier
