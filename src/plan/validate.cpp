#include "plan/validate.h"

#include <algorithm>
#include <exception>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "plan/validate_residency.h"

namespace hearth::plan {
namespace {

// 64 TiB each: more than any machine has, and no sum of bytes alive comes near 2^64.
constexpr std::uint64_t kMaxArena = 1ull << 46;
constexpr std::size_t kMaxArenas = 4096;

std::string text(std::uint64_t number) { return std::to_string(number); }
Error refuse(const std::string& what) { return Error{what}; }
Error at_fault(std::size_t entry, const std::string& what) { return Error{"entry " + text(entry) + what}; }

bool planned(const Entry& entry) { return entry.arena != kHeap; }

Result<void> check_header(const Plan& plan) {
  if (plan.schema_version != kSchemaVersion) {
    return refuse("schema version " + text(plan.schema_version) + ", expected " + text(kSchemaVersion));
  }
  const Signature expected = signature_of(plan.entries);
  if (plan.signature.allocations != expected.allocations) {
    return refuse("the signature counts " + text(plan.signature.allocations) + " allocations, there are " +
                  text(expected.allocations) + " entries");
  }
  if (plan.signature != expected) return refuse("the signature's digest is not that of the entries' sizes");
  if (plan.arenas.size() > kMaxArenas) {
    return refuse(text(plan.arenas.size()) + " arenas are more than the " + text(kMaxArenas) + " there may be");
  }
  for (std::size_t i = 0; i < plan.arenas.size(); ++i) {
    const Arena& arena = plan.arenas[i];
    if (arena.bytes % kPage != 0) return refuse("arena " + text(i) + " is not made of whole pages");
    if (arena.bytes > kMaxArena) return refuse("arena " + text(i) + " is larger than any machine's memory");
  }
  return {};
}

Result<void> check_entry(const Plan& plan, std::size_t index) {
  const Entry& entry = plan.entries[index];
  if (entry.bytes < plan.min_bytes) return at_fault(index, " is smaller than min_bytes");
  if (entry.birth >= plan.period || entry.death > plan.period) {
    return at_fault(index, " is born or dies outside the period of " + text(plan.period) + " places");
  }
  if (index > 0 && entry.birth <= plan.entries[index - 1].birth) {
    return at_fault(index, " is not born after entry " + text(index - 1));
  }
  if (!planned(entry)) {
    return entry.offset == 0 ? Result<void>() : at_fault(index, " is left to the heap and has an offset");
  }
  if (entry.arena >= plan.arenas.size()) {
    return at_fault(index, " lies in arena " + text(entry.arena) + ", of " + text(plan.arenas.size()));
  }
  if (entry.bytes == 0) return at_fault(index, " is planned and has no bytes");
  if (entry.death == entry.birth) return at_fault(index, " is planned and never dies");
  if (entry.offset % kAlignment != 0) {
    return at_fault(index, " has offset " + text(entry.offset) + ", no multiple of " + text(kAlignment));
  }
  const std::uint64_t capacity = plan.arenas[entry.arena].bytes;
  if (entry.offset > capacity || entry.bytes > capacity - entry.offset) {
    return at_fault(index, " ends beyond its arena " + text(entry.arena));
  }
  return {};
}

// Allocations of one op are numbered in order, so (op, nth) names one entry.
Result<void> check_numbering(const Plan& plan) {
  std::unordered_map<std::uint32_t, std::size_t> last;  // per op, index of its last entry
  for (std::size_t i = 0; i < plan.entries.size(); ++i) {
    const Entry& entry = plan.entries[i];
    const auto [found, first] = last.try_emplace(entry.op, i);
    if (!first && plan.entries[found->second].nth >= entry.nth) {
      return at_fault(i, " is not numbered after entry " + text(found->second) + " of the same op");
    }
    found->second = i;
  }
  return {};
}

// Goes through the iteration once, place by place, with what is alive in each arena.
class Sweep {
 public:
  explicit Sweep(const Plan& plan) : plan_(plan), arenas_(plan.arenas.size()) {}

  Result<void> run() {
    for (std::uint32_t i = 0; i < plan_.entries.size(); ++i) {
      const Entry& entry = plan_.entries[i];
      if (!planned(entry)) continue;
      const std::uint32_t death = entry.death == 0 ? plan_.period : entry.death;  // the ring's end is its begin
      steps_.push_back({entry.birth, true, i});
      steps_.push_back({death, false, i});
      ++arenas_[entry.arena].tensors;
      if (death > entry.birth) continue;
      if (const Result<void> begun = begin(i); !begun) return begun;  // of the former iteration
    }
    // What dies at a place makes room for what is born there.
    std::sort(steps_.begin(), steps_.end(),
              [](const Step& a, const Step& b) { return a.place != b.place ? a.place < b.place : a.birth < b.birth; });
    for (const Step& step : steps_) {
      if (!step.birth) {
        end(step.entry);
      } else if (const Result<void> begun = begin(step.entry); !begun) {
        return begun;
      }
    }
    return check_books();
  }

 private:
  struct Step {
    std::uint32_t place;
    bool birth;
    std::uint32_t entry;
  };
  struct Books {
    std::map<std::uint64_t, std::uint32_t> alive;  // entry by offset
    std::uint64_t live_bytes = 0, peak_bytes = 0;
    std::uint32_t tensors = 0;
  };

  Result<void> begin(std::uint32_t index);
  void end(std::uint32_t index);
  Result<void> check_books() const;

  const Plan& plan_;
  std::vector<Books> arenas_;
  std::vector<Step> steps_;
  std::uint64_t live_bytes_ = 0, peak_bytes_ = 0;
};

Result<void> Sweep::begin(std::uint32_t index) {
  const Entry& entry = plan_.entries[index];
  Books& arena = arenas_[entry.arena];
  const auto above = arena.alive.lower_bound(entry.offset);
  const auto overlap = [&](std::uint32_t other) {
    return at_fault(other, " and entry " + text(index) + " are alive at once and overlap in arena " +
                               text(entry.arena) + " at offset " + text(entry.offset));
  };
  if (above != arena.alive.end() && above->first - entry.offset < entry.bytes) return overlap(above->second);
  if (above != arena.alive.begin()) {
    const std::uint32_t below = std::prev(above)->second;
    if (plan_.entries[below].bytes > entry.offset - plan_.entries[below].offset) return overlap(below);
  }
  arena.alive.emplace_hint(above, entry.offset, index);
  arena.live_bytes += aligned(entry.bytes);
  arena.peak_bytes = std::max(arena.peak_bytes, arena.live_bytes);
  live_bytes_ += aligned(entry.bytes);
  peak_bytes_ = std::max(peak_bytes_, live_bytes_);
  return {};
}

void Sweep::end(std::uint32_t index) {
  const Entry& entry = plan_.entries[index];
  Books& arena = arenas_[entry.arena];
  arena.alive.erase(entry.offset);
  arena.live_bytes -= aligned(entry.bytes);
  live_bytes_ -= aligned(entry.bytes);
}

Result<void> Sweep::check_books() const {
  for (std::size_t i = 0; i < arenas_.size(); ++i) {
    if (plan_.arenas[i].tensors != arenas_[i].tensors) {
      return refuse("arena " + text(i) + " counts " + text(plan_.arenas[i].tensors) + " tensors, " +
                    text(arenas_[i].tensors) + " entries lie in it");
    }
    if (plan_.arenas[i].lower_bound != arenas_[i].peak_bytes) {
      return refuse("arena " + text(i) + " has lower bound " + text(plan_.arenas[i].lower_bound) + ", at most " +
                    text(arenas_[i].peak_bytes) + " bytes of its entries are alive at once");
    }
  }
  if (plan_.costs.lower_bound != peak_bytes_) {
    return refuse("the lower bound is " + text(plan_.costs.lower_bound) + ", at most " + text(peak_bytes_) +
                  " bytes of all entries are alive at once");
  }
  return {};
}

Result<void> checked(const Plan& plan) {
  if (Result<void> header = check_header(plan); !header) return header;
  for (std::size_t i = 0; i < plan.entries.size(); ++i) {
    if (Result<void> entry = check_entry(plan, i); !entry) return entry;
  }
  if (Result<void> numbering = check_numbering(plan); !numbering) return numbering;
  if (Result<void> swept = Sweep(plan).run(); !swept) return swept;
  return validate_residency(plan);
}

}  // namespace

Result<void> validate(const Plan& plan) noexcept {
  try {
    return checked(plan);
  } catch (const std::exception&) {
    return Error{"out of memory"};  // short enough to need none itself
  }
}

}  // namespace hearth::plan
