// lives_of(): what tensors cannot do is counted.
#include "scale/lives.h"

#include <gtest/gtest.h>

#include "program.h"

namespace hearth::scale {
namespace {

TEST(Lives, CountsWhatTensorsCannotDo) {
  Program program;
  program.live(1, 100).alloc(2, 10).begin("op").reads(1, 100).reads(2, 10).end("op").free(1);
  EXPECT_EQ(lives_of(program.trace().events).wrong, 0u);
  EXPECT_EQ(lives_of(program.trace().events).tensors, 2u);
  EXPECT_EQ(lives_of(program.trace().events).left, -90);
  program.free(1);
  EXPECT_EQ(lives_of(program.trace().events).wrong, 1u);
  program.begin("op").reads(1, 100).end("op");
  EXPECT_EQ(lives_of(program.trace().events).wrong, 2u);
  program.alloc(2, 10);
  EXPECT_EQ(lives_of(program.trace().events).wrong, 3u);
  program.reads(9, 1).free(8);
  EXPECT_EQ(lives_of(program.trace().events).wrong, 5u);
}

}  // namespace
}  // namespace hearth::scale
