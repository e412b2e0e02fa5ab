#include "plan/sequence.h"

#include <chrono>
#include <exception>
#include <string>
#include <utility>

#include "base/text.h"
#include "plan/elastic.h"
#include "plan/json_reader.h"
#include "plan/make_plan.h"

namespace hearth::plan {
namespace {

constexpr std::uint64_t kArenaUnit = std::uint64_t{2} << 20;

Sequence* flatten(Plan plan) {
  auto* sequence = new Sequence;
  std::vector<std::uint64_t>& bases = sequence->bases;
  for (const Arena& arena : plan.arenas) {
    bases.push_back(sequence->height);
    sequence->height += (arena.bytes + kArenaUnit - 1) / kArenaUnit * kArenaUnit;
  }
  sequence->sizes.reserve(plan.entries.size());
  sequence->places.reserve(plan.entries.size());
  for (const Entry& entry : plan.entries) {
    const bool planned = entry.arena != kHeap;
    sequence->sizes.push_back(entry.bytes);
    sequence->places.push_back({planned ? bases[entry.arena] + entry.offset : 0, entry.bytes, planned});
    sequence->planned += planned ? 1 : 0;
  }
  sequence->plan = std::move(plan);
  return sequence;
}

Sequence* refuse(const std::string& sentence, char* why, std::size_t capacity) {
  text::Writer(why, capacity) << sentence;
  return nullptr;
}

template <class Make>
Sequence* guarded(char* why, std::size_t capacity, const Make& make) noexcept {
  try {
    Result<Plan> plan = make();
    if (!plan) return refuse(plan.error(), why, capacity);
    return flatten(std::move(*plan));
  } catch (const std::exception& problem) {
    text::Writer(why, capacity) << problem.what();
  } catch (...) {
    text::Writer(why, capacity) << "unknown problem";
  }
  return nullptr;
}

}  // namespace

const Sequence* plan_sequence(const profile::Profile& profile, std::uint64_t min_bytes, bool elastic, char* why,
                              std::size_t capacity) noexcept {
  PlanOptions options;
  options.min_bytes = min_bytes;
  const auto make = [&](const profile::Profile& of) { return make_plan(of, options); };
  return made_sequence(profile, min_bytes, elastic, make, why, capacity);
}

const Sequence* made_sequence(const profile::Profile& profile, std::uint64_t min_bytes, bool elastic,
                              const MakePlan& make, char* why, std::size_t capacity) noexcept {
  const auto begin = std::chrono::steady_clock::now();
  Sequence* made =
      guarded(why, capacity, [&] { return elastic ? make(plan::elastic(profile, min_bytes)) : make(profile); });
  if (made == nullptr) return nullptr;
  made->plan.elastic = elastic;
  const auto spent = std::chrono::steady_clock::now() - begin;
  made->pack_ns = static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(spent).count());
  return made;
}

const Sequence* load_sequence(const char* path, char* why, std::size_t capacity) noexcept {
  return guarded(why, capacity, [&] { return load_plan(path); });
}

}  // namespace hearth::plan
