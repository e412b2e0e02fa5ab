#include "machine/machine_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tier/presets.h"
#include "unit/machine/folder.h"

namespace hearth::machine {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string optane() { return machine_json(tier::find_preset("optane-100")->machine, ""); }

std::string changed(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string error_of(const std::string& text) {
  const auto machine = parse_machine(text, "m.json");
  return machine ? "" : machine.error();
}

void expect_near(double a, double b) { EXPECT_NEAR(a, b, 1e-6 * b); }

TEST(MachineFile, EveryPresetSurvivesTheFile) {
  const test::Folder folder;
  for (const tier::Preset& preset : tier::presets()) {
    const std::string path = folder.file(preset.machine.name);
    ASSERT_TRUE(write_machine(preset.machine, "", path));
    const auto machine = read_machine(path);
    ASSERT_TRUE(machine) << machine.error();
    EXPECT_STREQ(machine->name, preset.machine.name);
    EXPECT_EQ(machine->cores, preset.machine.cores);
    EXPECT_EQ(machine->fast_bytes, preset.machine.fast_bytes);
    expect_near(machine->fast.read, preset.machine.fast.read);
    expect_near(machine->slow.write, preset.machine.slow.write);
    expect_near(machine->slow.latency_ns, preset.machine.slow.latency_ns);
    expect_near(machine->gemm, preset.machine.gemm);
    expect_near(machine->interference, preset.machine.interference);
    expect_near(machine->move_to_slow, preset.machine.move_to_slow);
  }
}

TEST(MachineFile, OneKindOfMemoryHasNoSlowTier) {
  tier::Machine host = tier::find_preset("optane-100")->machine;
  host.slow = {};
  host.move_to_fast = host.move_to_slow = 0;
  const auto machine = parse_machine(machine_json(host, ""), "m.json");
  ASSERT_TRUE(machine) << machine.error();
  EXPECT_FALSE(machine->two_tiers());
}

TEST(MachineFile, IsJsonThatOthersRead) {
  const auto json = nlohmann::json::parse(machine_json(tier::find_preset("cxl-x8")->machine, R"({"nodes": [1, 2.5]})"));
  EXPECT_EQ(json.at("schema_version"), kSchemaVersion);
  EXPECT_EQ(json.at("machine").at("name"), "cxl-x8");
  EXPECT_EQ(json.at("measured").at("nodes").at(1), 2.5);
}

TEST(MachineFile, NamesAreWrittenSoThatTheyCanBeRead) {
  tier::Machine machine = tier::find_preset("cxl-x8")->machine;
  std::strcpy(machine.name, "a \"b\" \\ c\n");
  const auto read = parse_machine(machine_json(machine, ""), "m.json");
  ASSERT_TRUE(read) << read.error();
  EXPECT_STREQ(read->name, "a  b    c ");
}

TEST(MachineFile, WhatWasMeasuredIsPassedOver) {
  for (const char* measured :
       {"null", "[]", "{}", "[-1.5e3, true, false, \"a \\\" b\", {\"x\": {\"y\": []}}]", "\"\""}) {
    EXPECT_EQ(error_of(changed(optane(), "\"measured\": null", std::string("\"measured\": ") + measured)), "")
        << measured;
  }
  EXPECT_THAT(error_of(changed(optane(), "\"measured\": null", "\"measured\": " + std::string(40, '['))),
              HasSubstr("nested too deeply"));
  EXPECT_THAT(error_of(changed(optane(), "\"measured\": null", "\"measured\": {\"x\" 1}")), HasSubstr("expected ':'"));
  EXPECT_THAT(error_of(changed(optane(), "\"measured\": null", "\"measured\": \"open")), StartsWith("m.json:"));
}

TEST(MachineFile, WhatCannotBeIsRefusedWithPlaceAndCure) {
  const struct {
    const char* from;
    const char* to;
    const char* error;
  } cases[] = {
      {"\"schema_version\": 1", "\"schema_version\": 2", "schema version 2, this Hearth reads version 1"},
      {"\"read\": 3.94e+10", "\"read\": 0", "must be greater than 0"},
      {"\"read\": 3.94e+10", "\"read\": -1", "expected a number that is not negative"},
      {"\"read\": 3.94e+10", "\"read\": 1e400", "too large or too small"},
      {"\"read\": 3.94e+10", "\"read\": nan", "expected a number"},
      {"\"read\": 3.94e+10", "\"read\": \"fast\"", "expected a number"},
      {"\"read\": 3.94e+10, ", "", "member read is missing"},
      {"\"cores\": 24", "\"cores\": 0", "a machine has cores"},
      {"\"cores\": 24", "\"cores\": 2.5", "expected a whole number"},
      {"\"name\": \"optane-100\"", "\"name\": \"\"", "the name is empty"},
      {"\"name\": \"optane-100\"", "\"name\": \"a\\\"b\"", "expected a name"},
      {"\"move_to_fast\": 1.6e+10", "\"move_to_fast\": 0", "must be greater than 0"},
      {"\"gemm\"", "\"gem\"", "there is no such member here: gem"},
      {"\"scale\": 1", "\"scale\": 1, \"scale\": 1", "member scale is there twice"},
  };
  for (const auto& [from, to, error] : cases) {
    const std::string told = error_of(changed(optane(), from, to));
    EXPECT_THAT(told, StartsWith("m.json:")) << to;
    EXPECT_THAT(told, HasSubstr(error)) << to;
    EXPECT_THAT(told, HasSubstr("write it anew: hearth probe -o FILE")) << to;
  }
  EXPECT_THAT(error_of(optane() + "x"), HasSubstr("there is more after the end of the machine"));
}

// Nothing that a damaged file may hold is read as a machine with figures that are missing, and nothing crashes.
TEST(MachineFile, NoBeginningOfAFileIsAFile) {
  const std::string text = optane();
  for (std::size_t length = 0; length + 2 < text.size(); ++length) {
    EXPECT_NE(error_of(text.substr(0, length)), "") << length;
  }
}

TEST(MachineFile, NoFileNoFolderNoMachine) {
  const test::Folder folder;
  EXPECT_THAT(read_machine(folder.file("none")).error(), HasSubstr("No such file"));
  EXPECT_THAT(read_machine(folder.path()).error(),
              HasSubstr("not a regular file; name a file that hearth probe wrote"));
  const auto written = write_machine(tier::Machine(), "", folder.file("no/such/folder"));
  EXPECT_THAT(written.error(), HasSubstr("cannot write machine"));
  EXPECT_THAT(written.error(), HasSubstr("its directory does not exist"));
}

}  // namespace
}  // namespace hearth::machine
