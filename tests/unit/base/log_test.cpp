// Log: each test runs in a child process, since level, file and counts belong to the process.
#include "base/log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

namespace hearth::log {
namespace {

// What `body` writes to stderr in a child; "PID" stands for the child's pid.
template <class Body>
std::string stderr_of(Body body) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    body();
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string output;
  char part[4096];
  for (ssize_t count = 0; (count = ::read(ends[0], part, sizeof part)) > 0;) {
    output.append(part, static_cast<std::size_t>(count));
  }
  ::close(ends[0]);
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  const std::string pid = std::to_string(child);
  for (std::size_t at = 0; (at = output.find(pid, at)) != std::string::npos; at += 3) {
    output.replace(at, pid.size(), "PID");
  }
  return output;
}

auto lines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

TEST(Log, IsSilentExceptForWarningsAndErrors) {
  std::string output = stderr_of([] {
    error("e", 1);
    warn("w", 2);
    info("i");
    debug("d");
    write(Level::warn, "ready made");
  });
  EXPECT_EQ(output, "[hearth:PID] E: e1\n[hearth:PID] W: w2\n[hearth:PID] W: ready made\n");
}

TEST(Log, ShowsTheLevelsAskedFor) {
  EXPECT_EQ(stderr_of([] {
              init(Level::debug, nullptr);
              info("i");
              debug("d");
            }),
            "[hearth:PID] I: i\n[hearth:PID] D: d\n");
  EXPECT_EQ(stderr_of([] {
              init(Level::error, "");
              warn("w");
            }),
            "");
}

TEST(Log, StopsAfterSixteenWarningsWithAClosingLine) {
  std::string output = stderr_of([] {
    for (int i = 0; i < 100; ++i) warn("number ", i);
    error("still heard");
  });
  EXPECT_EQ(lines(output), 18);
  EXPECT_NE(output.find("number 15\n[hearth:PID] W: more messages"), std::string::npos);
  EXPECT_EQ(output.find("number 16"), std::string::npos);
  EXPECT_NE(output.find("E: still heard"), std::string::npos);
}

TEST(Log, ShowsSixteenWarningsOfManyThreads) {
  std::string output = stderr_of([] {
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([] {
        for (int i = 0; i < 50; ++i) warn("w");
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  EXPECT_EQ(lines(output), 17);
}

constinit Once g_cause;

TEST(Log, TellsACauseOnce) {
  EXPECT_EQ(stderr_of([] {
              std::vector<std::thread> threads;
              for (int t = 0; t < 8; ++t) threads.emplace_back([] { warn_once(g_cause, "denied"); });
              for (std::thread& thread : threads) thread.join();
            }),
            "[hearth:PID] W: denied\n");
}

TEST(Log, KeepsAMessageOnOneLineAndBounded) {
  EXPECT_EQ(stderr_of([] { warn("a\nb\r\nc"); }), "[hearth:PID] W: a b  c\n");
  std::string output = stderr_of([] { warn(std::string(5000, 'x')); });
  EXPECT_LE(output.size(), kMaxLine + 1);
  EXPECT_EQ(output.substr(output.size() - 5), "x...\n");
}

TEST(Log, PreservesErrno) {
  EXPECT_EQ(stderr_of([] {
              init(Level::warn, "/nonexistent/log");
              ::close(STDERR_FILENO);
              errno = ERANGE;
              warn("nobody hears");
              ::_exit(errno == ERANGE ? 0 : 1);
            }),
            "");
}

TEST(Log, AppendsToAFileAlsoAfterTheProgramClosedAllFiles) {
  char directory[] = "/tmp/hearth_log_XXXXXX";
  ASSERT_NE(::mkdtemp(directory), nullptr);
  std::string path = std::string(directory) + "/log";
  std::string on_stderr = stderr_of([&] {
    bool opened = init(Level::warn, path.c_str());
    warn("first ", opened);
    for (int file = 3; file < 64; ++file) ::close(file);
    warn("second");
  });
  EXPECT_EQ(on_stderr, "");
  std::ifstream file(path);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_EQ(lines(text), 2);
  EXPECT_NE(text.find("W: first on\n"), std::string::npos);
  EXPECT_NE(text.find("W: second\n"), std::string::npos);
  ::unlink(path.c_str());
  ::rmdir(directory);
}

TEST(Log, FallsBackToStderrWhenTheFileCannotBeOpened) {
  EXPECT_EQ(stderr_of([] { warn(init(Level::warn, "/nonexistent/log") ? "opened" : "refused"); }),
            "[hearth:PID] W: refused\n");
}

}  // namespace
}  // namespace hearth::log
