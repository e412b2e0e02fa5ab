#include "machine/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "machine/machine_file.h"
#include "machine/scaling.h"
#include "tier/presets.h"
#include "unit/machine/folder.h"

namespace hearth::machine {
namespace {

using ::testing::HasSubstr;

class LoadMachineTest : public ::testing::Test {
 protected:
  void SetUp() override { setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1); }
  void TearDown() override { unsetenv("XDG_CACHE_HOME"); }

  tier::Machine measure_host() {
    tier::Machine host = tier::find_preset("far-socket")->machine;
    host.gemm = 1e11;
    host.cores = 2;
    host.slow = {};
    host.move_to_fast = host.move_to_slow = 0;
    std::filesystem::create_directories(folder_.path() / "hearth");
    EXPECT_TRUE(write_machine(host, "", host_path()));
    return host;
  }

  test::Folder folder_;
  std::string note_;
};

TEST_F(LoadMachineTest, PresetsAreScaledToAHostThatWasMeasured) {
  const tier::Machine host = measure_host();
  const auto machine = load_for_this_host("optane-100", &note_);
  ASSERT_TRUE(machine) << machine.error();
  EXPECT_EQ(*machine, scaled(tier::find_preset("optane-100")->machine, host));
  EXPECT_EQ(note_, "");
}

TEST_F(LoadMachineTest, AHostThatWasNotMeasuredIsTold) {
  const auto machine = load_for_this_host("optane-100", &note_);
  ASSERT_TRUE(machine);
  EXPECT_EQ(*machine, tier::find_preset("optane-100")->machine);
  EXPECT_EQ(note_, "optane-100 is not scaled to this host, which was never measured: hearth probe");
}

TEST_F(LoadMachineTest, ADamagedHostFileIsNotPassedOver) {
  measure_host();
  std::ofstream(host_path()) << "{";
  EXPECT_THAT(load_for_this_host("optane-100", &note_).error(), HasSubstr(host_path() + ":1:2"));
}

TEST_F(LoadMachineTest, FilesAreTakenAsTheyStand) {
  measure_host();
  const std::string path = folder_.file("mine.json");
  ASSERT_TRUE(write_machine(tier::find_preset("cxl-x8")->machine, "", path));
  const auto machine = load_for_this_host(path, &note_);
  ASSERT_TRUE(machine) << machine.error();
  EXPECT_EQ(machine->cores, 32u);
  EXPECT_EQ(machine->scale, 1);
}

TEST_F(LoadMachineTest, AFileOfOneTierIsNoMachineForTwo) {
  measure_host();
  EXPECT_THAT(load_for_this_host(host_path(), &note_).error(), HasSubstr("has no slow tier"));
  EXPECT_THAT(load_for_this_host(host_path(), &note_).error(), HasSubstr("hearth probe --scale optane-100 -o FILE"));
}

TEST_F(LoadMachineTest, NamesThatMeanNothingListWhatThereIs) {
  EXPECT_EQ(load_machine("optane", nullptr).error(),
            "there is no machine optane; name a file or one of: optane-100, cxl-x8, far-socket, hbm-ddr5");
  EXPECT_THAT(load_machine("./optane", nullptr).error(), HasSubstr("./optane: No such file"));
  EXPECT_THAT(load_machine("", nullptr).error(), HasSubstr("there is no machine"));
}

TEST_F(LoadMachineTest, WhereTheHostsFileLies) {
  EXPECT_EQ(host_path(), folder_.file("hearth/machine.json"));
  const char* home = getenv("HOME");
  const std::string kept = home != nullptr ? home : "";
  unsetenv("XDG_CACHE_HOME");
  setenv("HOME", "/somewhere", 1);
  EXPECT_EQ(host_path(), "/somewhere/.cache/hearth/machine.json");
  setenv("XDG_CACHE_HOME", "relative", 1);
  EXPECT_EQ(host_path(), "/somewhere/.cache/hearth/machine.json");
  unsetenv("HOME");
  EXPECT_EQ(host_path(), "");
  setenv("HOME", kept.c_str(), 1);
}

}  // namespace
}  // namespace hearth::machine
