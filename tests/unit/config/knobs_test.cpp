// Where knobs come from, which source wins, and what the user is told about mistakes.
#include "config/knobs.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace hearth::config {
namespace {

namespace fs = std::filesystem;

struct Loaded {
  Knobs knobs;
  KnobOrigins origins;
  Problems problems;

  std::vector<std::string> messages() const {
    std::vector<std::string> texts;
    for (std::uint32_t i = 0; i < problems.count; ++i) texts.emplace_back(problems.list[i].text);
    return texts;
  }
  std::string value(std::string_view name) const {
    char text[kPathCapacity];
    return {text, format_value(knobs, *find_knob(name), text, sizeof text)};
  }
};

class KnobsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("hearth-knobs-" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string file(const std::string& name, const std::string& content) {
    const std::string path = folder_ / name;
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

  std::unique_ptr<Loaded> load_with(const std::vector<std::string>& environment, const char* system_file = nullptr,
                                    bool secure = false) {
    std::vector<const char*> entries;
    for (const std::string& entry : environment) entries.push_back(entry.c_str());
    entries.push_back(nullptr);
    auto loaded = std::make_unique<Loaded>();
    load(loaded->knobs, loaded->origins, loaded->problems,
         {.environment = entries.data(), .system_file = system_file, .secure = secure});
    return loaded;
  }

  fs::path folder_;
};

using Messages = std::vector<std::string>;

TEST_F(KnobsTest, DefaultsWithoutAnySource) {
  auto loaded = std::make_unique<Loaded>();
  load(loaded->knobs, loaded->origins, loaded->problems, {.environment = nullptr, .system_file = nullptr});
  const Knobs& knobs = loaded->knobs;
  EXPECT_TRUE(knobs.enable);
  EXPECT_FALSE(knobs.strict);
  EXPECT_EQ(knobs.log, log::Level::warn);
  EXPECT_EQ(knobs.profile, ProfileMode::faults);
  EXPECT_EQ(knobs.perf, PerfMode::automatic);
  EXPECT_EQ(knobs.min_size, 16u * 1024);
  EXPECT_EQ(knobs.events, 4u * 1024 * 1024);
  EXPECT_TRUE(knobs.report.empty());
  EXPECT_TRUE(loaded->messages().empty());
  EXPECT_EQ(loaded->origins[KnobIndex::min_size], Origin::built_in);
}

TEST_F(KnobsTest, EveryDefaultIsShownAsTheTableSays) {
  const auto loaded = load_with({});
  for (const KnobRow& row : kKnobs) EXPECT_EQ(loaded->value(row.name), row.default_text) << row.name;
}

TEST_F(KnobsTest, EveryWordOfAChoiceIsItsEnum) {
  EXPECT_EQ(load_with({"HEARTH_PROFILE=off"})->knobs.profile, ProfileMode::off);
  EXPECT_EQ(load_with({"HEARTH_PROFILE=ops"})->knobs.profile, ProfileMode::ops);
  EXPECT_EQ(load_with({"HEARTH_PROFILE=pages"})->knobs.profile, ProfileMode::pages);
  EXPECT_EQ(load_with({"HEARTH_PERF=off"})->knobs.perf, PerfMode::off);
  EXPECT_EQ(load_with({"HEARTH_PERF=faults"})->knobs.perf, PerfMode::faults);
  EXPECT_EQ(load_with({"HEARTH_PERF=precise"})->knobs.perf, PerfMode::precise);
  EXPECT_EQ(load_with({"HEARTH_LOG=error"})->knobs.log, log::Level::error);
  EXPECT_EQ(load_with({"HEARTH_LOG=info"})->knobs.log, log::Level::info);
  EXPECT_EQ(load_with({"HEARTH_LOG=debug"})->knobs.log, log::Level::debug);
}

TEST_F(KnobsTest, SourcesOverrideEachOtherInOrder) {
  const std::string system = file("system", "HEARTH_MIN_SIZE=1M\nHEARTH_SIGNATURES=2\nHEARTH_STATS=on\n");
  const std::string user = file("user", "HEARTH_MIN_SIZE=2M\nHEARTH_SIGNATURES=3\n");
  const auto loaded = load_with({"HEARTH_CONFIG=" + user, "HEARTH_MIN_SIZE=3M"}, system.c_str());
  EXPECT_EQ(loaded->messages(), Messages{});
  EXPECT_EQ(loaded->value("HEARTH_MIN_SIZE"), "3M");
  EXPECT_EQ(loaded->origins[KnobIndex::min_size], Origin::environment);
  EXPECT_EQ(loaded->knobs.signatures, 3u);
  EXPECT_EQ(loaded->origins[KnobIndex::signatures], Origin::user_file);
  EXPECT_TRUE(loaded->knobs.stats);
  EXPECT_EQ(loaded->origins[KnobIndex::stats], Origin::system_file);
  EXPECT_EQ(loaded->origins[KnobIndex::report], Origin::built_in);
}

TEST_F(KnobsTest, SystemFileMayNameTheUserFile) {
  const std::string user = file("user", "HEARTH_SIGNATURES=3\n");
  const std::string system = file("system", "HEARTH_CONFIG=" + user + "\n");
  EXPECT_EQ(load_with({}, system.c_str())->knobs.signatures, 3u);
  EXPECT_EQ(load_with({"HEARTH_CONFIG="}, system.c_str())->knobs.signatures, 8u) << "switched off by the environment";
}

TEST_F(KnobsTest, SecureProgramsIgnoreTheEnvironmentAndItsFile) {
  const std::string user = file("user", "HEARTH_SIGNATURES=3\n");
  const std::string system = file("system", "HEARTH_STATS=1\n");
  const auto loaded = load_with({"HEARTH_CONFIG=" + user, "HEARTH_MIN_SIZE=3M", "HEARTH_X=1"}, system.c_str(), true);
  EXPECT_EQ(loaded->knobs.signatures, 8u);
  EXPECT_EQ(loaded->knobs.min_size, 16u * 1024);
  EXPECT_TRUE(loaded->knobs.stats);
  EXPECT_EQ(loaded->messages(), Messages{});
}

TEST_F(KnobsTest, EmptyValueRestoresTheDefault) {
  const std::string system = file("system", "HEARTH_MIN_SIZE=1M\nHEARTH_REPORT=/tmp/r.json\n");
  const auto loaded = load_with({"HEARTH_MIN_SIZE=", "HEARTH_REPORT=  ", "HEARTH_STATS="}, system.c_str());
  EXPECT_EQ(loaded->value("HEARTH_MIN_SIZE"), "16K");
  EXPECT_TRUE(loaded->knobs.report.empty());
  EXPECT_FALSE(loaded->knobs.stats);
  EXPECT_EQ(loaded->messages(), Messages{});
}

TEST_F(KnobsTest, BadValueIsToldAndLeavesTheKnobAlone) {
  EXPECT_EQ(load_with({"HEARTH_MIN_SIZE=12Q"})->messages(),
            Messages{"HEARTH_MIN_SIZE=12Q: not a size (use e.g. 16K, 2M); using 16K"});
  EXPECT_EQ(load_with({"HEARTH_STATS=maybe"})->messages(),
            Messages{"HEARTH_STATS=maybe: not a switch (use 1 or 0, on or off, true or false, yes or no); using 0"});
  EXPECT_EQ(load_with({"HEARTH_PROFILE=all"})->messages(),
            Messages{"HEARTH_PROFILE=all: not one of off|ops|faults|pages; using faults"});
  EXPECT_EQ(load_with({"HEARTH_SIGNATURES=65"})->messages(),
            Messages{"HEARTH_SIGNATURES=65: out of range 1..64; using 8"});
  EXPECT_EQ(load_with({"HEARTH_SHORT_OPS=-3"})->messages(),
            Messages{"HEARTH_SHORT_OPS=-3: not a whole number in 1..1000000; using 64"});
  EXPECT_EQ(
      load_with({"HEARTH_INTERLEAVE=1:x"})->messages(),
      Messages{"HEARTH_INTERLEAVE=1:x: neither a percentage nor weights of fast and slow up to 1000 (use e.g. 50, "
               "1:2); using 50"});
  EXPECT_EQ(load_with({"HEARTH_INTERLEAVE=1:2"})->value("HEARTH_INTERLEAVE"), "1:2");
  EXPECT_EQ(load_with({"HEARTH_INTERLEAVE=30:70"})->value("HEARTH_INTERLEAVE"), "30");
  EXPECT_EQ(load_with({"HEARTH_EVENTS=many"})->messages(),
            Messages{"HEARTH_EVENTS=many: not a number (use e.g. 65536, 4M); using 4M"});
  const auto long_path = load_with({"HEARTH_REPORT=" + std::string(5000, 'x')});
  EXPECT_EQ(long_path->messages(),
            Messages{"HEARTH_REPORT=" + std::string(64, 'x') + "...: longer than 4095 bytes; using none"});
}

TEST_F(KnobsTest, BadValueKeepsWhatAFileSaid) {
  const std::string system = file("system", "HEARTH_MIN_SIZE=1M\n");
  const auto loaded = load_with({"HEARTH_MIN_SIZE=lots"}, system.c_str());
  EXPECT_EQ(loaded->messages(), Messages{"HEARTH_MIN_SIZE=lots: not a size (use e.g. 16K, 2M); using 1M"});
  EXPECT_EQ(loaded->origins[KnobIndex::min_size], Origin::system_file);
}

TEST_F(KnobsTest, MessagesStayOneLine) {
  EXPECT_EQ(load_with({"HEARTH_STATS=a\nb\x1b[31m"})->messages().at(0).substr(0, 22), "HEARTH_STATS=a?b?[31m:");
}

TEST_F(KnobsTest, UnknownNameGetsTheNearestKnown) {
  const std::vector<std::pair<std::string, std::string>> cases = {{"HEARTH_MINSIZE", "HEARTH_MIN_SIZE"},
                                                                  {"HEARTH_REPROT", "HEARTH_REPORT"},
                                                                  {"HEARTH_STAT", "HEARTH_STATS"},
                                                                  {"HEARTH_PROFIL", "HEARTH_PROFILE"},
                                                                  {"HEARTH_ENABLED", "HEARTH_ENABLE"},
                                                                  {"HEARTH_PERV", "HEARTH_PERF"},
                                                                  {"HEARTH_PAGE_SAMPLE", "HEARTH_PAGES_SAMPLES"},
                                                                  {"HEARTH_FAST", "HEARTH_FAST_CAPACITY"}};
  for (const auto& [typed, meant] : cases) {
    EXPECT_EQ(load_with({typed + "=1"})->messages(), Messages{typed + ": no such knob; did you mean " + meant + "?"});
  }
  EXPECT_EQ(load_with({"HEARTH_ZEBRAS_EVERYWHERE=1"})->messages(),
            Messages{"HEARTH_ZEBRAS_EVERYWHERE: no such knob; `hearth knobs` lists them"});
  EXPECT_EQ(load_with({"HEARTH_" + std::string(200, 'A') + "=1"})->messages().size(), 1u);
}

TEST_F(KnobsTest, OtherVariablesAreNotOurs) {
  EXPECT_EQ(load_with({"HOME=/root", "HEARTHSTONE=1", "HEARTH=1", "HEARTH_", "HEARTH_=1", "=x", ""})->messages(),
            Messages{});
}

TEST_F(KnobsTest, FirstOfTwoEqualNamesCountsLikeGetenv) {
  EXPECT_EQ(load_with({"HEARTH_MIN_SIZE=1M", "HEARTH_MIN_SIZE=2M"})->value("HEARTH_MIN_SIZE"), "1M");
}

TEST_F(KnobsTest, TooManyProblemsAreCounted) {
  std::vector<std::string> environment;
  for (int i = 0; i < 20; ++i) environment.push_back("HEARTH_ZEBRA_NUMBER_" + std::to_string(i) + "=1");
  const auto loaded = load_with(environment);
  EXPECT_EQ(loaded->problems.count, Problems::kCapacity);
  EXPECT_EQ(loaded->problems.dropped, 4u);
}

TEST_F(KnobsTest, StrictMayComeFromAnywhere) {
  const std::string system = file("system", "HEARTH_STRICT=yes\n");
  const auto loaded = load_with({"HEARTH_MIN_SIZE=12Q"}, system.c_str());
  EXPECT_TRUE(loaded->knobs.strict);
  EXPECT_EQ(loaded->problems.count, 1u);
}

TEST_F(KnobsTest, FileSyntax) {
  const std::string user = file("user",
                                "# a comment\r\n"
                                "\n"
                                "  HEARTH_MIN_SIZE = 64K   # trailing comment\r\n"
                                "HEARTH_REPORT=\"/tmp/a #1 .json\"  # quoted\n"
                                "HEARTH_TRACE='/tmp/b.trace'\n"
                                "HEARTH_LOG_FILE=/tmp/c#2.log\n"
                                "HEARTH_SIGNATURES=3");
  const auto loaded = load_with({"HEARTH_CONFIG=" + user});
  EXPECT_EQ(loaded->messages(), Messages{});
  EXPECT_EQ(loaded->value("HEARTH_MIN_SIZE"), "64K");
  EXPECT_STREQ(loaded->knobs.report.c_str(), "/tmp/a #1 .json");
  EXPECT_STREQ(loaded->knobs.trace.c_str(), "/tmp/b.trace");
  EXPECT_STREQ(loaded->knobs.log_file.c_str(), "/tmp/c#2.log");
  EXPECT_EQ(loaded->knobs.signatures, 3u) << "last line without newline";
}

TEST_F(KnobsTest, MistakesInAFileNameTheLine) {
  const std::string user = file("user",
                                "HEARTH_MIN_SIZE\n"
                                "HEARTH_SIGNATURES=x\n"
                                "HEARTH_REPORT=\"/tmp/open\n"
                                "HEARTH_TRACE='/tmp/a' b\n"
                                "MIN_SIZE=3\n"
                                "HEARTH_CONFIG=/tmp/other\n"
                                "=3\n");
  const auto loaded = load_with({"HEARTH_CONFIG=" + user});
  EXPECT_EQ(loaded->messages(),
            (Messages{user + ":1: not a line of NAME=value; ignored",
                      user + ":2: HEARTH_SIGNATURES=x: not a whole number in 1..64; using 8",
                      user + ":3: not a line of NAME=value; ignored", user + ":4: not a line of NAME=value; ignored",
                      user + ":5: MIN_SIZE: no such knob; did you mean HEARTH_MIN_SIZE?",
                      user + ":6: HEARTH_CONFIG has no effect here; set it in the environment or in /etc/hearth.conf",
                      user + ":7: not a line of NAME=value; ignored"}));
}

TEST_F(KnobsTest, LongLinesAreSkippedAndTheRestIsRead) {
  const std::string user = file("user", "HEARTH_REPORT=" + std::string(20000, 'x') + "\nHEARTH_SIGNATURES=3\n#" +
                                            std::string(4000, 'y') + "\nHEARTH_SHORT_OPS=9\n");
  const auto loaded = load_with({"HEARTH_CONFIG=" + user});
  EXPECT_EQ(loaded->messages(), Messages{user + ":1: line too long; ignored"});
  EXPECT_EQ(loaded->knobs.signatures, 3u);
  EXPECT_EQ(loaded->knobs.short_ops, 9u);
}

TEST_F(KnobsTest, UnreadableFilesAreToldExceptAnAbsentSystemFile) {
  const std::string absent = folder_ / "absent";
  EXPECT_EQ(load_with({}, absent.c_str())->messages(), Messages{});
  EXPECT_EQ(load_with({"HEARTH_CONFIG=" + absent})->messages(),
            Messages{absent +
                     ": cannot be read: No such file or directory (ENOENT); going on without this configuration file"});
  EXPECT_EQ(load_with({"HEARTH_CONFIG=" + folder_.string()})->messages().size(), 1u) << "a directory";
  const std::string fifo = folder_ / "fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(load_with({"HEARTH_CONFIG=" + fifo})->messages().size(), 1u) << "and it did not hang";
}

TEST_F(KnobsTest, ConfigPathIsAPattern) {
  const std::string user = file("user-" + std::to_string(getpid()), "HEARTH_SIGNATURES=3\n");
  EXPECT_EQ(load_with({"HEARTH_CONFIG=" + (folder_ / "user-%p").string()})->knobs.signatures, 3u);
}

TEST_F(KnobsTest, ValuesAreShownAsTyped) {
  const auto loaded = load_with({"HEARTH_MIN_SIZE=1.5M", "HEARTH_RESERVE=64T", "HEARTH_EVENTS=65535",
                                 "HEARTH_PAGES_MIN=4097", "HEARTH_MODULES=yes", "HEARTH_PERF=PRECISE"});
  EXPECT_EQ(loaded->messages(), Messages{});
  EXPECT_EQ(loaded->value("HEARTH_MIN_SIZE"), "1536K");
  EXPECT_EQ(loaded->value("HEARTH_RESERVE"), "64T");
  EXPECT_EQ(loaded->value("HEARTH_EVENTS"), "65535");
  EXPECT_EQ(loaded->value("HEARTH_PAGES_MIN"), "4097");
  EXPECT_EQ(loaded->value("HEARTH_MODULES"), "1");
  EXPECT_EQ(loaded->value("HEARTH_PERF"), "precise");
}

TEST(ExpandPath, ReplacesPidHostAndPercent) {
  char host[256] = {};
  ASSERT_EQ(gethostname(host, sizeof host - 1), 0);
  const std::string pid = std::to_string(getpid());
  const std::vector<std::pair<std::string, std::string>> cases = {{"/tmp/r.json", "/tmp/r.json"},
                                                                  {"/tmp/r.%p.json", "/tmp/r." + pid + ".json"},
                                                                  {"%h-%p", host + ("-" + pid)},
                                                                  {"100%%", "100%"},
                                                                  {"%%p", "%p"},
                                                                  {"%x%", "%x%"},
                                                                  {"", ""}};
  for (const auto& [pattern, path] : cases) {
    char out[1024];
    EXPECT_EQ(expand_path(pattern, out, sizeof out), path.size());
    EXPECT_EQ(out, path);
  }
}

TEST(ExpandPath, RefusesToCutAPath) {
  char out[8];
  EXPECT_EQ(expand_path("1234567", out, sizeof out), 7u);
  EXPECT_EQ(expand_path("12345678", out, sizeof out), 0u);
}

}  // namespace
}  // namespace hearth::config
