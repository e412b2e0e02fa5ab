#include "costs/cost_file.h"

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

namespace hearth::costs {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr const char* kWhat = "hearth op costs";
// A host that is probed anew is found a little quicker or slower.
constexpr double kSame = 0.05;

std::string placement_text(Mask slow, std::size_t operands) {
  std::string text;
  for (std::size_t i = 0; i < operands; ++i) text += (slow >> i & 1) != 0 ? 's' : 'f';
  return text;
}

Mask parse_placement(const std::string& text, std::size_t operands) {
  Mask slow = 0;
  if (text.size() != operands || text.find_first_not_of("fs") != std::string::npos) {
    throw std::runtime_error("a placement is a letter f or s for each operand, not '" + text + "'");
  }
  for (std::size_t i = 0; i < operands; ++i) slow |= text[i] == 's' ? Mask{1} << i : 0;
  return slow;
}

Json speed_json(const tier::Speed& speed) { return {{"read", speed.read}, {"write", speed.write}}; }

tier::Speed parse_speed(const Json& json) {
  tier::Speed speed;
  speed.read = json.at("read").get<double>();
  speed.write = json.at("write").get<double>();
  return speed;
}

Json op_json(const OpKey& key, const Placements& placements) {
  Json operands = Json::array();
  for (const Operand& operand : key.operands) operands.push_back({operand.read, operand.write});
  Json times = Json::object();
  for (const auto& [slow, measured] : placements) {
    times[placement_text(slow, key.operands.size())] = {std::round(measured.ns()), measured.count()};
  }
  return {{"op", key.op}, {"operands", operands}, {"other_bytes", key.other_bytes}, {"ns", times}};
}

void parse_op(const Json& json, CostTable& table) {
  OpKey key;
  key.op = json.at("op").get<std::string>();
  key.other_bytes = json.at("other_bytes").get<std::uint64_t>();
  for (const Json& operand : json.at("operands")) {
    key.operands.push_back({operand.at(0).get<std::uint64_t>(), operand.at(1).get<std::uint64_t>()});
  }
  if (key.operands.empty() || key.operands.size() > kMostOperands) {
    throw std::runtime_error("an op has " + std::to_string(key.operands.size()) + " operands");
  }
  for (const auto& [placement, measured] : json.at("ns").items()) {
    const Mask slow = parse_placement(placement, key.operands.size());
    table.set(key, slow, Measured(measured.at(0).get<double>(), measured.at(1).get<std::uint32_t>()));
  }
}

CostFile parse(const Json& json) {
  if (!json.is_object() || json.value("what", "") != kWhat) {
    throw std::runtime_error("no file of op costs; `hearth profile-ops` writes them");
  }
  if (const int version = json.at("schema_version").get<int>(); version != kSchemaVersion) {
    throw std::runtime_error("schema version " + std::to_string(version) + ", and this hearth reads " +
                             std::to_string(kSchemaVersion) + "; measure again with `hearth profile-ops`");
  }
  CostFile costs;
  const Json& machine = json.at("machine");
  const std::string name = machine.at("name").get<std::string>();
  std::snprintf(costs.machine.name, sizeof costs.machine.name, "%s", name.c_str());
  costs.machine.fast = parse_speed(machine.at("fast"));
  costs.machine.slow = parse_speed(machine.at("slow"));
  costs.emulated = machine.at("emulated").get<bool>();
  for (const Json& op : json.at("ops")) parse_op(op, costs.table);
  return costs;
}

bool alike(double a, double b) { return std::abs(a - b) <= kSame * std::max(a, b); }

std::string speeds_text(const tier::Machine& machine) {
  char text[160];
  std::snprintf(text, sizeof text, "%s (slow tier %.3g GB/s to read, %.3g GB/s to write)", machine.name,
                machine.slow.read / 1e9, machine.slow.write / 1e9);
  return text;
}

}  // namespace

Result<CostFile> read_costs(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{path + ": cannot be read; `hearth profile-ops --costs " + path + " -- PROGRAM` writes it"};
  std::ostringstream text;
  text << file.rdbuf();
  try {
    return parse(Json::parse(text.str()));
  } catch (const Json::exception& problem) {
    return Error{path + ": damaged, or no file of op costs (" + problem.what() + ")"};
  } catch (const std::exception& problem) {
    return Error{path + ": " + problem.what()};
  }
}

Result<void> write_costs(const CostFile& costs, const std::string& path) {
  const tier::Machine& machine = costs.machine;
  const Json json = {{"schema_version", kSchemaVersion},
                     {"what", kWhat},
                     {"machine",
                      {{"name", machine.name},
                       {"emulated", costs.emulated},
                       {"fast", speed_json(machine.fast)},
                       {"slow", speed_json(machine.slow)}}}};
  std::string text = json.dump(1);
  text.resize(text.size() - 2);  // an op a line: such files are looked through
  text += ",\n \"ops\": [";
  const char* before = "\n  ";
  for (const auto& [key, placements] : costs.table.ops()) {
    text += before + op_json(key, placements).dump();
    before = ",\n  ";
  }
  text += "\n ]\n}\n";
  const std::string temporary = path + "." + std::to_string(getpid()) + ".part";
  std::ofstream file(temporary, std::ios::binary);
  file << text;
  file.close();
  std::error_code error;
  if (file) fs::rename(temporary, path, error);
  if (!file || error) {
    fs::remove(temporary, error);
    return Error{path + ": cannot be written"};
  }
  return {};
}

std::string foreign(const CostFile& costs, const tier::Machine& machine) {
  const tier::Machine& there = costs.machine;
  const bool same = std::string(there.name) == machine.name && alike(there.fast.read, machine.fast.read) &&
                    alike(there.fast.write, machine.fast.write) && alike(there.slow.read, machine.slow.read) &&
                    alike(there.slow.write, machine.slow.write);
  if (same) return "";
  return "was measured on " + speeds_text(there) + ", and this is " + speeds_text(machine) +
         "; measure again, or give the --machine that it was measured on";
}

}  // namespace hearth::costs
