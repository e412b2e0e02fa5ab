// Layout against a model that compares every slot with every other: a take succeeds if and only if nothing that
// overlaps it in address is taken.
#include "arena/layout.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <utility>
#include <vector>

namespace hearth::arena {
namespace {

// Unloads what a test loads.
struct Loaded {
  explicit Loaded(const std::vector<Place>& places) : ready(layout.load(places)) {}
  ~Loaded() { layout.unload(); }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;
  Layout layout;
  bool ready;
};

class Model {
 public:
  explicit Model(std::vector<Place> places) : places_(std::move(places)) {}

  std::uint64_t take(std::uint32_t entry) {
    const Place& place = places_[entry];
    if (!place.planned || place.bytes == 0 || any_taken(place.offset, place.offset + place.bytes)) {
      return Layout::kNotFree;
    }
    taken_[place.offset] = place.offset + place.bytes;
    return place.offset;
  }
  std::uint64_t free(std::uint64_t offset) {
    const auto found = taken_.find(offset);
    if (found == taken_.end()) return 0;
    const std::uint64_t bytes = found->second - offset;
    taken_.erase(found);
    return bytes;
  }
  // What is taken never overlaps, so the last one that begins before `to` is the only one that can reach it.
  bool any_taken(std::uint64_t from, std::uint64_t to) const {
    const auto behind = taken_.lower_bound(to);
    return behind != taken_.begin() && std::prev(behind)->second > from;
  }
  Layout::Taken tenant(std::uint64_t offset) const {
    const auto behind = taken_.upper_bound(offset);
    if (behind == taken_.begin() || std::prev(behind)->second <= offset) return {};
    return {std::prev(behind)->first, std::prev(behind)->second};
  }
  const std::map<std::uint64_t, std::uint64_t>& taken() const { return taken_; }

 private:
  std::vector<Place> places_;
  std::map<std::uint64_t, std::uint64_t> taken_;  // begin to end
};

struct Shape {
  std::uint32_t entries;
  std::uint64_t units;    // of 64 bytes, over which offsets are spread
  std::uint64_t longest;  // in units
};

std::vector<Place> random_places(std::mt19937_64& random, const Shape& shape) {
  std::vector<Place> places;
  for (std::uint32_t i = 0; i < shape.entries; ++i) {
    if (i > 0 && random() % 8 == 0) {
      places.push_back(places[random() % i]);  // shared by several entries
      continue;
    }
    const bool same_offset = i > 0 && random() % 4 == 0;
    const std::uint64_t offset = same_offset ? places[random() % i].offset : 64 * (random() % shape.units);
    const std::uint64_t whole = 64 * (1 + random() % (random() % 16 == 0 ? shape.longest : 1 + shape.longest / 8));
    const std::uint64_t bytes = random() % 64 == 0 ? 0 : whole - random() % 64;
    places.push_back({offset, bytes, random() % 10 != 0});
  }
  return places;
}

void expect_same(const Layout::Taken& is, const Layout::Taken& should_be) {
  EXPECT_EQ(is.begin, should_be.begin);
  EXPECT_EQ(is.end, should_be.end);
}

std::uint64_t offset_to_free(std::mt19937_64& random, const Model& model, const Shape& shape) {
  const std::uint64_t any = random() % (64 * (shape.units + shape.longest));  // unknown, interior or, rarely, right
  if (model.taken().empty() || random() % 8 == 0) return any;
  const auto found = model.taken().lower_bound(any);
  return found != model.taken().end() ? found->first : model.taken().begin()->first;
}

// Takes more than it frees in one half of the time, so that both crowded and almost empty layouts are seen.
void compare(std::uint64_t seed, const Shape& shape, std::uint32_t steps) {
  SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << shape.entries << " entries");
  std::mt19937_64 random(seed);
  const std::vector<Place> places = random_places(random, shape);
  Model model(places);
  Loaded loaded(places);
  ASSERT_TRUE(loaded.ready);
  Layout& layout = loaded.layout;
  for (std::uint32_t step = 0; step < steps && !testing::Test::HasFailure(); ++step) {
    const bool filling = step / 64 % 2 == 0;
    if (random() % 8 < (filling ? 6u : 2u)) {
      const auto entry = static_cast<std::uint32_t>(random() % places.size());
      EXPECT_EQ(layout.take(entry), model.take(entry)) << "entry " << entry;
    } else {
      const std::uint64_t offset = offset_to_free(random, model, shape);
      EXPECT_EQ(layout.free(offset), model.free(offset)) << "offset " << offset;
      EXPECT_EQ(layout.free(offset), 0u) << "freed twice: " << offset;
    }
    if (step % 8 != 0) continue;
    const std::uint64_t at = random() % (64 * (shape.units + shape.longest));
    const std::uint64_t to = at + 1 + random() % (64 * shape.longest);
    expect_same(layout.tenant(at), model.tenant(at));
    EXPECT_EQ(layout.any_taken(at, to), model.any_taken(at, to)) << at << " to " << to;
    EXPECT_EQ(layout.empty(), model.taken().empty());
  }
}

TEST(Layout, TakesExactlyWhatIsFreeInThousandsOfSmallLayouts) {
  for (std::uint64_t seed = 1; seed <= 4000 && !HasFailure(); ++seed) {
    std::mt19937_64 random(seed);
    const Shape shape{static_cast<std::uint32_t>(1 + random() % 300), 1 + random() % 200, 1 + random() % 64};
    compare(seed, shape, 250);
  }
}

TEST(Layout, TakesExactlyWhatIsFreeInLayoutsOfSeveralWords) {
  for (std::uint64_t seed = 1; seed <= 40 && !HasFailure(); ++seed) compare(seed, {5000, 1000 * seed, 300}, 4000);
}

TEST(Layout, TakesExactlyWhatIsFreeAmongTensOfThousands) {
  compare(1, {22'000, 3'000, 2'500}, 6000);  // slots that span hundreds of words and are reached by thousands
  compare(2, {30'000, 4'000'000, 900}, 20'000);
  compare(3, {22'000, 1, 20'000}, 4000);  // one offset, many sizes
}

TEST(Layout, OneOffsetSeveralSizes) {
  Loaded loaded({{0, 64, true}, {0, 640, true}, {0, 128, true}, {128, 64, true}});
  ASSERT_TRUE(loaded.ready);
  Layout& layout = loaded.layout;
  EXPECT_EQ(layout.take(2), 0u);
  EXPECT_EQ(layout.take(0), Layout::kNotFree);
  EXPECT_EQ(layout.take(1), Layout::kNotFree);
  EXPECT_EQ(layout.take(3), 128u);
  EXPECT_EQ(layout.free(0), 128u);
  EXPECT_EQ(layout.take(1), Layout::kNotFree);  // still in the way: what begins inside it
  EXPECT_EQ(layout.free(128), 64u);
  EXPECT_EQ(layout.take(1), 0u);
  EXPECT_EQ(layout.take(3), Layout::kNotFree);
  EXPECT_EQ(layout.free(0), 640u);
  EXPECT_TRUE(layout.empty());
}

TEST(Layout, EntriesOfOnePlaceTakeTurns) {
  Loaded loaded({{64, 100, true}, {64, 100, true}, {64, 100, true}});
  ASSERT_TRUE(loaded.ready);
  for (std::uint32_t entry : {0u, 1u, 2u, 0u}) {
    EXPECT_EQ(loaded.layout.take(entry), 64u);
    for (std::uint32_t other : {0u, 1u, 2u}) EXPECT_EQ(loaded.layout.take(other), Layout::kNotFree);
    EXPECT_EQ(loaded.layout.free(64), 100u);
  }
}

TEST(Layout, TenantIsFoundFromEveryByteOfIt) {
  Loaded loaded({{64, 100, true}, {192, 64, true}});
  ASSERT_TRUE(loaded.ready);
  ASSERT_EQ(loaded.layout.take(0), 64u);
  for (std::uint64_t at = 0; at < 300; ++at) {
    const bool inside = at >= 64 && at < 164;
    expect_same(loaded.layout.tenant(at), inside ? Layout::Taken{64, 164} : Layout::Taken{});
    EXPECT_EQ(loaded.layout.any_taken(at, at + 1), inside) << at;
  }
  EXPECT_FALSE(loaded.layout.any_taken(0, 64));
  EXPECT_FALSE(loaded.layout.any_taken(164, 1000));
  EXPECT_TRUE(loaded.layout.any_taken(0, 1000));
}

TEST(Layout, WhatIsNotPlannedOrEmptyHasNoPlace) {
  Loaded loaded({{0, 64, false}, {0, 0, true}, {64, 64, true}});
  ASSERT_TRUE(loaded.ready);
  EXPECT_EQ(loaded.layout.height(), 128u);
  for (std::uint32_t entry : {0u, 1u}) {
    EXPECT_FALSE(loaded.layout.planned(entry));
    EXPECT_EQ(loaded.layout.take(entry), Layout::kNotFree);
  }
  EXPECT_TRUE(loaded.layout.planned(2));
  expect_same(loaded.layout.extent(2), {64, 128});
  EXPECT_EQ(loaded.layout.free(0), 0u);
}

TEST(Layout, OfNothingPlannedFreesNothing) {
  for (const std::vector<Place>& places : {std::vector<Place>{}, std::vector<Place>(100)}) {
    Loaded loaded(places);
    ASSERT_TRUE(loaded.ready);
    EXPECT_EQ(loaded.layout.free(0), 0u);
    EXPECT_EQ(loaded.layout.height(), 0u);
    EXPECT_TRUE(loaded.layout.empty());
  }
}

TEST(Layout, LoadsAfreshAfterUnload) {
  Layout layout;
  ASSERT_TRUE(layout.load(std::vector<Place>{{640, 6400, true}}));
  ASSERT_EQ(layout.take(0), 640u);
  layout.unload();
  EXPECT_EQ(layout.height(), 0u);
  EXPECT_EQ(layout.table_bytes(), 0u);
  EXPECT_TRUE(layout.empty());
  ASSERT_TRUE(layout.load(std::vector<Place>{{0, 64, true}, {640, 64, true}}));
  EXPECT_EQ(layout.height(), 704u);
  EXPECT_EQ(layout.free(640), 0u);
  EXPECT_EQ(layout.take(1), 640u);
  layout.unload();
}

TEST(Layout, TableStaysSmall) {
  std::vector<Place> places;
  for (std::uint64_t i = 0; i < 20'000; ++i) places.push_back({i * 4096, 3 * 4096, true});
  Loaded loaded(places);
  ASSERT_TRUE(loaded.ready);
  EXPECT_LT(loaded.layout.table_bytes(), std::size_t{4} << 20);
}

}  // namespace
}  // namespace hearth::arena
