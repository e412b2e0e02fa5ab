// A program beside this one: what it gets from us, and what we see of it.
#include "platform/os_spawn.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

namespace hearth::os {
namespace {

class OsSpawnTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(make_private_folder(folder_, sizeof folder_), 0);
    output_ = std::string(folder_) + "/output";
  }
  void TearDown() override {
    remove_file(output_.c_str());
    remove_folder(folder_);
    EXPECT_FALSE(std::filesystem::exists(folder_));
  }

  std::uint32_t start(const char* script) {
    const char* const argv[] = {"/bin/sh", "-c", script, nullptr};
    std::uint32_t pid = 0;
    EXPECT_EQ(start_beside(argv, output_.c_str(), &pid), 0);
    return pid;
  }

  std::string output_of(const char* script) {
    const std::uint32_t pid = start(script);
    for (int i = 0; i < 1000 && runs(pid); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_FALSE(runs(pid));
    std::ifstream file(output_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  char folder_[256] = {};
  std::string output_;
};

TEST_F(OsSpawnTest, PrintsIntoTheFile) { EXPECT_EQ(output_of("echo out; echo err >&2"), "out\nerr\n"); }

TEST_F(OsSpawnTest, HasOurEnvironmentButForWhatIsHearths) {
  setenv("LD_PRELOAD", "/nonexistent.so", 1);
  setenv("HEARTH_STRICT", "1", 1);
  setenv("SOMETHING", "else", 1);
  const std::string text = output_of("env");
  unsetenv("LD_PRELOAD");
  unsetenv("HEARTH_STRICT");
  EXPECT_NE(text.find("SOMETHING=else\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("LD_PRELOAD"), std::string::npos) << text;
  EXPECT_EQ(text.find("HEARTH_"), std::string::npos) << text;
}

TEST_F(OsSpawnTest, HasNoneOfOurFilesAndTheLowestPriority) {
  const int file = open("/dev/null", O_RDONLY);
  ASSERT_GE(fcntl(file, F_DUPFD, 100), 100);
  EXPECT_EQ(output_of("for f in /proc/self/fd/*; do n=${f##*/}; [ $n -gt 99 ] && echo open $n; done; nice"), "19\n");
  close(100);
  close(file);
}

TEST_F(OsSpawnTest, IsNoChildOfOurs) {
  static volatile sig_atomic_t told = 0;
  told = 0;
  const auto former = signal(SIGCHLD, [](int) { told = told + 1; });
  const std::uint32_t pid = start("sleep 30");
  EXPECT_TRUE(runs(pid));
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
  kill(static_cast<pid_t>(pid), SIGKILL);
  for (int i = 0; i < 1000 && runs(pid); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(runs(pid));
  EXPECT_EQ(told, 0);
  signal(SIGCHLD, former);
}

TEST_F(OsSpawnTest, HasSignalsAsByDefault) {
  const auto former = signal(SIGTERM, SIG_IGN);
  sigset_t mask;
  sigset_t before;
  sigfillset(&mask);
  sigprocmask(SIG_SETMASK, &mask, &before);
  const std::string text = output_of("grep -E '^Sig(Blk|Ign)' /proc/self/status");
  sigprocmask(SIG_SETMASK, &before, nullptr);
  signal(SIGTERM, former);
  EXPECT_EQ(text, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

TEST_F(OsSpawnTest, TellsWhyItDidNotStart) {
  const char* const argv[] = {"/nonexistent/program", nullptr};
  std::uint32_t pid = 0;
  EXPECT_EQ(start_beside(argv, output_.c_str(), &pid), ENOENT);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
}

TEST_F(OsSpawnTest, FoldersAreOursAlone) {
  EXPECT_EQ(std::filesystem::status(folder_).permissions(), std::filesystem::perms::owner_all);
  setenv("TMPDIR", "/nonexistent", 1);
  char folder[256];
  EXPECT_EQ(make_private_folder(folder, sizeof folder), ENOENT);
  unsetenv("TMPDIR");
  char small[8];
  EXPECT_EQ(make_private_folder(small, sizeof small), ENAMETOOLONG);
}

}  // namespace
}  // namespace hearth::os
