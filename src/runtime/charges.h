// Charges: the open ops of one thread while a slow tier is emulated, and what each has to pay.
//
// An op pays for its own part alone: the time of the ops inside it is not its own, and what they announce as well it
// has only handed on. So linear() pays nothing for what addmm(), inside it, multiplies; the simulator reckons so too.
// Ops nested deeper than kDepth pay nothing. All zero it is ready for use, and most of its pages are never touched.
//
// No synchronization: a thread has its own. Allocates nothing.
#pragma once

#include <cstdint>

#include "tier/charge.h"

namespace hearth::runtime {

class Charges {
 public:
  static constexpr std::uint32_t kDepth = 24;
  // Of one op. More of them only lists have, which are handed on to an op for each.
  static constexpr std::uint32_t kOperands = 1024;

  // `moved_ns`: for how long moves have been under way until now.
  void begin(std::uint32_t depth, std::uint64_t now_ns, std::uint64_t moved_ns);
  // The op at this depth uses a storage.
  void operand(std::uint32_t depth, const void* storage, const tier::Traffic& traffic);
  // Scratch, that an op allocates and frees itself, is no operand.
  void allocated(std::uint32_t depth, const void* tensor);
  bool is_scratch(std::uint32_t depth, const void* tensor);  // asked once: it is freed
  void scratch(std::uint32_t depth, const tier::Traffic& traffic);

  // What the op has to pay for: the ops inside it took `inner_ns` of the time since it began. Began before the
  // emulation did: both are nothing.
  struct Bill {
    std::uint64_t begin_ns = 0, inner_ns = 0;
    std::uint64_t moved_ns = 0;  // as it was when it began
    tier::Traffic traffic;
  };
  Bill end(std::uint32_t depth) const;
  // And when it was over.
  void ended(std::uint32_t depth, std::uint64_t now_ns);

 private:
  static constexpr std::uint32_t kScratch = 8;
  static constexpr std::uint32_t kAnnounced = 4096;  // a power of two

  struct Open {
    std::uint64_t begin_ns;  // 0: not begun
    std::uint64_t inner_ns;
    std::uint64_t moved_ns;
    std::uint64_t number;  // of the thread's ops, in the order of their begins
    tier::Traffic scratch_traffic;
    std::uint32_t operands;
    std::uint32_t allocations;
    const void* scratch[kScratch];  // the latest tensors allocated in it
    const void* storage[kOperands];
    tier::Traffic traffic[kOperands];
  };
  // Which op announced a storage last.
  struct Announced {
    const void* storage;
    std::uint64_t number;
  };

  Announced& announced(const void* storage);
  static bool join(Open& open, const void* storage, const tier::Traffic& traffic);

  std::uint64_t ops_;
  Open open_[kDepth];
  Announced announced_[kAnnounced];  // by address; of two that fall together the later one stays
};

}  // namespace hearth::runtime
