// Account: why a plan's tensors lie where they do: what fast memory saves there, what it takes, and when they have it.
// Part of a Residency; made by a policy from what the simulator sees, told by reports. Nothing is decided by it.
//
// All of it is foreseen, of one iteration in steady state; times are the simulator's. Ops count as in residency.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "profile/profile.h"

namespace hearth::plan {

// Why something lies where it lies.
enum class Reason : std::uint8_t {
  stays,      // fast all its life
  moves,      // fast for some of its uses
  partly,     // fast in part: there was no room for the rest
  no_gain,    // slow: its ops take no longer for that
  seldom,     // slow: one fetch and one eviction take longer than it would save
  no_room,    // slow: others have the room while it is used
  no_time,    // slow: there is room while it is used, but not before and after, nor time to move it then
  unplanned,  // no plan can give it a place; the heap's
};
constexpr std::uint32_t kReasons = 8;

// "stays", ...; and as a sentence of few words.
const char* reason_name(Reason reason);
const char* reason_text(Reason reason);

// Ops [from, to).
struct Window {
  std::uint32_t from = 0, to = 0;

  bool operator==(const Window&) const = default;
};

struct Stake {
  std::uint64_t bytes = 0;         // whole pages
  std::uint64_t gain_ns = 0;       // by which the step is shorter than were this slow all the time, the rest as it is
  std::uint64_t possible_ns = 0;   // by which it would be shorter still, were it fast all the time
  std::uint64_t moved_bytes = 0;   // both ways
  std::uint64_t lane_ns = 0;       // that the copy lanes take for it
  std::uint64_t fast_average = 0;  // bytes, over the time of the step: what it takes of the fast tier
  std::uint64_t fast_most = 0;     // bytes at once
  std::vector<Window> windows;     // in which at least half of fast_most is fast

  bool operator==(const Stake&) const = default;
};

// A name as an account holds it: of at most so many bytes, without what JSON would have to escape.
constexpr std::size_t kLongestName = 200;
std::string plain_name(std::string_view name);

// One tensor; where two iterations' share a place (make_plan.h), both.
struct TensorAccount {
  Stake stake;
  std::string op, module;    // that made it
  std::uint32_t serial = 0;  // in the profile
  profile::Lifetime lifetime = profile::Lifetime::activation;
  std::uint8_t frequency = 0;
  Reason reason = Reason::stays;
  std::uint32_t uses = 0, fast_uses = 0;           // by ops; and of them those that find half of it fast, or more
  std::uint32_t first_stretch = 0, stretches = 0;  // of Residency::stretches; none where it shares an arena

  bool operator==(const TensorAccount&) const = default;
};

// All tensors of one lifetime and frequency.
struct ClassAccount {
  Stake stake;
  profile::Lifetime lifetime = profile::Lifetime::activation;
  std::uint8_t frequency = 0;
  std::uint32_t tensors = 0;
  std::array<std::uint64_t, kReasons> bytes_by_reason{};  // their sum is stake.bytes

  bool operator==(const ClassAccount&) const = default;
};

// Fast bytes at one moment: the pool, which is taken all the time, and beside it what lives of each lifetime.
enum FastKind : std::uint8_t { kPool, kShort, kActivation, kPersistent };
constexpr std::uint32_t kFastKinds = 4;
const char* fast_kind_name(std::uint32_t kind);

struct Moment {
  std::uint32_t op = 0;
  std::uint64_t ns = 0;  // since the iteration began
  std::array<std::uint64_t, kFastKinds> fast{};

  std::uint64_t total() const { return std::accumulate(fast.begin(), fast.end(), std::uint64_t{0}); }
  bool operator==(const Moment&) const = default;
};

struct Account {
  static constexpr std::size_t kLargest = 32;   // tensors told about, whatever they do
  static constexpr std::size_t kTensors = 256;  // with those that move, the largest of them
  static constexpr std::size_t kMoments = 64;

  std::vector<ClassAccount> classes;   // by lifetime, then frequency: together all that can be placed
  std::vector<TensorAccount> tensors;  // the largest first
  std::vector<Moment> timeline;        // of each 64th part of the step the moment with most fast bytes

  bool operator==(const Account&) const = default;
};

}  // namespace hearth::plan
