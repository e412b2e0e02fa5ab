#include "trace/names.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace hearth::trace {
namespace {

TEST(NameTable, GivesEqualTextsOneIdAndNumbersThemFromOne) {
  NameTable names;
  ASSERT_TRUE(names.init(100, 10'000));
  EXPECT_EQ(names.intern("aten::add").value, 1u);
  EXPECT_EQ(names.intern("aten::mul").value, 2u);
  EXPECT_EQ(names.intern(std::string("aten::add")).value, 1u);
  EXPECT_EQ(names.count(), 2u);
  EXPECT_EQ(names.text(NameId{1}), "aten::add");
  EXPECT_EQ(names.text(NameId{2}), "aten::mul");
}

TEST(NameTable, TakesAnyText) {
  NameTable names;
  ASSERT_TRUE(names.init(100, 200'000));
  std::string_view texts[] = {"", "a", std::string_view("a\0b", 3), "\xff\xfe", "aten::add", "aten::add_"};
  for (std::string_view text : texts) {
    NameId id = names.intern(text);
    ASSERT_TRUE(id);
    EXPECT_EQ(names.text(id), text);
    EXPECT_EQ(names.text(id).data()[text.size()], '\0');
    EXPECT_EQ(names.intern(text), id);
  }
  EXPECT_EQ(names.count(), std::size(texts));
  std::string endless(100'000, 'x');
  EXPECT_EQ(names.text(names.intern(endless)).size(), NameTable::kMaxLength);
}

TEST(NameTable, AnswersUnknownIdsWithTheEmptyText) {
  NameTable names;
  EXPECT_FALSE(names.intern("before init"));
  EXPECT_EQ(names.text(NameId{1}), "");
  ASSERT_TRUE(names.init(10, 100));
  names.intern("one");
  EXPECT_EQ(names.text(NameId{}), "");
  EXPECT_EQ(names.text(NameId{2}), "");
  EXPECT_EQ(names.text(NameId{0xffffffff}), "");
}

TEST(NameTable, KeepsWhatItHasWhenFull) {
  NameTable names;
  ASSERT_TRUE(names.init(3, 1'000));
  for (const char* text : {"a", "b", "c"}) {
    EXPECT_TRUE(names.intern(text));
  }
  EXPECT_FALSE(names.intern("d"));
  EXPECT_EQ(names.intern("b").value, 2u);
  EXPECT_EQ(names.count(), 3u);

  NameTable short_of_bytes;
  ASSERT_TRUE(short_of_bytes.init(100, 16));
  EXPECT_TRUE(short_of_bytes.intern("0123456789"));
  EXPECT_FALSE(short_of_bytes.intern("abcdefghij"));
  EXPECT_TRUE(short_of_bytes.intern("abc"));
  EXPECT_EQ(short_of_bytes.count(), 2u);
}

TEST(NameTable, GivesRacingThreadsTheSameDenseIds) {
  constexpr unsigned kThreads = 4;
  constexpr unsigned kTexts = 5'000;
  auto names = std::make_unique<NameTable>();
  ASSERT_TRUE(names->init(kTexts, 1 << 20));
  std::vector<std::vector<std::uint32_t>> ids(kThreads, std::vector<std::uint32_t>(kTexts));
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (unsigned i = 0; i < kTexts; ++i) {
        ids[t][i] = names->intern("module.layer." + std::to_string(i)).value;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(names->count(), kTexts);
  std::set<std::uint32_t> distinct;
  for (unsigned i = 0; i < kTexts; ++i) {
    for (unsigned t = 1; t < kThreads; ++t) {
      ASSERT_EQ(ids[t][i], ids[0][i]);
    }
    ASSERT_EQ(names->text(NameId{ids[0][i]}), "module.layer." + std::to_string(i));
    distinct.insert(ids[0][i]);
  }
  EXPECT_EQ(*distinct.begin(), 1u);
  EXPECT_EQ(*distinct.rbegin(), kTexts);
  EXPECT_EQ(distinct.size(), kTexts);
}

}  // namespace
}  // namespace hearth::trace
