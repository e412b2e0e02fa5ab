#include "tier/node_list.h"

#include <gtest/gtest.h>

#include <string>

namespace hearth::tier {
namespace {

os::NodeMask mask(std::initializer_list<unsigned> nodes) {
  os::NodeMask result;
  for (const unsigned node : nodes) result.set(node);
  return result;
}

std::string listed(const os::NodeMask& nodes) {
  text::Buffer<128> text;
  write_nodes(text, nodes);
  return std::string(text.view());
}

// Nodes 0-3, 5, 70 and 1023 are there; 2 cannot be used.
std::string parsed(std::string_view list) {
  const os::NodeMask untouched = mask({9});
  os::NodeMask nodes = untouched;
  text::Buffer<256> problem;
  if (parse_nodes(list, mask({0, 1, 2, 3, 5, 70, 1023}), mask({0, 1, 3, 5, 70, 1023}), nodes, problem)) {
    EXPECT_EQ(problem.view(), "");
    return listed(nodes);
  }
  EXPECT_EQ(nodes, untouched) << list;
  return std::string(problem.view());
}

TEST(ParseNodes, NumactlsSyntax) {
  const std::pair<const char*, const char*> cases[] = {
      {"0", "0"},
      {"0-2,5", "0-2,5"},
      {" 5 , 0 - 1 ", "0-1,5"},
      {"70", "70"},
      {"1023", "1023"},
      {"2", "2"},  // named by the user; whether it can be used is asked elsewhere
      {"all", "0-1,3,5,70,1023"},
      {"ALL", "0-1,3,5,70,1023"},
      {"!3", "0-1,5,70,1023"},
      {"!0-3", "5,70,1023"},
      {"+0", "0"},
      {"+2-4", "3,5,70"},  // the third to the fifth that can be used
      {"!+0", "1,3,5,70,1023"},
      {"3,3,0-3", "0-3"},
  };
  for (const auto& [list, expected] : cases) EXPECT_EQ(parsed(list), expected) << "'" << list << "'";
}

TEST(ParseNodes, MistakesAreNamed) {
  const std::string syntax = "a node list is 0-2,5 or all, !3 (all but), +0 (the first allowed)";
  const std::pair<const char*, std::string> cases[] = {
      {"", syntax},
      {"!", syntax},
      {"+", syntax},
      {"0,", syntax},
      {"x", "'x' is no node or range of nodes; " + syntax},
      {"0,,1", "'' is no node or range of nodes; " + syntax},
      {"-1", "'-1' is no node or range of nodes; " + syntax},
      {"0-", "'0-' is no node or range of nodes; " + syntax},
      {"1-x", "'1-x' is no node or range of nodes; " + syntax},
      {"1-2-3", "'1-2-3' is no node or range of nodes; " + syntax},
      {"0x1", "'0x1' is no node or range of nodes; " + syntax},
      {"+all", "'all' is no node or range of nodes; " + syntax},
      {"!!0", "'!0' is no node or range of nodes; " + syntax},
      {"3-1", "'3-1' ends before it begins"},
      {"4", "there is no node 4 here; nodes: 0-3,5,70,1023"},
      {"0-5", "there is no node 4 here; nodes: 0-3,5,70,1023"},
      {"1024", "there is no node 1024 here; nodes: 0-3,5,70,1023"},
      {"0-99999999999999999999", "there is no node 4 here; nodes: 0-3,5,70,1023"},
      {"+6", "there is no node +6 here; nodes: 0-3,5,70,1023"},
      {"!all", "no node is left by this list"},
  };
  for (const auto& [list, expected] : cases) EXPECT_EQ(parsed(list), expected) << "'" << list << "'";
}

TEST(ParseKernelList, ReadsWhatSysfsHolds) {
  const std::pair<const char*, const char*> cases[] = {
      {"0\n", "0"}, {"0-1,70\n", "0-1,70"}, {"", "none"}, {"\n", "none"}, {"0-1023", "0-1023"}};
  for (const auto& [text, expected] : cases) {
    os::NodeMask nodes = mask({9});
    EXPECT_TRUE(parse_kernel_list(text, nodes)) << text;
    EXPECT_EQ(listed(nodes), expected);
  }
  for (const char* text : {"x", "3-1", "0-1024", "1024", "0,-", "0-4000000000"}) {
    os::NodeMask nodes = mask({9});
    EXPECT_FALSE(parse_kernel_list(text, nodes)) << text;
    EXPECT_EQ(listed(nodes), "9");
  }
}

}  // namespace
}  // namespace hearth::tier
