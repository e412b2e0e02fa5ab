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
#include <limits>

#include "base/ids.h"
#include "iteration/mark_nesting.h"
#include "iteration/period_detector.h"
#include "iteration/signature.h"
#include "iteration/signature_cache.h"
#include "iteration/step_election.h"

namespace hearth::iteration {

struct Closed {
  std::uint64_t number = 0;  // iterations closed before this one
  Source source = Source::none;
  Signature signature{};
  std::uint32_t times_seen = 0;   // of this exact signature so far, this one included
  std::uint32_t consecutive = 0;  // of them at the end, without another in between
};

class Detector {
 public:
  constexpr Detector() = default;
  // Bounded cache, least recently seen goes first. False: the system refused memory; marks and optimizers still close
  // iterations, but no period is looked for and no signature is remembered.
  bool init(std::uint32_t cached_signatures);

  // Each returns true when it closed an iteration, described by closed(). op and allocation close before what they
  // announce, which is the first of the next iteration.
  bool op(NameId name, std::uint32_t depth);  // begin of an op; depth 0 = outermost
  bool allocation(std::size_t bytes);
  bool step_begin(std::uint64_t optimizer, NameId name);
  bool step_end(std::uint64_t optimizer, NameId name);
  bool mark_begin();
  bool mark_end();
  // A tensor was freed on the thread. Closes nothing, but must be told: a loop's memory balances, by which it is known
  // from the building of a model.
  void deallocation() { ++deallocations_; }

  // While the runtime follows a plan it does not feed allocations one by one.
  // So many happened since the last call.
  void catch_up(std::uint64_t allocations, std::uint64_t bytes) {
    allocations_ += allocations;
    bytes_ += bytes;
  }
  // The iteration that closes next went like this, whatever was fed of it.
  void stand_in(const Signature& signature) { running_.set(signature); }
  // The planned iteration of a loop without optimizer and marks is over.
  bool close_planned() { return source_ <= Source::period && close(Source::period); }
  // The loop without optimizer is followed no longer: its period has to be found again.
  void forget_period();

  const Closed& closed() const { return closed_; }
  // What decides at present.
  Source source() const { return source_; }
  std::uint32_t signatures_cached() const { return cache_.size(); }
  const SignatureCache::Entry& cached(std::uint32_t index) const { return cache_.entry(index); }
  std::uint32_t period() const { return period_.period(); }  // tokens; 0 = none known
  std::uint64_t odd_marks() const { return marks_.odd(); }   // nested or unbalanced
  // The profile of an iteration that turned out to be part of a longer one is void; true until acknowledged. Signatures
  // seen until then count no more.
  bool take_retraction();
  // Does the detector need op marks, or do steps and allocations suffice from here on?
  bool needs_ops() const;

 private:
  bool nested_op(std::uint32_t depth);
  bool token(std::uint32_t name);
  bool close(Source source);
  void decide_by(Source source);
  void adapt_patience();
  void optimizer_left();
  StepMoment moment() const { return {ops_, allocations_, bytes_}; }

  Source source_ = Source::none;
  bool op_tokens_ = false;  // the period is looked for among ops, not allocations
  bool retraction_ = false;
  bool settled_ = false;
  std::uint32_t outermost_ = 0;  // depth of the ops that count
  std::uint32_t nested_run_ = 0;

  std::uint64_t ops_ = 0;  // at any depth
  std::uint64_t allocations_ = 0;
  std::uint64_t deallocations_ = 0;
  std::uint64_t bytes_ = 0;

  // Events in one iteration after which the optimizer is taken to have left the loop.
  std::uint64_t patience_ = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t closed_by_source_ = 0;

  RunningSignature running_{};
  Closed closed_{};
  std::uint64_t iterations_ = 0;
  SignatureCache cache_{};
  PeriodDetector period_{};
  StepElection election_{};
  MarkNesting marks_{};
};

}  // namespace hearth::iteration
