// Plan: where every planned tensor of one iteration lies. A plain value, made from a profile (make_plan.h), proved by
// validate.h, written and read as JSON (json_writer.h, json_reader.h), followed by the runtime.
//
// Time is the place in the one sequence of births and deaths of the iteration, all threads and sizes together: the
// iteration spans places [0, period), each is one birth or one death, and the next iteration goes through the same
// places again. An entry is alive in [birth, death); with death <= birth it outlives the iteration and is alive in
// [birth, period) and [0, death), where the former iteration's tensor of the same entry holds the slot.
//
// A wrong plan costs memory, never correctness: the runtime takes a slot only when its former tenant is gone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/residency.h"
#include "profile/profile.h"
#include "tier/tier.h"

namespace hearth::plan {

constexpr std::uint32_t kSchemaVersion = 1;
constexpr std::uint32_t kHeap = 0xffffffffu;  // Entry::arena: left to the heap
constexpr std::uint64_t kAlignment = 64;      // of offsets: what PyTorch's CPU allocator promises
constexpr std::uint64_t kPage = 4096;         // arenas are whole pages

using tier::Tier;

// Where the pages of an arena are.
enum class Home : std::uint8_t {
  fast,
  slow,
  own,  // each tensor has whole pages to itself, which come with it and go with it (plan/residency.h: Of::entry)
};

// One allocation of the iteration's main thread, planned or not.
struct Entry {
  std::uint64_t bytes = 0;
  std::uint32_t op = profile::kOutside;  // op index within the iteration, or kOutside
  std::uint32_t nth = 0;                 // n-th allocation of that op, small ones counted too
  std::uint32_t arena = kHeap;           // index into Plan::arenas, or kHeap
  std::uint64_t offset = 0;              // within the arena; 0 on the heap
  std::uint32_t birth = 0, death = 0;    // see above; on the heap, death == birth also means "death unknown"
};

struct Arena {
  bool mixed = true;  // holds several classes; if not, the next two say which one
  profile::Lifetime lifetime = profile::Lifetime::activation;
  std::uint8_t frequency = 0;
  Home home = Home::fast;
  std::uint64_t bytes = 0;        // height, whole pages
  std::uint64_t lower_bound = 0;  // most bytes of its entries alive at once, in whole kAlignment each
  std::uint32_t tensors = 0;      // entries that lie in it
};

// What tells that an iteration is the planned one, as far as it has come: its allocations in order.
struct Signature {
  std::uint32_t allocations = 0;  // entries
  std::uint64_t digest = 0;       // fold_size over their bytes, in order, from 0

  bool operator==(const Signature&) const = default;
};

struct Costs {
  std::uint64_t lower_bound = 0;  // of all planned entries together: no packing needs less
  std::uint64_t separation = 0;   // bytes that one arena per class needs more than one common arena
  std::uint64_t grouping = 0;     // bytes that neighbouring offsets within a class need more than free packing
};

struct Plan {
  std::uint32_t schema_version = kSchemaVersion;
  Signature signature;
  std::uint64_t min_bytes = 0;  // smaller allocations are no entries
  std::uint32_t period = 0;     // places of the iteration
  bool elastic = false;         // entries' bytes are those of slots, which smaller tensors may take (elastic.h)
  std::vector<Arena> arenas;
  std::vector<Entry> entries;  // all allocations of the main thread of at least min_bytes, in order of birth
  Costs costs;
  Residency residency;
};

constexpr std::uint64_t aligned(std::uint64_t bytes) { return (bytes + (kAlignment - 1)) & ~(kAlignment - 1); }

constexpr std::uint64_t whole_pages(std::uint64_t bytes) { return (bytes + (kPage - 1)) & ~(kPage - 1); }

// One more allocation of `bytes`. Order counts: every step is a bijection of `digest`, whatever the size.
constexpr std::uint64_t fold_size(std::uint64_t digest, std::uint64_t bytes) {
  std::uint64_t mixed = (digest ^ bytes) + 0x9e3779b97f4a7c15u;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
  return mixed ^ (mixed >> 31);
}

constexpr Signature signature_of(std::span<const Entry> entries) {
  Signature signature;
  for (const Entry& entry : entries) {
    ++signature.allocations;
    signature.digest = fold_size(signature.digest, entry.bytes);
  }
  return signature;
}

}  // namespace hearth::plan
