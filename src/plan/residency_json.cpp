#include "plan/residency_json.h"

#include <charconv>
#include <cstdint>
#include <string_view>

#include "plan/account_json.h"

namespace hearth::plan {
namespace {

using tier::Tier;

// Flags of a move.
constexpr std::uint32_t kWait = 1;
constexpr std::uint32_t kClean = 2;

std::string number(std::uint64_t value) {
  char digits[24];
  return {digits, std::to_chars(digits, digits + sizeof(digits), value).ptr};
}

// Names are ours or a preset's; whatever JSON would have to escape is left out.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c >= ' ' && c != '"' && c != '\\' && c != '\x7f') out += c;
  }
  return out + "\"";
}

template <class T, class Write>
void write_list(std::string& out, const char* name, const std::vector<T>& values, const Write& write) {
  out += std::string(",\n    \"") + name + "\": [";
  for (std::size_t i = 0; i < values.size(); ++i) {
    out += i == 0 ? "\n      [" : ",\n      [";
    write(values[i]);
    out += "]";
  }
  out += "]";
}

bool read_flag(JsonText& text, std::uint32_t& value, std::uint32_t most) {
  return text.number(value) && (value <= most || text.fail("there is no such flag"));
}

bool read_resident(JsonText& text, Resident& resident) {
  return text.take('[') && text.number(resident.bytes) && text.take(',') && text.number(resident.nth) && text.take(']');
}

bool read_stretch(JsonText& text, Stretch& stretch) {
  std::uint32_t of = 0;
  const bool read = text.take('[') && read_flag(text, of, 2) && text.take(',') && text.number(stretch.index) &&
                    text.take(',') && text.number(stretch.offset) && text.take(',') && text.number(stretch.bytes) &&
                    text.take(',') && read_tier(text, stretch.begin) && text.take(']');
  stretch.of = static_cast<Stretch::Of>(of);
  return read;
}

bool read_move(JsonText& text, Move& move) {
  std::uint32_t flags = 0;
  const bool read = text.take('[') && text.number(move.stretch) && text.take(',') && read_tier(text, move.to) &&
                    text.take(',') && text.number(move.at) && text.take(',') && text.number(move.due) &&
                    text.take(',') && text.number(move.ns) && text.take(',') &&
                    read_flag(text, flags, kWait | kClean) && text.take(']');
  move.wait = (flags & kWait) != 0;
  move.clean = (flags & kClean) != 0;
  return read;
}

bool read_prediction(JsonText& text, Prediction& prediction) {
  std::uint64_t* const members[] = {&prediction.step_ns,        &prediction.all_fast_ns, &prediction.all_slow_ns,
                                    &prediction.first_touch_ns, &prediction.stall_ns,    &prediction.fast_peak,
                                    &prediction.fast_average};
  return text.object(
      {"step_ns", "all_fast_ns", "all_slow_ns", "first_touch_ns", "stall_ns", "fast_peak", "fast_average"},
      [&](std::uint32_t member) { return text.number(*members[member]); });
}

}  // namespace

const char* home_name(Home home) { return home == Home::fast ? "fast" : home == Home::slow ? "slow" : "own"; }

bool read_home(JsonText& text, Home& home) {
  std::string_view name;
  if (!text.string(name)) return false;
  for (const Home known : {Home::fast, Home::slow, Home::own}) {
    if (name != home_name(known)) continue;
    home = known;
    return true;
  }
  return text.fail("there is no such home");
}

const char* tier_name(Tier tier) { return tier == Tier::slow ? "slow" : "fast"; }

bool read_tier(JsonText& text, Tier& tier) {
  std::string_view name;
  if (!text.string(name)) return false;
  tier = name == "slow" ? Tier::slow : Tier::fast;
  return name == "fast" || name == "slow" || text.fail("there is no such tier");
}

void write_residency(std::string& out, const Residency& residency) {
  out += ",\n  \"residency\": ";
  if (!residency.present()) {
    out += "null";
    return;
  }
  const Prediction& p = residency.prediction;
  out += "{\n    \"policy\": " + quoted(residency.policy) + ", \"machine\": " + quoted(residency.machine);
  out += ", \"fast_capacity\": " + number(residency.fast_capacity);
  out += ",\n    \"prediction\": {\"step_ns\": " + number(p.step_ns) + ", \"all_fast_ns\": " + number(p.all_fast_ns);
  out += ", \"all_slow_ns\": " + number(p.all_slow_ns) + ", \"first_touch_ns\": " + number(p.first_touch_ns);
  out += ", \"stall_ns\": " + number(p.stall_ns);
  out += ", \"fast_peak\": " + number(p.fast_peak) + ", \"fast_average\": " + number(p.fast_average) + "}";
  out += ",\n    \"ops\": " + number(residency.ops) + ",\n    \"births\": [";
  for (std::size_t i = 0; i < residency.births.size(); ++i) out += (i == 0 ? "" : ", ") + number(residency.births[i]);
  out += "]";
  write_list(out, "residents", residency.residents,
             [&](const Resident& resident) { out += number(resident.bytes) + ", " + number(resident.nth); });
  write_list(out, "stretches", residency.stretches, [&](const Stretch& stretch) {
    out += number(static_cast<std::uint64_t>(stretch.of)) + ", " + number(stretch.index) + ", " +
           number(stretch.offset) + ", ";
    out += number(stretch.bytes) + ", \"" + tier_name(stretch.begin) + "\"";
  });
  write_list(out, "moves", residency.moves, [&](const Move& move) {
    out += number(move.stretch) + ", \"" + tier_name(move.to) + "\", " + number(move.at) + ", " + number(move.due);
    out += ", " + number(move.ns) + ", " + number((move.wait ? kWait : 0) | (move.clean ? kClean : 0));
  });
  write_account(out, residency.account);
  out += "\n  }";
}

bool read_residency(JsonText& text, Residency& residency) {
  if (text.take_null()) return true;
  return text.object({"policy", "machine", "fast_capacity", "prediction", "ops", "births", "residents", "stretches",
                      "moves", "account"},
                     [&](std::uint32_t member) {
                       std::string_view name;
                       switch (member) {
                         case 0:
                           if (!text.string(name)) return false;
                           residency.policy = name;
                           return !name.empty() || text.fail("a residency without a policy");
                         case 1:
                           if (!text.string(name)) return false;
                           residency.machine = name;
                           return true;
                         case 2:
                           return text.number(residency.fast_capacity);
                         case 3:
                           return read_prediction(text, residency.prediction);
                         case 4:
                           return text.number(residency.ops);
                         case 5:
                           return text.list([&] { return text.number(residency.births.emplace_back()); });
                         case 6:
                           return text.list([&] { return read_resident(text, residency.residents.emplace_back()); });
                         case 7:
                           return text.list([&] { return read_stretch(text, residency.stretches.emplace_back()); });
                         case 8:
                           return text.list([&] { return read_move(text, residency.moves.emplace_back()); });
                         default:
                           return read_account(text, residency.account);
                       }
                     });
}

}  // namespace hearth::plan
