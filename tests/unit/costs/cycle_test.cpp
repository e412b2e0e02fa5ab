#include "costs/cycle.h"

#include <gtest/gtest.h>

#include "unit/profile/events.h"

namespace hearth::costs {
namespace {

using profile::Profile;
using profile::test::Script;

// Every event takes 10 ns.
Script& backward(Script& script) { return script.begin("backward").op("mm").op("add_"); }

std::uint64_t time_of(const Profile& profile, const std::vector<std::uint64_t>& times, const std::string& name) {
  return times.at(static_cast<std::size_t>(&profile::test::op(profile, name) - profile.ops.data()));
}

TEST(Cycle, AnotherIterationMayBeCutAtAnotherOp) {
  Script whole;
  backward(whole.op("relu")).end("backward").op("loss");
  Script turned;
  turned.op("loss").op("relu");
  backward(turned).end("backward");
  const Profile profile = whole.build();
  const std::vector<std::uint64_t> times = times_in(turned.build(), profile);
  ASSERT_EQ(times.size(), profile.ops.size());
  EXPECT_EQ(time_of(profile, times, "backward"), 30u);
  EXPECT_EQ(time_of(profile, times, "mm"), 10u);
}

// The runtime logs as begun what is open as the iteration begins.
TEST(Cycle, AnOpThatIsCutTakesTheTimeOfBothParts) {
  Script whole;
  backward(whole.op("relu")).end("backward").op("loss");
  Script cut;
  cut.begin("backward").op("add_").end("backward").op("loss").op("relu").begin("backward").op("mm");
  const Profile profile = whole.build();
  const std::vector<std::uint64_t> times = times_in(cut.build(), profile);
  ASSERT_EQ(times.size(), profile.ops.size());
  EXPECT_EQ(time_of(profile, times, "backward"), 20u + 10u);
  // And the other way round: the part at the beginning has the time of the whole as well.
  const Profile parts = cut.build();
  const std::vector<std::uint64_t> back = times_in(profile, parts);
  ASSERT_EQ(back.size(), parts.ops.size());
  EXPECT_EQ(back.front(), 30u);
  EXPECT_EQ(time_of(parts, back, "mm"), 10u);
}

TEST(Cycle, AScopeAroundTheLoopStaysWhereItIs) {
  Script whole;
  backward(whole.begin("epoch").op("relu")).end("backward");
  Script turned;
  backward(turned.begin("epoch")).end("backward").op("relu");
  const Profile profile = whole.build();
  EXPECT_EQ(times_in(turned.build(), profile).size(), profile.ops.size());
}

TEST(Cycle, OtherOpsAreAnotherProgram) {
  Script whole;
  backward(whole.op("relu")).end("backward");
  Script other;
  backward(other.op("gelu")).end("backward");
  EXPECT_TRUE(times_in(other.build(), whole.build()).empty());
  Script more;
  backward(more.op("relu").op("relu")).end("backward");
  EXPECT_TRUE(times_in(more.build(), whole.build()).empty());
  EXPECT_TRUE(times_in(Script().build(), Script().build()).empty());
}

}  // namespace
}  // namespace hearth::costs
