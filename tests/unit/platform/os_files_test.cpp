#include "platform/os_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>

namespace hearth::os {
namespace {

class OsFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/hearth_files_XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    directory_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string path(const std::string& name) const { return directory_ + "/" + name; }
  static void put(const std::string& path, const std::string& content) { std::ofstream(path) << content; }
  static std::string get(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  auto files() const {
    return std::distance(std::filesystem::directory_iterator(directory_), std::filesystem::directory_iterator());
  }

  std::string directory_;
  std::unique_ptr<NewFile> new_file_ = std::make_unique<NewFile>();
};

TEST_F(OsFilesTest, PathsAreKnownFromTheRoot) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(directory_);
  char out[4096];
  const std::string expected = std::filesystem::canonical(directory_).string() + "/r.json";
  EXPECT_EQ(absolute_path("r.json", out, sizeof out), expected.size());
  EXPECT_EQ(out, expected);
  EXPECT_EQ(absolute_path("r.json", out, expected.size() + 1), expected.size()) << "exactly full";
  for (std::size_t small = 1; small <= expected.size(); ++small) EXPECT_EQ(absolute_path("r.json", out, small), 0u);
  EXPECT_EQ(absolute_path("/tmp/x", out, sizeof out), 6u);
  EXPECT_STREQ(out, "/tmp/x");
  std::filesystem::create_directory("gone");
  std::filesystem::current_path("gone");
  std::filesystem::remove(directory_ + "/gone");
  errno = ERANGE;
  EXPECT_EQ(absolute_path("r.json", out, sizeof out), 0u);
  EXPECT_EQ(errno, ERANGE);
  std::filesystem::current_path("/");
  EXPECT_EQ(absolute_path("r.json", out, sizeof out), 7u);
  EXPECT_STREQ(out, "/r.json");
  std::filesystem::current_path(before);
}

TEST_F(OsFilesTest, ReadsAWholeFile) {
  put(path("a"), "hello");
  char buffer[16];
  std::size_t length = 99;
  EXPECT_EQ(read_file(path("a").c_str(), buffer, sizeof buffer, &length), 0);
  EXPECT_EQ(length, 5u);
  EXPECT_STREQ(buffer, "hello");
  EXPECT_EQ(read_file(path("a").c_str(), buffer, 6, &length), 0) << "exactly full";
  EXPECT_EQ(read_file(path("a").c_str(), buffer, 5, &length), EFBIG);
  EXPECT_STREQ(buffer, "hell");
  errno = ERANGE;
  EXPECT_EQ(read_file(path("absent").c_str(), buffer, sizeof buffer, &length), ENOENT);
  EXPECT_EQ(errno, ERANGE);
  EXPECT_EQ(length, 0u);
  EXPECT_STREQ(buffer, "");
  EXPECT_EQ(read_file(directory_.c_str(), buffer, sizeof buffer, &length), EISDIR);
}

TEST_F(OsFilesTest, WritesEverythingThroughAPipe) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  std::string sent(1 << 20, 'x');  // more than a pipe takes at once
  sent[1000] = 'y';
  std::string received;
  std::thread reader([&] {
    char part[5000];
    std::size_t count = 0;
    while (read_some(ends[0], part, sizeof part, &count) == 0 && count != 0) received.append(part, count);
  });
  EXPECT_EQ(write_all(ends[1], sent.data(), sent.size()), 0);
  ::close(ends[1]);
  reader.join();
  EXPECT_EQ(received, sent);
  EXPECT_EQ(write_all(ends[1], "x", 1), EBADF);
  std::size_t count = 7;
  EXPECT_EQ(read_some(ends[1], received.data(), 1, &count), EBADF);
  EXPECT_EQ(count, 0u);
  ::close(ends[0]);
}

TEST_F(OsFilesTest, ShowsANewFileOnlyWhenItIsComplete) {
  ASSERT_EQ(create(path("report").c_str(), new_file_.get()), 0);
  EXPECT_EQ(write_all(new_file_->file, "part", 4), 0);
  EXPECT_FALSE(std::filesystem::exists(path("report")));
  EXPECT_EQ(write_all(new_file_->file, "ial", 3), 0);
  EXPECT_EQ(publish(new_file_.get(), Existing::keep), 0);
  EXPECT_EQ(get(path("report")), "partial");
  EXPECT_EQ(files(), 1);
}

TEST_F(OsFilesTest, NeverOverwritesUnlessAsked) {
  put(path("report"), "old");
  ASSERT_EQ(create(path("report").c_str(), new_file_.get()), 0);
  EXPECT_EQ(write_all(new_file_->file, "new", 3), 0);
  EXPECT_EQ(publish(new_file_.get(), Existing::keep), EEXIST);
  EXPECT_EQ(get(path("report")), "old");
  EXPECT_EQ(publish(new_file_.get(), Existing::keep, path("report.1").c_str()), 0);
  EXPECT_EQ(get(path("report.1")), "new");

  ASSERT_EQ(create(path("report").c_str(), new_file_.get()), 0);
  EXPECT_EQ(publish(new_file_.get(), Existing::replace), 0);
  EXPECT_EQ(get(path("report")), "");
  EXPECT_EQ(files(), 2);
}

TEST_F(OsFilesTest, AbandonsWithoutATrace) {
  ASSERT_EQ(create(path("report").c_str(), new_file_.get()), 0);
  EXPECT_EQ(files(), 1);
  abandon(new_file_.get());
  EXPECT_EQ(files(), 0);
  abandon(new_file_.get());
}

TEST_F(OsFilesTest, TellsWhyANewFileCannotBe) {
  EXPECT_EQ(create(path("no/such/folder").c_str(), new_file_.get()), ENOENT);
  EXPECT_EQ(create(std::string(5000, 'x').c_str(), new_file_.get()), ENAMETOOLONG);
  abandon(new_file_.get());
}

// Two writers of one path in one process do not write into each other's temporary file.
TEST_F(OsFilesTest, GivesEveryWriterItsOwnTemporaryFile) {
  auto other = std::make_unique<NewFile>();
  ASSERT_EQ(create(path("report").c_str(), new_file_.get()), 0);
  ASSERT_EQ(create(path("report").c_str(), other.get()), 0);
  EXPECT_STRNE(new_file_->temporary, other->temporary);
  EXPECT_EQ(publish(new_file_.get(), Existing::keep), 0);
  EXPECT_EQ(publish(other.get(), Existing::keep), EEXIST);
  abandon(other.get());
  EXPECT_EQ(files(), 1);
}

}  // namespace
}  // namespace hearth::os
