// Agreement: do page faults and dispatcher operands tell the same story about which op touches which tensor?
//
// Compared are (tensor, op) pairs of watched tensors. A pair is announced by the innermost op that lists the tensor as
// an operand, and faulted in the innermost op that was open when a page of it was touched. `linear` announces what is
// touched inside `addmm`, so: an announced pair is confirmed if a fault lies in its op or in one nested in it, a
// faulted pair if its op or one around it announced the tensor. Both are also compared per outermost op, where nesting
// plays no part. Precision: confirmed share of the faulted pairs; recall: confirmed share of the announced pairs.
//
// Some pairs only one side can see (an op's private scratch is no operand; a view op announces what it does not touch).
// These are counted under their reason, and left out of precision and recall unless `raw` is asked for.
// Pure function; O(n log n).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "profile/profile.h"

namespace hearth::profile {

// Why a pair is seen by one side only. Up to kLastFaultReason: faulted, not announced; after it: announced, no fault.
enum class Reason : std::uint8_t {
  scratch,               // allocated, touched and freed inside one outermost op (by design)
  never_announced,       // internal to a library: operand of no op that computes, in its whole life (by design)
  outside_any_op,        // touched by Python, numpy or a compiled kernel between ops (by design)
  worker_thread,         // touched by a thread that has no op of its own, so credit may go to the next op
  other_thread_op,       // in an op that is not on the main thread
  not_an_operand,        // known to other ops, touched here without being announced
  empty_operand,         // spans no byte (by design)
  metadata_only,         // the op reads shape and strides only, or hands its input on (by design)
  passed_through,        // an autograd node or user scope names it, no op inside touches it (by design)
  opened_earlier,        // a fault earlier in the same outermost op had opened the page already
  partial_view,          // a view, which may begin past the guarded first page
  sparse_access,         // the op gathers or scatters and may leave the guarded pages alone
  freed_in_op,           // freed inside the op, and opened before that
  other_thread_operand,  // announced by an op that is not on the main thread
  no_fault               // none of the above
};
constexpr Reason kLastFaultReason = Reason::not_an_operand;
constexpr std::size_t kReasons = static_cast<std::size_t>(Reason::no_fault) + 1;

const char* reason_name(Reason reason);
const char* reason_text(Reason reason);  // one sentence for the report
bool by_design(Reason reason);           // only one side can see such a pair

struct Level {
  std::uint64_t confirmed_faults = 0, confirmed_operands = 0;
  std::uint64_t faults_only = 0, operands_only = 0;                      // all
  std::uint64_t faults_only_by_design = 0, operands_only_by_design = 0;  // thereof
  double precision(bool raw = false) const;                              // 1 where there is nothing to compare
  double recall(bool raw = false) const;
};

struct ReasonCount {
  std::uint64_t pairs = 0;
  std::uint64_t bytes = 0;
};

// Read or write: of the confirmed announced pairs, what faults showed. A write opens the page for reading too.
struct Kinds {
  std::uint64_t same = 0;
  std::uint64_t read_hidden_by_write = 0;  // announced read+write, faulted as a write
  std::uint64_t read_before_write = 0;     // announced write, read as well (accumulates into its output)
  std::uint64_t write_missing = 0;         // announced with a write, only read
  std::uint64_t write_unannounced = 0;     // announced read, written
};

struct Example {
  Reason reason;
  std::uint32_t name;  // of the op; 0 = outside any
  std::uint64_t pairs;
  std::uint64_t bytes;
};

struct Agreement {
  std::uint64_t watched = 0;  // tensors; 0: nothing was guarded, nothing to compare
  Level innermost, outermost;
  std::uint64_t confirmed_same_op = 0, confirmed_nested = 0;  // of innermost.confirmed_operands
  std::array<ReasonCount, kReasons> reasons{};                // innermost level
  Kinds kinds;
  std::vector<Example> examples;  // by reason and op name, most pairs first, at most 40
};

Agreement compare(const Profile& profile);

}  // namespace hearth::profile
