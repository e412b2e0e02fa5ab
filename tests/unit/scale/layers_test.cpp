// Layers: directions and counts that the pointers between stretches tell.
#include "scale/layers.h"

#include <gtest/gtest.h>

namespace hearth::scale {
namespace {

// Three stretches of four units of two elements, one after the other, at 1, 10 and 19.
const std::vector<Stretch> kStretches = {{1, 2, 4}, {10, 2, 4}, {19, 2, 4}};

std::vector<std::uint32_t> no_links() { return std::vector<std::uint32_t>(28, kAlone); }

TEST(Layers, TheBackwardPassGoesTheOtherWay) {
  std::vector<std::uint32_t> links = no_links();
  for (std::uint32_t unit = 0; unit < 4; ++unit) {
    links[1 + 2 * unit] = 1 + 2 * unit;
    links[10 + 2 * (3 - unit)] = 1 + 2 * unit;
    links[20 + 2 * unit] = 1 + 2 * unit;
  }
  const Layers layers(kStretches, links);
  EXPECT_EQ(layers.groups(), 1u);
  EXPECT_EQ(layers.phases()[1].direction, -1);
  EXPECT_EQ(layers.phases()[2].direction, 1);
  EXPECT_EQ(layers.spot(1).layer, layers.spot(16).layer);
  EXPECT_EQ(layers.spot(7).layer, layers.spot(10).layer);
  EXPECT_EQ(layers.spot(4).layer, layers.spot(21).layer);
  EXPECT_TRUE(layers.spot(9).outside());
}

TEST(Layers, WhatOnlyFollowsFromAnotherPhaseIsJoinedThroughIt) {
  std::vector<std::uint32_t> links = no_links();
  for (std::uint32_t unit = 0; unit < 4; ++unit) {
    links[19 + 2 * (3 - unit)] = 10 + 2 * unit;
    links[11 + 2 * (3 - unit)] = 1 + 2 * unit;
  }
  const Layers layers(kStretches, links);
  EXPECT_EQ(layers.groups(), 1u);
  EXPECT_EQ(layers.phases()[1].direction, -1);
  EXPECT_EQ(layers.phases()[2].direction, 1);
  EXPECT_EQ(layers.spot(1).layer, layers.spot(19).layer);
}

TEST(Layers, StacksThatMeetInOnePlaceStayApart) {
  std::vector<std::uint32_t> links = no_links();
  links[10] = 7;  // the first layer of one reads what the last one of the other wrote
  const Layers layers(kStretches, links);
  EXPECT_EQ(layers.groups(), 3u);
}

TEST(Layers, SpotsAndEventsAreEachOthersInverse) {
  std::vector<std::uint32_t> links = no_links();
  for (std::uint32_t unit = 0; unit < 4; ++unit) links[10 + 2 * (3 - unit)] = 1 + 2 * unit;
  const Layers layers(kStretches, links);
  for (std::uint32_t event = 0; event < links.size(); ++event) {
    if (layers.spot(event).outside()) continue;
    EXPECT_EQ(layers.event(layers.spot(event)), event);
  }
}

}  // namespace
}  // namespace hearth::scale
