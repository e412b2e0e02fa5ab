// Profile: what one iteration did to its tensors. A plain value, built from the events of a trace (build.h),
// read by the planner, the simulator and the report. Nothing in here knows PyTorch, threads or pages.
//
// Time is the op index within the iteration: op i of `ops`, outermost and nested ones alike, in order of their begin.
// All op indices are < ops.size(); kBefore / kAfter stand for "alive when the iteration began / still alive at its
// end". What happens between ops is placed by its position: the number of outermost ops that had begun by then.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "hearth/trace.h"

namespace hearth::profile {

constexpr std::uint32_t kBefore = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint32_t kAfter = std::numeric_limits<std::uint32_t>::max() - 1;
constexpr std::uint32_t kOutside = std::numeric_limits<std::uint32_t>::max() - 2;  // outside any op
constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max() - 3;

// at::RecordScope values that mean something here; they are the same in every PyTorch since 1.8.
constexpr std::uint8_t kScopeFunction = 0;
constexpr std::uint8_t kScopeBackward = 1;
constexpr std::uint8_t kScopeUser = 7;

enum class Lifetime : std::uint8_t { short_lived, activation, persistent };

struct Op {
  std::uint32_t name = 0;        // index into Profile::names
  std::uint32_t module = 0;      // innermost module at its begin, a backward op's is its forward op's; 0 = unknown
  std::uint32_t parent = kNone;  // op that it ran inside
  std::uint32_t outer = kNone;   // outermost op around it (itself, if none); user scopes are looked through: kNone
  std::uint16_t depth = 0;
  std::uint16_t thread = 0;
  std::uint8_t scope = 0;      // at::RecordScope
  std::int64_t sequence = -1;  // autograd sequence number, joins backward to forward
  std::uint64_t begin_ns = 0;  // since the iteration's begin
  std::uint64_t end_ns = 0;
  std::uint64_t self_ns = 0;  // without nested ops
};

// Access::flags
constexpr std::uint8_t kPartialView = 1;  // every operand of the pair spanned less than its storage
constexpr std::uint8_t kOtherThread = 2;  // a fault came from a thread that had no op of its own (OpenMP worker)
constexpr std::uint8_t kCovered = 4;      // announced here, but it is a nested op that touches: not a touch of its own
constexpr std::uint8_t kHandedOn = 8;     // touched here too, in part or in full; a nested op announces it as well

// One tensor's use by one op; several operands or faults of the same pair are merged.
struct Access {
  std::uint32_t op = kOutside;
  hearth_access kind = HEARTH_ACCESS_UNKNOWN;     // union of what was seen
  hearth_access operand = HEARTH_ACCESS_UNKNOWN;  // as the dispatcher announced it; UNKNOWN = not announced
  hearth_access fault = HEARTH_ACCESS_UNKNOWN;    // as faults showed it; UNKNOWN = no fault
  std::uint8_t flags = 0;
  std::uint64_t bytes = 0;     // operand bytes (largest view), or 0 if only seen by faults
  std::uint32_t operands = 0;  // announcements merged into this pair
  std::uint32_t faults = 0;
  std::uint32_t pages = 0;    // distinct sampled pages touched (pages mode)
  std::uint32_t samples = 0;  // perf_event samples
};

struct Tensor {
  std::uint32_t serial = 0;
  std::uint64_t bytes = 0;
  std::uint32_t born = kBefore;                        // op index, kBefore or kOutside
  std::uint32_t dies = kAfter;                         // op index, kAfter or kOutside
  std::uint32_t born_position = 0, dies_position = 0;  // outermost ops begun by then
  std::uint32_t born_order = 0;                        // place in the one sequence of births and deaths; 0 = before
  std::uint32_t dies_order = kAfter;
  std::uint64_t born_ns = 0, dies_ns = 0;  // since the iteration's begin; dies_ns = its end when still alive
  std::uint32_t nth = 0;                   // n-th allocation of its op
  std::uint16_t born_thread = 0;           // that allocated it, as hearth_event::thread: 0 runs the iterations
  std::uint32_t producer = 0;              // name of the op that allocated it
  std::uint32_t module = 0;                // name of the module open then
  bool persistent = false;                 // alive across an iteration boundary
  bool own_pages = false;
  bool scratch = false;  // allocated and freed inside one innermost op
  hearth_watch watch = HEARTH_WATCH_NONE;
  std::uint32_t sampled_pages = 0;
  Lifetime lifetime = Lifetime::short_lived;
  std::uint8_t frequency = 0;    // bucket, see classes.h
  std::vector<Access> accesses;  // by op; kOutside last
};

struct Thresholds {  // see classes.h for their meaning and the knobs that set them
  std::uint32_t short_ops = 64;
  double frequency_base = 2.0;
  std::uint32_t frequency_buckets = 4;
};

struct Point {
  std::uint64_t time_ns;
  std::uint64_t live_bytes;
};

// What did not fit together in the events. All zero for a complete trace of a well-behaved program, except that the
// scope in which the iteration was closed (an optimizer's step) ends without having begun in it.
struct Anomalies {
  std::uint64_t dropped_events = 0;    // the log was full: the profile is incomplete
  std::uint64_t unmatched_frees = 0;   // free of a tensor that was never announced, or twice
  std::uint64_t unmatched_ends = 0;    // op or module end without begin
  std::uint64_t unclosed_ops = 0;      // begin without end
  std::uint64_t unknown_tensors = 0;   // operand, fault or guard of a tensor that was never announced
  std::uint64_t duplicate_births = 0;  // a serial announced twice
};

struct Profile {
  std::vector<std::string> names;  // names[0] = ""
  std::vector<Op> ops;
  std::vector<std::uint32_t> outermost;  // op indices of the main thread's outermost ops: positions are indices into it
  std::vector<std::uint32_t> open;       // ops of the main thread that the iteration ends in, outermost first
  std::vector<std::uint32_t> turns;      // positions at which a backward pass begins
  std::vector<Tensor> tensors;           // in order of birth
  std::vector<Point> timeline;           // live bytes after each change, thinned to at most 1000 points, peaks kept
  std::uint64_t duration_ns = 0;
  std::uint64_t peak_bytes = 0;
  std::uint32_t peak_op = kOutside;
  std::uint32_t threads = 0;           // that ran ops or touched tensors
  std::uint64_t attributed_bytes = 0;  // allocated in the iteration inside some op
  std::uint64_t outside_bytes = 0;     // and outside any
  Anomalies anomalies;
  Thresholds thresholds;
  bool complete() const { return anomalies.dropped_events == 0; }
};

}  // namespace hearth::profile
