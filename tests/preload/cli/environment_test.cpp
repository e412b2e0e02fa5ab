// What `hearth run` makes of the user's environment.
#include "cli/environment.h"

#include <gtest/gtest.h>

namespace hearth::cli {
namespace {

constexpr const char* kLibrary = "/opt/h/lib/libhearth.so";

TEST(PreloadFirst, PutsTheLibraryAheadAndKeepsTheRestInOrder) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", ""},
      {"a.so", ":a.so"},
      {"b.so:a.so", ":b.so:a.so"},
      {"b.so a.so", ":b.so:a.so"},
      {" : b.so  :", ":b.so"},
      {"/usr/lib/libjemalloc.so.2:/x/libtcmalloc.so", ":/usr/lib/libjemalloc.so.2:/x/libtcmalloc.so"},
      {"/x/libhearth.so.bak:/x/nothearth.so", ":/x/libhearth.so.bak:/x/nothearth.so"},
  };
  for (const auto& [existing, rest] : cases) {
    EXPECT_EQ(preload_first(existing, kLibrary).value, kLibrary + rest) << "'" << existing << "'";
  }
}

TEST(PreloadFirst, IsThereOnce) {
  const PreloadList same = preload_first(std::string("a.so:") + kLibrary + ":b.so", kLibrary);
  EXPECT_EQ(same.value, std::string(kLibrary) + ":a.so:b.so");
  EXPECT_TRUE(same.replaced.empty());
  const PreloadList other = preload_first("/old/libhearth.so:a.so", kLibrary);
  EXPECT_EQ(other.value, std::string(kLibrary) + ":a.so");
  EXPECT_EQ(other.replaced, std::vector<std::string>{"/old/libhearth.so"});
}

TEST(PreloadFirst, LeavesSanitizersAhead) {
  EXPECT_EQ(preload_first("a.so:/usr/lib/gcc/libasan.so.8:b.so", kLibrary).value,
            std::string("/usr/lib/gcc/libasan.so.8:") + kLibrary + ":a.so:b.so");
}

TEST(ShellQuoted, QuotesOnlyWhereNeeded) {
  const std::vector<std::pair<std::string, std::string>> cases = {{"plain", "plain"},
                                                                  {"/a/b.c-d_e", "/a/b.c-d_e"},
                                                                  {"NAME=value,x", "NAME=value,x"},
                                                                  {"", "''"},
                                                                  {"a b", "'a b'"},
                                                                  {"$HOME", "'$HOME'"},
                                                                  {"it's", "'it'\\''s'"},
                                                                  {"a\nb", "'a\nb'"},
                                                                  {"~user", "'~user'"},
                                                                  {"*", "'*'"},
                                                                  {"a;b", "'a;b'"},
                                                                  {"r.%p.json", "r.%p.json"}};
  for (const auto& [text, quoted] : cases) EXPECT_EQ(shell_quoted(text), quoted);
}

TEST(AsPointers, EndsInNull) {
  const std::vector<std::string> entries = as_entries({{"B", "2"}, {"A", "1=x"}});
  EXPECT_EQ(entries, (std::vector<std::string>{"A=1=x", "B=2"}));
  const std::vector<char*> pointers = as_pointers(entries);
  ASSERT_EQ(pointers.size(), 3u);
  EXPECT_STREQ(pointers[0], "A=1=x");
  EXPECT_EQ(pointers[2], nullptr);
}

}  // namespace
}  // namespace hearth::cli
