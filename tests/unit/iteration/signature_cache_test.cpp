#include "iteration/signature_cache.h"

#include <gtest/gtest.h>

#include <array>

namespace hearth::iteration {
namespace {

Signature of(std::uint64_t shape) { return {shape, shape * 31, 10, 5}; }

class SignatureCacheTest : public ::testing::Test {
 protected:
  std::uint32_t count(std::uint64_t shape) {
    Signature signature = of(shape);
    return cache.count(&signature);
  }
  std::array<SignatureCache::Entry, 3> entries{};
  SignatureCache cache;
  void SetUp() override { cache.attach(entries.data(), 3); }
};

TEST_F(SignatureCacheTest, CountsEachByItself) {
  EXPECT_EQ(count(1), 1u);
  EXPECT_EQ(count(1), 2u);
  EXPECT_EQ(count(2), 1u);
  EXPECT_EQ(count(1), 3u);
  EXPECT_EQ(cache.size(), 2u);
}

TEST_F(SignatureCacheTest, TheUsualOneSurvivesAnyNumberOfOthers) {
  for (int i = 0; i < 5; ++i) count(1);
  for (std::uint64_t odd = 100; odd < 200; ++odd) EXPECT_EQ(count(odd), 1u);
  EXPECT_EQ(cache.size(), 3u);
  EXPECT_EQ(count(1), 6u);
}

TEST_F(SignatureCacheTest, TheLeastRecentlySeenOfTheRestGoes) {
  for (int i = 0; i < 5; ++i) count(1);
  count(2);
  count(3);
  count(2);
  count(4);  // 3 goes
  EXPECT_EQ(count(2), 3u);
  EXPECT_EQ(count(3), 1u);
}

TEST_F(SignatureCacheTest, SignatureWithoutOpsIsCompletedFromTheCache) {
  count(1);
  Signature bare = of(1);
  bare.ops = 0;
  bare.op_count = 0;
  EXPECT_EQ(cache.count(&bare), 2u);
  EXPECT_EQ(bare, of(1));
}

TEST_F(SignatureCacheTest, SignatureLearntWithoutOpsIsCompletedWhenTheyCome) {
  Signature bare{0, of(1).exact, 0, 5};
  EXPECT_EQ(cache.count(&bare), 1u);
  EXPECT_EQ(count(1), 2u);
  EXPECT_EQ(cache.size(), 1u);
}

TEST_F(SignatureCacheTest, SameOpsOnOtherShapesAreAnotherSignature) {
  Signature first = of(1);
  Signature other = of(1);
  other.exact += 1;
  EXPECT_EQ(cache.count(&first), 1u);
  EXPECT_EQ(cache.count(&other), 1u);
}

TEST(SignatureCacheUnattached, RemembersNothing) {
  SignatureCache cache;
  Signature signature = of(1);
  EXPECT_EQ(cache.count(&signature), 1u);
  EXPECT_EQ(cache.count(&signature), 1u);
  EXPECT_EQ(cache.size(), 0u);
}

}  // namespace
}  // namespace hearth::iteration
