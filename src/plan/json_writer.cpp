#include "plan/json_writer.h"

#include <charconv>

#include "plan/residency_json.h"
#include "platform/text_file.h"
#include "profile/classes.h"

namespace hearth::plan {
namespace {

std::string number(std::uint64_t value, int base = 10) {
  char digits[24];
  return {digits, std::to_chars(digits, digits + sizeof(digits), value, base).ptr};
}

std::string number_or_null(std::uint32_t value, std::uint32_t null) { return value == null ? "null" : number(value); }

void write_arena(std::string& out, const Arena& arena) {
  out += "    {\"lifetime\": ";
  out += arena.mixed ? "\"mixed\"" : std::string("\"") + profile::lifetime_name(arena.lifetime) + "\"";
  out += ", \"frequency\": " + (arena.mixed ? "null" : number(arena.frequency));
  out += std::string(", \"home\": \"") + home_name(arena.home) + "\", \"bytes\": " + number(arena.bytes);
  out += ", \"lower_bound\": " + number(arena.lower_bound) + ", \"tensors\": " + number(arena.tensors) + "}";
}

void write_entry(std::string& out, const Entry& entry) {
  out += "    [" + number(entry.bytes) + ", " + number_or_null(entry.op, profile::kOutside) + ", " + number(entry.nth);
  out += ", " + number_or_null(entry.arena, kHeap) + ", " + number(entry.offset);
  out += ", " + number(entry.birth) + ", " + number(entry.death) + "]";
}

template <class T, class Write>
void write_list(std::string& out, const std::vector<T>& values, Write write) {
  out += "[";
  for (std::size_t i = 0; i < values.size(); ++i) {
    out += i == 0 ? "\n" : ",\n";
    write(out, values[i]);
  }
  out += values.empty() ? "]" : "\n  ]";
}

}  // namespace

std::string to_json(const Plan& plan) {
  std::string out = "{\n  \"schema_version\": " + number(plan.schema_version);
  out += ",\n  \"signature\": {\"allocations\": " + number(plan.signature.allocations);
  out += ", \"digest\": \"" + number(plan.signature.digest, 16) + "\"}";  // JSON's numbers end at 2^53 for many readers
  out += ",\n  \"min_bytes\": " + number(plan.min_bytes) + ",\n  \"period\": " + number(plan.period);
  out += ",\n  \"elastic\": " + std::string(plan.elastic ? "true" : "false");
  out += ",\n  \"costs\": {\"lower_bound\": " + number(plan.costs.lower_bound);
  out += ", \"separation\": " + number(plan.costs.separation) + ", \"grouping\": " + number(plan.costs.grouping) + "}";
  out += ",\n  \"arenas\": ";
  write_list(out, plan.arenas, write_arena);
  out +=
      ",\n  \"columns\": [\"bytes\", \"op\", \"nth\", \"arena\", \"offset\", \"birth\", \"death\"],\n  \"entries\": ";
  write_list(out, plan.entries, write_entry);
  write_residency(out, plan.residency);
  out += "\n}\n";
  return out;
}

Result<void> save_plan(const Plan& plan, const std::string& path) {
  return os::write_text(to_json(plan), path, "plan");
}

}  // namespace hearth::plan
