#include "platform/os_process.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include "platform/os_memory.h"

namespace hearth::os {
namespace {

TEST(OsProcess, KnowsWhoItIsAlsoInAForkedChild) {
  EXPECT_EQ(process_id(), static_cast<std::uint32_t>(::getpid()));
  EXPECT_EQ(thread_id(), process_id());
  std::thread([] { EXPECT_NE(thread_id(), process_id()); }).join();
  std::uint32_t parent = process_id();
  pid_t child = ::fork();
  if (child == 0) {
    ::_exit(process_id() != parent && thread_id() == process_id() ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(OsProcess, KnowsTheHostName) {
  char expected[256];
  ASSERT_EQ(::gethostname(expected, sizeof expected), 0);
  char name[256];
  EXPECT_TRUE(host_name(name, sizeof name));
  EXPECT_STREQ(name, expected);
  char too_small[1] = {'x'};
  EXPECT_FALSE(host_name(too_small, sizeof too_small));
  EXPECT_STREQ(too_small, "");
}

TEST(OsProcess, ReadsTheEnvironment) {
  ::setenv("HEARTH_TEST_A", "value", 1);
  ::setenv("HEARTH_TEST_AB", "", 1);
  EXPECT_STREQ(environment("HEARTH_TEST_A"), "value");
  EXPECT_STREQ(environment("HEARTH_TEST_AB"), "");
  EXPECT_EQ(environment("HEARTH_TEST_"), nullptr);
  EXPECT_EQ(environment("HEARTH_TEST_ABC"), nullptr);
  int found = 0;
  for (std::size_t i = 0; environment_entry(i) != nullptr; ++i) {
    found += std::string(environment_entry(i)).rfind("HEARTH_TEST_A", 0) == 0;
  }
  EXPECT_EQ(found, 2);
}

TEST(OsProcess, SurvivesAnEmptyEnvironment) {
  pid_t child = ::fork();
  if (child == 0) {
    ::clearenv();
    bool good = environment("PATH") == nullptr && environment_entry(0) == nullptr;
    char* none[] = {nullptr};
    environ = none;
    ::_exit(good && environment("PATH") == nullptr ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(OsProcess, CountsMappings) {
  std::uint32_t before = mapping_count();
  ASSERT_GT(before, 10u);
  auto* range = static_cast<char*>(reserve(400 * page_size(), page_size()));
  for (std::size_t i = 0; i < 400; i += 2) {
    ASSERT_EQ(protect(range + i * page_size(), page_size(), Protection::read), 0);
  }
  EXPECT_GE(mapping_count(), before + 399);
  EXPECT_LE(mapping_count(), before + 410);
  unmap(range, 400 * page_size());

  std::ifstream file("/proc/sys/vm/max_map_count");
  std::uint32_t limit = 65530;
  file >> limit;
  EXPECT_EQ(max_mapping_count(), limit);
}

}  // namespace
}  // namespace hearth::os
