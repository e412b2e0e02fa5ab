// PackedArena: what lies in it stays whole, whatever the program does; layouts that share it; limits; fork.
#include "arena/packed_arena.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <random>
#include <vector>

namespace hearth::arena {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

// A tensor whose every word carries its mark.
struct Tensor {
  std::uint64_t* words = nullptr;
  std::uint64_t bytes = 0;
  std::uint64_t mark = 0;
};

Tensor filled(void* memory, std::uint64_t bytes, std::uint64_t mark) {
  auto* words = static_cast<std::uint64_t*>(memory);
  std::fill_n(words, bytes / 8, mark);
  return {words, bytes, mark};
}

bool whole(const Tensor& tensor) {
  return std::all_of(tensor.words, tensor.words + tensor.bytes / 8,
                     [&](std::uint64_t word) { return word == tensor.mark; });
}

// Arenas reserve address space that they never give back.
struct Arena {
  PackedArena arena;
  ~Arena() { EXPECT_TRUE(arena.empty()); }
};

// The exit status of a child that runs `work`.
template <class Work>
int in_child(Work work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(PackedArena, ContentsSurviveRandomTakesAndFrees) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    std::vector<Place> places;
    for (int i = 0; i < 200; ++i) places.push_back({64 * (random() % 3000), 8 * (1 + random() % 900), true});
    Arena made;
    ASSERT_TRUE(made.arena.init(3000 * 64 + 8000));
    ASSERT_EQ(made.arena.add(places), 0u);
    std::vector<Tensor> live;
    for (std::uint64_t step = 0; step < 3000; ++step) {
      const auto entry = static_cast<std::uint32_t>(random() % places.size());
      if (void* memory = made.arena.take(entry); memory != nullptr) {
        EXPECT_TRUE(made.arena.owns(memory));
        live.push_back(filled(memory, places[entry].bytes, step));
      }
      if (live.size() < 1 + random() % 40) continue;
      std::swap(live[random() % live.size()], live.back());
      ASSERT_TRUE(whole(live.back()));
      ASSERT_EQ(made.arena.free(live.back().words), live.back().bytes);
      ASSERT_EQ(made.arena.free(live.back().words), 0u);
      live.pop_back();
    }
    for (const Tensor& tensor : live) {
      EXPECT_TRUE(whole(tensor));
      EXPECT_EQ(made.arena.free(tensor.words), tensor.bytes);
    }
  }
}

// Layouts of one range, changed again and again while tensors of the former ones are kept.
TEST(PackedArena, LayoutsNeverOverlapWhatLingers) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    std::vector<Place> places[PackedArena::kLayouts];
    Arena made;
    ASSERT_TRUE(made.arena.init(1000 * 64 + 8000));
    for (std::uint32_t i = 0; i < PackedArena::kLayouts; ++i) {
      for (int k = 0; k < 60; ++k) places[i].push_back({64 * (random() % 1000), 8 * (1 + random() % 900), true});
      ASSERT_EQ(made.arena.add(places[i]), i);
    }
    std::vector<Tensor> live;
    for (std::uint64_t step = 0; step < 4000; ++step) {
      if (random() % 20 == 0) made.arena.select(static_cast<std::uint32_t>(random() % PackedArena::kLayouts));
      if (random() % 50 == 0) made.arena.settle();
      const std::vector<Place>& current = places[made.arena.current()];
      const auto entry = static_cast<std::uint32_t>(random() % current.size());
      const auto overlaps = [&](const Tensor& tensor) {
        const std::uint64_t begin = current[entry].offset;
        const std::uint64_t other = reinterpret_cast<std::uintptr_t>(tensor.words) % (2 * kMiB);  // all lie that low
        return other < begin + current[entry].bytes && begin < other + tensor.bytes;
      };
      const bool free = std::none_of(live.begin(), live.end(), overlaps);
      void* memory = made.arena.take(entry);
      ASSERT_EQ(memory != nullptr, free);
      if (memory != nullptr) live.push_back(filled(memory, current[entry].bytes, step));
      if (live.size() < 1 + random() % 16) continue;
      std::swap(live[random() % live.size()], live.back());
      ASSERT_TRUE(whole(live.back()));
      ASSERT_EQ(made.arena.free(live.back().words), live.back().bytes);
      live.pop_back();
    }
    for (const Tensor& tensor : live) EXPECT_EQ(made.arena.free(tensor.words), tensor.bytes);
  }
}

TEST(PackedArena, TenantsOfEveryLayoutAreFound) {
  Arena made;
  ASSERT_TRUE(made.arena.init(kMiB));
  ASSERT_EQ(made.arena.add(std::vector<Place>{{0, 256, true}}), 0u);
  ASSERT_EQ(made.arena.add(std::vector<Place>{{512, 256, true}}), 1u);
  auto* first = static_cast<unsigned char*>(made.arena.take(0));
  made.arena.select(1);
  auto* second = static_cast<unsigned char*>(made.arena.take(0));
  ASSERT_EQ(second, first + 512);
  EXPECT_EQ(made.arena.tenant(first + 255).address, first);
  EXPECT_EQ(made.arena.tenant(first + 256).address, nullptr);
  EXPECT_EQ(made.arena.tenant(second + 255).address, second);
  EXPECT_EQ(made.arena.tenant(second).bytes, 256u);
  EXPECT_EQ(made.arena.free(first), 256u);
  EXPECT_EQ(made.arena.tenant(first).address, nullptr);
  EXPECT_EQ(made.arena.free(second + 64), 0u);
  EXPECT_EQ(made.arena.free(second), 256u);
}

TEST(PackedArena, DiscardGivesThePagesBack) {
  Arena made;
  ASSERT_TRUE(made.arena.init(8 * kMiB));
  ASSERT_EQ(made.arena.add(std::vector<Place>{{64, 8 * kMiB - 64, true}}), 0u);
  const Tensor tensor = filled(made.arena.take(0), 8 * kMiB - 64, 7);
  ASSERT_EQ(made.arena.free(tensor.words), tensor.bytes);
  made.arena.discard();
  ASSERT_EQ(made.arena.take(0), tensor.words);
  EXPECT_TRUE(whole({tensor.words, tensor.bytes, 0}));
  EXPECT_EQ(made.arena.free(tensor.words), tensor.bytes);
}

TEST(PackedArena, HoldsAsManyLayoutsAsItSays) {
  Arena made;
  EXPECT_EQ(made.arena.add(std::vector<Place>{{0, 64, true}}), PackedArena::kNone);  // no range yet
  ASSERT_TRUE(made.arena.init(kMiB));
  for (std::uint32_t i = 0; i < PackedArena::kLayouts; ++i) {
    EXPECT_EQ(made.arena.add(std::vector<Place>{{64 * i, 64, true}}), i);
  }
  EXPECT_EQ(made.arena.add(std::vector<Place>{{0, 64, true}}), PackedArena::kNone);
}

TEST(PackedArena, RefusesALayoutThatDoesNotFitAndGoesOn) {
  Arena made;
  ASSERT_TRUE(made.arena.init(kMiB));
  const std::uint64_t room = made.arena.reserved();
  EXPECT_EQ(made.arena.add(std::vector<Place>{{0, room, true}}), PackedArena::kNone);  // and a page behind it
  ASSERT_EQ(made.arena.add(std::vector<Place>{{0, room - 64, true}}), 0u);
  EXPECT_LE(made.arena.height(), room);
  auto* memory = static_cast<unsigned char*>(made.arena.take(0));
  memory[room - 1] = 1;  // vectorised loops read that far
  EXPECT_FALSE(made.arena.owns(memory + room));
  EXPECT_EQ(made.arena.free(memory), room - 64);
}

TEST(PackedArena, RefusesHeightsThatNoAddressSpaceHolds) {
  for (const std::uint64_t height : {~std::uint64_t{0}, std::uint64_t{1} << 62, std::uint64_t{1} << 50}) {
    PackedArena arena;
    EXPECT_FALSE(arena.init(height)) << height;
    EXPECT_FALSE(arena.ready());
    EXPECT_FALSE(arena.owns(&arena));
  }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // their shadow is beyond any limit
TEST(PackedArena, MakesDoWithLittleAddressSpace) {
  const int status = in_child([] {
    std::uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlim_t limit = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) + 64 * kMiB;
    const rlimit wanted{limit, limit};
    if (::setrlimit(RLIMIT_AS, &wanted) != 0) return 1;
    PackedArena too_large;
    if (too_large.init(256 * kMiB) || too_large.ready()) return 2;
    PackedArena arena;
    if (!arena.init(24 * kMiB) || arena.reserved() > 32 * kMiB) return 3;
    // Its tables alone would be larger than what is left.
    if (arena.add(std::vector<Place>(1'000'000, {0, 64, true})) != PackedArena::kNone) return 4;
    if (arena.add(std::vector<Place>{{0, 24 * kMiB, true}}) != 0) return 5;
    const Tensor tensor = filled(arena.take(0), 24 * kMiB, 3);
    return whole(tensor) && arena.free(tensor.words) == tensor.bytes && arena.empty() ? 0 : 6;
  });
  EXPECT_EQ(status, 0);
}
#endif

TEST(PackedArena, ReturnsThePagesBetweenWhatIsTaken) {
  Arena made;
  std::vector<Place> places;
  for (std::uint64_t i = 0; i < 64; ++i) places.push_back({i * 6144, 6144, true});  // neighbours share pages
  ASSERT_TRUE(made.arena.init(64 * 6144));
  ASSERT_EQ(made.arena.add(places), 0u);
  std::vector<Tensor> tensors;
  for (std::uint32_t i = 0; i < 64; ++i) tensors.push_back(filled(made.arena.take(i), 6144, i));
  std::vector<Tensor> kept;
  for (std::uint32_t i = 0; i < 64; ++i) {
    if (i == 0 || i == 9 || i == 10 || i == 63) {
      kept.push_back(tensors[i]);
    } else {
      EXPECT_EQ(made.arena.free(tensors[i].words), 6144u);
    }
  }
  made.arena.discard_free();
  for (const Tensor& tensor : kept) EXPECT_TRUE(whole(tensor));
  EXPECT_EQ(tensors[40].words[100], 0u) << "its page was not returned";
  for (const Tensor& tensor : kept) EXPECT_EQ(made.arena.free(tensor.words), 6144u);
}

TEST(PackedArena, AChildFreesWhatItInherited) {
  Arena made;
  std::vector<Place> places;
  for (std::uint64_t i = 0; i < 100; ++i) places.push_back({i * 4096, 4096, true});
  ASSERT_TRUE(made.arena.init(100 * 4096));
  ASSERT_EQ(made.arena.add(places), 0u);
  std::vector<Tensor> live;
  for (std::uint32_t i = 0; i < 100; ++i) live.push_back(filled(made.arena.take(i), 4096, i));
  const int status = in_child([&] {
    for (const Tensor& tensor : live) {
      if (!whole(tensor) || made.arena.free(tensor.words) != tensor.bytes) return 1;
    }
    if (!made.arena.empty()) return 2;
    const Tensor again = filled(made.arena.take(5), 4096, 1000);
    return again.words == live[5].words ? 0 : 3;
  });
  EXPECT_EQ(status, 0);
  for (const Tensor& tensor : live) {
    EXPECT_TRUE(whole(tensor));
    EXPECT_EQ(made.arena.free(tensor.words), tensor.bytes);
  }
}

}  // namespace
}  // namespace hearth::arena
