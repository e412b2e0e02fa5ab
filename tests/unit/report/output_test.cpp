// Where reports go: patterns, ranks, and other people's files.
#include "report/output.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "unit/report/example.h"

namespace {
std::atomic<int> allocations{0};
}

// Counts what publish may not do. Sanitizers bring an operator new of their own.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define HEARTH_COUNTS_ALLOCATIONS 1
// Not inlined, or the compiler sees malloc and free in pairs that it takes for mistakes.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#endif

namespace hearth::report {
namespace {

using testing::HasSubstr;

static_assert(std::is_trivially_destructible_v<Output>, "a global of a preloaded library");

TEST(ExpandPath, KnowsPidHostRankAndPercent) {
  const PathInputs inputs{123, "box", "", ""};
  EXPECT_EQ(expand_path("r-%p-%h-%r-%%.json", inputs), "r-123-box-0-%.json");
  EXPECT_EQ(expand_path("100%", inputs), "100%");
  EXPECT_EQ(expand_path("%q%", inputs), "%q%");
}

TEST(ExpandPath, AppendsTheRankOnlyWhereRanksWouldCollide) {
  const auto with = [](const char* pattern, const char* world) {
    return expand_path(pattern, {123, "box", "3", world});
  };
  EXPECT_EQ(with("out/r.json", "4"), "out/r.rank3.json");
  EXPECT_EQ(with("out.d/report", "4"), "out.d/report.rank3");
  EXPECT_EQ(with(".hidden", "4"), ".hidden.rank3");
  EXPECT_EQ(with("r.json", "1"), "r.json");
  EXPECT_EQ(with("r.json", "four"), "r.json");
  EXPECT_EQ(with("r.%p.json", "4"), "r.123.json");
  EXPECT_EQ(with("r.%r.json", "4"), "r.3.json");
}

TEST(NumberedPath, GoesBeforeTheExtension) {
  EXPECT_EQ(numbered_path("a/report.json", 0), "a/report.json");
  EXPECT_EQ(numbered_path("a/report.json", 12), "a/report.12.json");
  EXPECT_EQ(numbered_path("a.b/report", 1), "a.b/report.1");
}

class Files : public testing::Test {
 protected:
  void SetUp() override {
    directory = testing::TempDir() + "hearth_output_XXXXXX";
    ASSERT_NE(mkdtemp(directory.data()), nullptr);
    path = directory + "/report.json";
    prepared = prepare(facts, nullptr);
  }
  void TearDown() override { std::filesystem::remove_all(directory); }
  void touch(const std::string& file) { close(open(file.c_str(), O_WRONLY | O_CREAT, 0600)); }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(directory), {}));
  }
  std::string directory, path;
  RunFacts facts = test::example_facts();
  Prepared prepared;
};

TEST_F(Files, TheFirstFreeNameIsChosen) {
  EXPECT_EQ(choose_path(path, {})->path, path);
  EXPECT_FALSE(choose_path(path, {})->moved);
  touch(path);
  touch(directory + "/report.1.json");
  EXPECT_EQ(choose_path(path, {})->path, directory + "/report.2.json");
  EXPECT_TRUE(choose_path(path, {})->moved);
}

TEST_F(Files, WhatCannotWorkIsToldAtOnce) {
  EXPECT_THAT(choose_path(directory + "/none/r.json", {}).error(), HasSubstr("does not exist; create it"));
  EXPECT_THAT(choose_path(directory + "/", {}).error(), HasSubstr("names no file"));
  EXPECT_THAT(choose_path(directory, {}).error(), HasSubstr("is a directory"));
  EXPECT_THAT(choose_path(std::string(5000, 'x'), {}).error(), HasSubstr("too long"));
  touch(path);
  EXPECT_THAT(choose_path(path + "/r.json", {}).error(), HasSubstr("is not a directory"));
}

TEST_F(Files, PublishingAgainReplacesOnesOwnFile) {
  Output output;
  ASSERT_TRUE(output.set_path(path.c_str()));
  ASSERT_EQ(output.publish(prepared, facts.live), 0);
  facts.live.iterations_closed = 301;
  ASSERT_EQ(output.publish(prepared, facts.live), 0);
  EXPECT_EQ(nlohmann::json::parse(test::contents(path)).at("iterations").at("closed"), 301);
  EXPECT_FALSE(output.moved());
  EXPECT_EQ(files(), 1u) << "no temporary is left";
}

TEST_F(Files, SomebodyElsesFileIsLeftAlone) {
  Output output;
  ASSERT_TRUE(output.set_path(path.c_str()));
  touch(path);  // after the name was chosen, before the first publish
  ASSERT_EQ(output.publish(prepared, facts.live), 0);
  EXPECT_TRUE(output.moved());
  EXPECT_EQ(output.path(), directory + "/report.1.json");
  EXPECT_EQ(test::contents(path), "");
  ASSERT_EQ(output.publish(prepared, facts.live), 0);
  EXPECT_EQ(files(), 2u);
}

TEST_F(Files, TwoProcessesNeverShareAName) {
  Output first, second;
  ASSERT_TRUE(first.set_path(path.c_str()) && second.set_path(path.c_str()));
  ASSERT_EQ(first.publish(prepared, facts.live), 0);
  ASSERT_EQ(second.publish(prepared, facts.live), 0);
  EXPECT_STRNE(first.path(), second.path());
}

TEST_F(Files, ErrorsAreErrnoValuesAndLeaveNothing) {
  Output output;
  ASSERT_TRUE(output.set_path((directory + "/gone/r.json").c_str()));
  EXPECT_EQ(output.publish(prepared, facts.live), ENOENT);
  EXPECT_EQ(output.publish(prepared, facts.live), ENOENT) << "and it may be tried again";
  EXPECT_FALSE(output.set_path(std::string(4090, 'x').c_str()));
}

TEST_F(Files, DevicesAreWrittenToAsTheyAre) {
  EXPECT_EQ(choose_path("/dev/null", {})->path, "/dev/null");
  Output output;
  const int former = dup(STDOUT_FILENO);
  ASSERT_GE(dup2(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600), STDOUT_FILENO), 0);
  EXPECT_EQ(choose_path("/dev/stdout", {})->path, "/dev/stdout") << "a redirected one is no file that is in the way";
  ASSERT_TRUE(output.set_path("/dev/stdout"));
  const int published = output.publish(prepared, facts.live);
  dup2(former, STDOUT_FILENO);
  close(former);
  EXPECT_EQ(published, 0);
  EXPECT_FALSE(nlohmann::json::parse(test::contents(path), nullptr, false).is_discarded());
  ASSERT_TRUE(output.set_path("/dev/full"));
  EXPECT_EQ(output.publish(prepared, facts.live), ENOSPC);
  const std::string fifo = directory + "/fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const int reader = open(fifo.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_TRUE(output.set_path(fifo.c_str()));
  ASSERT_EQ(output.publish(prepared, facts.live), 0);
  std::string text(65536, '\0');
  text.resize(static_cast<std::size_t>(read(reader, text.data(), text.size())));
  close(reader);
  EXPECT_FALSE(nlohmann::json::parse(text, nullptr, false).is_discarded());
}

Output signal_output;
const Prepared* signal_prepared;
LiveFacts signal_live;
volatile sig_atomic_t signal_error = -1;

void publish_in_handler(int) { signal_error = signal_output.publish(*signal_prepared, signal_live); }

TEST_F(Files, PublishingWorksInASignalHandlerOnASmallStack) {
  const profile::Profile profile = test::golden_profile();
  prepared = prepare(facts, &profile);
  signal_prepared = &prepared;
  signal_live = facts.live;
  ASSERT_TRUE(signal_output.set_path(path.c_str()));
  static char small[16384];
  stack_t stack{}, before{};
  stack.ss_sp = small;
  stack.ss_size = sizeof(small);
  ASSERT_EQ(sigaltstack(&stack, &before), 0);
  struct sigaction action {
  }, former{};
  action.sa_handler = publish_in_handler;
  action.sa_flags = SA_ONSTACK;
  ASSERT_EQ(sigaction(SIGUSR2, &action, &former), 0);
  const int allocations_before = allocations;
  raise(SIGUSR2);
  EXPECT_EQ(allocations, allocations_before);
  EXPECT_EQ(signal_error, 0);
  sigaction(SIGUSR2, &former, nullptr);
  sigaltstack(&before, nullptr);
  const auto report = nlohmann::json::parse(test::contents(path));
  EXPECT_EQ(report.at("profile").at("ops").at("rows").size(), 10u);
}

}  // namespace
}  // namespace hearth::report
