// Detector: where one iteration of the user's loop ends and the next begins, and which iterations are alike.
//
// Sources, best first: marks by the API; the first optimizer's step (its end closes the iteration); the period of the
// op-and-allocation sequence (loops without optimizer). Each closed iteration has a signature; a bounded cache counts
// how often each was seen. docs/iterations.md describes the decisions for every kind of loop.
//
// Thread-safety: none; fed by the one thread that runs the loop. Feeding costs a few nanoseconds, allocates nothing;
// all memory is reserved by init.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/ids.h"

namespace hearth::iteration {

enum class Source : std::uint8_t { none, period, optimizer, marks };

struct Signature {
  std::uint64_t ops = 0;    // rolling hash of outermost op ids: the shape of the computation
  std::uint64_t exact = 0;  // and of every allocation's size: the shape of its data
  std::uint32_t op_count = 0;
  std::uint32_t allocation_count = 0;
  bool operator==(const Signature&) const = default;
};

struct Closed {
  std::uint64_t number = 0;  // iterations closed before this one
  Source source = Source::none;
  Signature signature{};
  std::uint32_t times_seen = 0;    // of this exact signature so far, this one included
  std::uint32_t consecutive = 0;   // of them at the end, without another in between
};

class Detector {
 public:
  constexpr Detector() = default;
  bool init(std::uint32_t cached_signatures);  // bounded cache, least recently seen goes first

  // Each returns true when it closed an iteration, described by closed().
  bool op(NameId name, std::uint32_t depth);  // begin of an op; depth 0 = outermost
  bool allocation(std::size_t bytes);
  bool step_begin(std::uint64_t optimizer, NameId name);
  bool step_end(std::uint64_t optimizer, NameId name);
  bool mark_begin();
  bool mark_end();

  const Closed& closed() const;
  Source source() const;                    // what decides at present
  std::uint32_t signatures_cached() const;
  // The profile of an iteration that turned out to be part of a longer one is void; true until acknowledged.
  bool take_retraction();
  // Does the detector need op marks, or do steps and allocations suffice from here on?
  bool needs_ops() const;
};

}  // namespace hearth::iteration
