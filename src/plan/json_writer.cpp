#include "plan/json_writer.h"

#include <sys/stat.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

#include "platform/os_files.h"
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
  out += ", \"tier\": \"fast\", \"bytes\": " + number(arena.bytes);
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

std::string cure_for(int error) {
  if (error == ENOENT) return "; its directory does not exist, create it or name another";
  if (error == EACCES || error == EPERM || error == EROFS) return "; name a path that this user may write to";
  if (error == ENOSPC || error == EDQUOT) return "; free space or name a path on another disk";
  return "";
}

}  // namespace

std::string to_json(const Plan& plan) {
  std::string out = "{\n  \"schema_version\": " + number(plan.schema_version);
  out += ",\n  \"signature\": {\"allocations\": " + number(plan.signature.allocations);
  out += ", \"digest\": \"" + number(plan.signature.digest, 16) + "\"}";  // JSON's numbers end at 2^53 for many readers
  out += ",\n  \"min_bytes\": " + number(plan.min_bytes) + ",\n  \"period\": " + number(plan.period);
  out += ",\n  \"costs\": {\"lower_bound\": " + number(plan.costs.lower_bound);
  out += ", \"separation\": " + number(plan.costs.separation) + ", \"grouping\": " + number(plan.costs.grouping) + "}";
  out += ",\n  \"arenas\": ";
  write_list(out, plan.arenas, write_arena);
  out +=
      ",\n  \"columns\": [\"bytes\", \"op\", \"nth\", \"arena\", \"offset\", \"birth\", \"death\"],\n  \"entries\": ";
  write_list(out, plan.entries, write_entry);
  out += "\n}\n";
  return out;
}

Result<void> save_plan(const Plan& plan, const std::string& path) {
  struct stat there {};
  if (stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode)) {
    return Error{"cannot write plan " + path + ": it is no regular file; name a file"};
  }
  const std::string text = to_json(plan);
  const auto file = std::make_unique<os::NewFile>();  // two paths: too large for the stack of a thread
  int error = os::create(path.c_str(), file.get());
  if (error == 0) error = os::write_all(file->file, text.data(), text.size());
  if (error == 0) error = os::publish(file.get(), os::Existing::replace);
  if (error == 0) return {};
  os::abandon(file.get());
  return Error{"cannot write plan " + path + ": " + strerrordesc_np(error) + cure_for(error)};
}

}  // namespace hearth::plan
