#include "iteration/detector.h"

#include <algorithm>

#include "platform/os_memory.h"

namespace hearth::iteration {
namespace {

// A signature seen so often is the loop's own.
constexpr std::uint32_t kSettled = 3;
// A loop whose every iteration differs (variable shapes) is not worth waiting for.
constexpr std::uint64_t kNeverSettles = 64;
// An evaluation pass between two steps is longer than a training step, but not so many times.
constexpr std::uint64_t kPatienceIterations = 64;
constexpr std::uint64_t kPatienceEvents = 4096;
// So many nested ops and no outermost one: the program has put its whole loop into one user-defined op.
constexpr std::uint32_t kBuried = 1u << 16;

std::uint32_t folded(std::size_t bytes) { return static_cast<std::uint32_t>(rolled(0, bytes) >> 32); }

}  // namespace

bool Detector::init(std::uint32_t cached_signatures) {
  auto* entries = static_cast<SignatureCache::Entry*>(
      os::map_zeroed(std::max(1u, cached_signatures) * sizeof(SignatureCache::Entry)));
  if (!entries) return false;
  cache_.attach(entries, std::max(1u, cached_signatures));

  const PeriodDetector::Memory memory{
      static_cast<Token*>(os::map_zeroed(History::kTokens * sizeof(Token))),
      static_cast<std::uint32_t*>(os::map_zeroed(History::kTokens * sizeof(std::uint32_t))),
      static_cast<std::uint32_t*>(os::map_zeroed(History::kLongestPeriod * sizeof(std::uint32_t))),
      static_cast<std::uint32_t*>(os::map_zeroed(History::kLongestPeriod * sizeof(std::uint32_t)))};
  if (!memory.tokens || !memory.scratch || !memory.pattern || !memory.failure) return false;
  period_.attach(memory);
  return true;
}

bool Detector::op(NameId name, std::uint32_t depth) {
  ++ops_;
  if (depth > outermost_ && nested_op(depth)) return false;
  nested_run_ = 0;
  if (!op_tokens_) {
    op_tokens_ = true;
    period_.reset();
  }
  const bool closes = token(name.value);
  running_.add_op(name.value);
  return closes;
}

// False: from now on ops of this depth count as outermost.
bool Detector::nested_op(std::uint32_t depth) {
  if (++nested_run_ < kBuried) return true;
  outermost_ = std::min(depth, outermost_ + 1);
  period_.reset();
  return depth > outermost_;
}

bool Detector::allocation(std::size_t bytes) {
  ++allocations_;
  bytes_ += bytes;
  const bool closes = !op_tokens_ && token(folded(bytes));
  running_.add_allocation(bytes);
  if (running_.events() > patience_) optimizer_left();
  return closes;
}

bool Detector::token(std::uint32_t name) {
  if (source_ > Source::period) return false;
  const bool boundary = period_.feed(
      {name, static_cast<std::uint32_t>(allocations_ - deallocations_), static_cast<std::uint32_t>(allocations_)});
  const Source source = period_.period() == 0 ? Source::none : Source::period;
  if (source != source_) {
    retraction_ = period_.take_retraction() || retraction_;
    decide_by(source);
  }
  return boundary && close(Source::period);
}

bool Detector::step_begin(std::uint64_t, NameId) {
  election_.begin(moment());
  return false;
}

bool Detector::step_end(std::uint64_t optimizer, NameId name) {
  const bool first = !election_.elected();
  const bool closes = election_.end(optimizer, name, moment());
  if (source_ == Source::marks) return false;
  retraction_ = election_.take_retraction() || retraction_;
  if (source_ != Source::optimizer) {
    // Before the first step, what repeated was a part of its iteration. Later, it was a loop of its own: evaluation.
    retraction_ = (first && period_.predicted()) || retraction_;
    period_.reset();
    decide_by(Source::optimizer);
  }
  return closes && close(Source::optimizer);
}

// The training is over, or pauses for long; what comes now may have a rhythm of its own. Op marks may have been
// switched off meanwhile, so that until they come again allocations must do.
void Detector::optimizer_left() {
  op_tokens_ = false;
  decide_by(Source::none);
}

void Detector::forget_period() {
  if (source_ > Source::period) return;
  period_.reset();
  decide_by(Source::none);
}

bool Detector::mark_begin() {
  marks_.begin();
  if (source_ != Source::marks) {
    retraction_ = source_ == Source::optimizer || period_.predicted() || retraction_;
    period_.reset();
    decide_by(Source::marks);
  }
  return false;
}

bool Detector::mark_end() { return marks_.end() && close(Source::marks); }

void Detector::decide_by(Source source) {
  source_ = source;
  settled_ = false;
  closed_by_source_ = 0;
  patience_ = std::numeric_limits<std::uint64_t>::max();
}

// The largest of late, so that a short odd iteration does not make it impatient; not the first, which holds all that
// the program did before its loop.
void Detector::adapt_patience() {
  if (closed_by_source_ == 0) return;
  const std::uint64_t patience = kPatienceEvents + kPatienceIterations * running_.events();
  patience_ = closed_by_source_ == 1 ? patience : std::max(patience, patience_ - patience_ / 8);
}

bool Detector::close(Source source) {
  if (source == Source::optimizer) adapt_patience();
  Signature signature = running_.take();
  const std::uint32_t times_seen = cache_.count(&signature);
  const bool again = iterations_ > 0 && signature == closed_.signature;
  closed_ = {iterations_, source, signature, times_seen, again ? closed_.consecutive + 1 : 1};
  ++iterations_;
  ++closed_by_source_;
  settled_ = settled_ || times_seen >= kSettled || closed_by_source_ >= kNeverSettles;
  return true;
}

bool Detector::take_retraction() {
  const bool taken = retraction_;
  retraction_ = false;
  if (taken) cache_.clear();
  return taken;
}

bool Detector::needs_ops() const { return source_ <= Source::period || !settled_ || election_.needs_ops(); }

}  // namespace hearth::iteration
