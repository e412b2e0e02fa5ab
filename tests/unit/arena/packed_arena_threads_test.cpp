// PackedArena under threads, and the perturbation test: thousands of iterations of a program that leaves its plan in
// every way a training script can, followed through Follower. Every tensor carries its mark in every word.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "arena/packed_arena.h"
#include "iteration/follower.h"

namespace hearth::arena {
namespace {

// The first word of a tensor says how long it is, all others carry the mark that the second one has.
constexpr std::uint64_t kLeast = 16;

constexpr std::uint32_t kMostEntries = 70;  // of a plan

std::uint64_t* marked(void* memory, std::uint64_t bytes, std::uint64_t mark) {
  auto* words = static_cast<std::uint64_t*>(memory);
  words[0] = bytes;
  std::fill(words + 1, words + bytes / 8, mark);
  return words;
}

bool whole(const std::uint64_t* words) {
  return words[0] % 8 == 0 && words[0] >= kLeast && words[0] < (1u << 20) &&
         std::all_of(words + 1, words + words[0] / 8, [&](std::uint64_t word) { return word == words[1]; });
}

// Whether it was whole, and the arena gave back what was taken.
bool give(PackedArena& arena, const std::uint64_t* words) {
  const std::uint64_t bytes = words[0];
  return whole(words) && arena.free(words) == bytes;
}

// Threads that free what is put into their boxes. A box is emptied without telling the one who filled it (relaxed), so
// that the arena's own order of memory alone stands between a tensor's last reader and its successor.
class Freers {
 public:
  Freers(PackedArena& arena, unsigned count) : arena_(arena) {
    for (unsigned i = 0; i < count; ++i) threads_.emplace_back([this, i, count] { work(i, count); });
  }
  ~Freers() { finish(); }
  Freers(const Freers&) = delete;
  Freers& operator=(const Freers&) = delete;

  bool put(std::size_t box, std::uint64_t* words) {
    std::uint64_t* none = nullptr;
    return boxes_[box % boxes_.size()].compare_exchange_strong(none, words, std::memory_order_release,
                                                               std::memory_order_relaxed);
  }
  // An iteration here takes microseconds, no time for the scheduler: lets the others come by.
  void let_work() const {
    for (const std::atomic<std::uint64_t*>& box : boxes_) {
      while (box.load(std::memory_order_relaxed) != nullptr) std::this_thread::yield();
    }
  }
  // Everything put so far is freed afterwards. How many were broken, how many freed.
  std::pair<std::uint64_t, std::uint64_t> finish() {
    over_.store(true, std::memory_order_release);
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    return {broken_.load(), freed_.load()};
  }

 private:
  void work(unsigned first, unsigned step) {
    for (bool last = false; !last;) {
      last = over_.load(std::memory_order_acquire);
      bool idle = true;
      for (std::size_t i = first; i < boxes_.size(); i += step) {
        if (boxes_[i].load(std::memory_order_relaxed) == nullptr) continue;
        const std::uint64_t* words = boxes_[i].exchange(nullptr, std::memory_order_acquire);
        if (!give(arena_, words)) broken_.fetch_add(1, std::memory_order_relaxed);
        freed_.fetch_add(1, std::memory_order_relaxed);
        idle = false;
      }
      if (idle) std::this_thread::yield();
    }
  }

  PackedArena& arena_;
  std::array<std::atomic<std::uint64_t*>, 96> boxes_{};
  std::atomic<bool> over_{false};
  std::atomic<std::uint64_t> broken_{0}, freed_{0};
  std::vector<std::thread> threads_;
};

std::vector<Place> crowded_places(std::mt19937_64& random) {
  std::vector<Place> places;
  for (int i = 0; i < 400; ++i) places.push_back({64 * (random() % 500), kLeast + 8 * (random() % 100), true});
  return places;
}

// One thread takes and changes between layouts that share all addresses; three others free.
TEST(PackedArenaThreads, OneTakesThreeFree) {
  std::mt19937_64 random(1);
  std::vector<Place> places[3];
  PackedArena arena;
  ASSERT_TRUE(arena.init(64 * 1000));
  for (std::vector<Place>& layout : places) {
    layout = crowded_places(random);
    ASSERT_NE(arena.add(layout), PackedArena::kNone);
  }
  Freers freers(arena, 3);
  std::uint64_t taken = 0, refused = 0, broken = 0;
  for (std::uint64_t i = 0; taken < 50'000 && i < 50'000'000; ++i) {
    if (i % 500 == 0) arena.select(static_cast<std::uint32_t>(random() % 3));
    if (i % 100 == 0) arena.settle();
    const auto entry = static_cast<std::uint32_t>(random() % 400);
    void* memory = arena.take(entry);
    if (memory == nullptr) {
      if (++refused % 64 == 0) std::this_thread::yield();
      continue;
    }
    ++taken;
    std::uint64_t* words = marked(memory, places[arena.current()][entry].bytes, i);
    if (!freers.put(random(), words)) broken += !give(arena, words);
  }
  const auto [broken_elsewhere, freed_elsewhere] = freers.finish();
  EXPECT_EQ(broken + broken_elsewhere, 0u);
  EXPECT_EQ(taken, 50'000u) << "places have leaked";
  EXPECT_GT(freed_elsewhere, 1000u);
  EXPECT_TRUE(arena.empty());
}

// Entry 0, as soon as another thread has freed what is in its way.
void* insist(PackedArena& arena) {
  void* memory = arena.take(0);
  for (int tries = 1; memory == nullptr && tries < 10'000'000; ++tries) {
    if (tries % 64 == 0) std::this_thread::yield();
    memory = arena.take(0);
  }
  return memory;
}

// The former layout's tensor lies where the current one's is to lie, and is freed while that is tried.
TEST(PackedArenaThreads, AFreeFindsTheLingeringTensorNotTheNewcomer) {
  PackedArena arena;
  ASSERT_TRUE(arena.init(1 << 20));
  ASSERT_EQ(arena.add(std::vector<Place>{{0, 64, true}}), 0u);
  ASSERT_EQ(arena.add(std::vector<Place>{{0, 128, true}}), 1u);
  Freers freers(arena, 1);
  std::uint64_t taken = 0, broken = 0;
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    arena.select(0);
    void* memory = insist(arena);
    ASSERT_NE(memory, nullptr) << "its place has leaked";
    ASSERT_TRUE(freers.put(0, marked(memory, 64, i)));
    arena.select(1);
    void* newcomer = insist(arena);
    ASSERT_NE(newcomer, nullptr) << "its place has leaked";
    ++taken;
    broken += !give(arena, marked(newcomer, 128, i));
  }
  const auto [broken_elsewhere, freed_elsewhere] = freers.finish();
  EXPECT_EQ(broken + broken_elsewhere, 0u);
  EXPECT_EQ(freed_elsewhere, taken);
  EXPECT_TRUE(arena.empty());
}

struct Event {
  std::uint32_t entry;
  bool birth;
};

// A cyclic plan: events in order, and where first fit puts the entries. Some outlive the end of the iteration.
struct Plan {
  std::vector<Event> events;
  std::vector<std::uint64_t> sizes;
  std::vector<Place> places;
};

Plan random_plan(std::mt19937_64& random, std::uint32_t entries) {
  Plan plan;
  std::vector<std::uint32_t> live;
  const auto kinds = 2 + random() % entries;
  while (plan.sizes.size() < entries || live.size() > 3) {
    if (plan.sizes.size() < entries && (live.empty() || random() % 8 < 5)) {
      const auto entry = static_cast<std::uint32_t>(plan.sizes.size());
      plan.events.push_back({entry, true});
      plan.sizes.push_back(kLeast + 24 * (random() % kinds));
      live.push_back(entry);
    } else {
      // Mostly as a stack, as activations do.
      if (random() % 3 == 0) std::swap(live[random() % live.size()], live.back());
      plan.events.push_back({live.back(), false});
      live.pop_back();
    }
  }
  // They die early in the next iteration, which is before their birth in this one.
  for (const std::uint32_t entry : live) plan.events.insert(plan.events.begin(), {entry, false});
  return plan;
}

// Places that [birth, death) or, round the end, the rest of the circle covers.
std::vector<bool> lifetime(const Plan& plan, std::uint32_t entry) {
  std::vector<bool> alive(plan.events.size());
  std::size_t at = 0;
  while (plan.events[at].entry != entry || !plan.events[at].birth) ++at;
  for (; plan.events[at].entry != entry || plan.events[at].birth; at = (at + 1) % alive.size()) alive[at] = true;
  return alive;
}

void place_first_fit(Plan& plan, std::mt19937_64& random) {
  std::vector<std::vector<bool>> alive;
  for (std::uint32_t entry = 0; entry < plan.sizes.size(); ++entry) {
    alive.push_back(lifetime(plan, entry));
    Place place{0, plan.sizes[entry], random() % 12 != 0};
    const auto meets = [&](std::uint32_t other) {
      for (std::size_t at = 0; at < alive[entry].size(); ++at) {
        if (alive[entry][at] && alive[other][at]) return true;
      }
      return false;
    };
    std::vector<Place> others;
    for (std::uint32_t other = 0; other < entry; ++other) {
      if (plan.places[other].planned && meets(other)) others.push_back(plan.places[other]);
    }
    std::sort(others.begin(), others.end(), [](const Place& a, const Place& b) { return a.offset < b.offset; });
    for (const Place& other : others) {
      if (other.offset >= place.offset + place.bytes) break;
      place.offset = std::max(place.offset, (other.offset + other.bytes + 63) / 64 * 64);
    }
    plan.places.push_back(place);
  }
}

// Runs plans as a training script does that does not keep to them.
class Program {
 public:
  Program(std::uint64_t seed, std::uint32_t plans) : random_(seed) {
    for (std::uint32_t i = 0; i < plans; ++i) {
      plans_.push_back(random_plan(random_, static_cast<std::uint32_t>(30 + random_() % (kMostEntries - 30))));
      place_first_fit(plans_.back(), random_);
      EXPECT_TRUE(followers_.emplace_back().load(plans_.back().sizes));
    }
    EXPECT_TRUE(arena_.init(1 << 20));
    for (const Plan& plan : plans_) EXPECT_NE(arena_.add(plan.places), PackedArena::kNone);
  }
  ~Program() {
    for (iteration::Follower& follower : followers_) follower.unload();
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void iterate(bool perturbed) {
    perturbed_ = perturbed;
    if (perturbed && one_in(60)) change_plan();
    if (!perturbed || one_in(2)) follower().restart();
    const std::vector<Event>& events = plan().events;
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (perturbed_ && one_in(2000)) return free_living();  // an exception
      if (perturbed_ && one_in(300)) i += random_() % 20;    // ops left out; what they would have freed stays longer
      if (i >= events.size()) break;
      if (perturbed_ && one_in(100)) kept_.push_back(allocate(kLeast + 24 * (random_() % 70)));
      if (!kept_.empty() && one_in(8)) free_one_kept();
      events[i].birth ? birth(events[i].entry) : death(events[i].entry);
    }
    if (one_in(4)) freers_.let_work();
    arena_.settle();
  }
  void free_living() {
    for (std::uint64_t*& words : live_) release(std::exchange(words, nullptr));
  }
  void free_everything() {
    free_living();
    while (!kept_.empty()) free_one_kept();
  }
  // Everything is freed: how many tensors were found broken?
  std::uint64_t finish() {
    free_everything();
    return broken_ + freers_.finish().first;
  }

  const PackedArena& arena() const { return arena_; }
  std::uint64_t wanted() const { return wanted_; }
  std::uint64_t taken() const { return taken_; }

 private:
  bool one_in(std::uint64_t n) { return random_() % n == 0; }
  Plan& plan() { return plans_[arena_.current()]; }
  iteration::Follower& follower() { return followers_[arena_.current()]; }

  // Null where the heap would serve.
  std::uint64_t* allocate(std::uint64_t bytes) {
    const std::uint32_t entry = follower().next(bytes);
    void* memory = entry != iteration::Follower::kLost ? arena_.take(entry) : nullptr;
    return memory != nullptr ? marked(memory, bytes, ++marks_) : nullptr;
  }
  void birth(std::uint32_t entry) {
    if (live_[entry] != nullptr) kept_.push_back(live_[entry]);  // its death was left out
    live_[entry] = allocate(plan().sizes[entry]);
    wanted_ += plan().places[entry].planned;
    taken_ += live_[entry] != nullptr;
  }
  void death(std::uint32_t entry) {
    std::uint64_t* words = std::exchange(live_[entry], nullptr);
    if (perturbed_ && one_in(300)) {
      kept_.push_back(words);
    } else {
      release(words);
    }
  }
  void release(std::uint64_t* words) {
    if (words == nullptr || (perturbed_ && one_in(20) && freers_.put(random_(), words))) return;
    broken_ += !give(arena_, words);
  }
  void free_one_kept() {
    std::swap(kept_[random_() % kept_.size()], kept_.back());
    release(kept_.back());
    kept_.pop_back();
  }
  // What lives goes on living beside the other plan.
  void change_plan() {
    for (std::uint64_t*& words : live_) {
      if (words != nullptr) kept_.push_back(std::exchange(words, nullptr));
    }
    arena_.select(static_cast<std::uint32_t>(random_() % plans_.size()));
    follower().restart();
  }

  std::mt19937_64 random_;
  std::vector<Plan> plans_;
  std::vector<iteration::Follower> followers_;
  PackedArena arena_;
  Freers freers_{arena_, 1};
  std::vector<std::uint64_t*> live_ = std::vector<std::uint64_t*>(kMostEntries);  // by entry
  std::vector<std::uint64_t*> kept_;
  bool perturbed_ = false;
  std::uint64_t marks_ = 0, wanted_ = 0, taken_ = 0, broken_ = 0;
};

void perturb(std::uint64_t seed, std::uint32_t plans, int iterations) {
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Program program(seed, plans);
  for (int i = 0; i < iterations; ++i) program.iterate(true);
  EXPECT_GT(program.wanted(), 0u);
  EXPECT_GT(program.taken(), program.wanted() / 4) << "too far from the plan to tell anything";
  ASSERT_EQ(program.finish(), 0u);
  ASSERT_TRUE(program.arena().empty());
  // And a program that keeps to its plan again finds every place free.
  program.iterate(false);
  const std::uint64_t wanted = program.wanted(), taken = program.taken();
  for (int i = 0; i < 10; ++i) program.iterate(false);
  EXPECT_EQ(program.taken() - taken, program.wanted() - wanted);
  ASSERT_EQ(program.finish(), 0u);
  EXPECT_TRUE(program.arena().empty());
}

TEST(PackedArenaThreads, TenThousandIterationsOffThePlan) { perturb(1, 1, 10'000); }

TEST(PackedArenaThreads, TenThousandIterationsBetweenThreePlans) { perturb(2, 3, 10'000); }

TEST(PackedArenaThreads, ManyPlansOffThePlan) {
  for (std::uint64_t seed = 100; seed < 124 && !HasFailure(); ++seed) {
    perturb(seed, 1 + static_cast<std::uint32_t>(seed % PackedArena::kLayouts), 200);
  }
}

}  // namespace
}  // namespace hearth::arena
