#include "plan/json_reader.h"

#include <charconv>
#include <exception>
#include <limits>

#include "base/json_text.h"
#include "plan/residency_json.h"
#include "plan/validate.h"
#include "platform/text_file.h"
#include "profile/classes.h"

namespace hearth::plan {
namespace {

constexpr std::size_t kMaxFile = 256ul << 20;  // some five million entries
constexpr char kCure[] = "; write it anew: hearth plan TRACE -o FILE";

bool read_digest(JsonText& text, std::uint64_t& digest) {
  std::string_view digits;
  if (!text.string(digits)) return false;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), digest, 16);
  const bool whole = error == std::errc() && end == digits.data() + digits.size();
  return whole || text.fail("the digest is no hexadecimal number of 64 bits");
}

bool read_signature(JsonText& text, Signature& signature) {
  return text.object({"allocations", "digest"}, [&](std::uint32_t member) {
    return member == 0 ? text.number(signature.allocations) : read_digest(text, signature.digest);
  });
}

bool read_costs(JsonText& text, Costs& costs) {
  return text.object({"lower_bound", "separation", "grouping"}, [&](std::uint32_t member) {
    return text.number(member == 0 ? costs.lower_bound : member == 1 ? costs.separation : costs.grouping);
  });
}

bool read_lifetime(JsonText& text, Arena& arena) {
  using profile::Lifetime;
  std::string_view name;
  if (!text.string(name)) return false;
  arena.mixed = name == "mixed";
  if (arena.mixed) return true;
  for (const Lifetime lifetime : {Lifetime::short_lived, Lifetime::activation, Lifetime::persistent}) {
    arena.lifetime = lifetime;
    if (name == profile::lifetime_name(lifetime)) return true;
  }
  return text.fail("there is no such lifetime");
}

bool read_arena(JsonText& text, Arena& arena) {
  std::uint32_t frequency = 0;
  constexpr std::uint32_t kNoFrequency = std::numeric_limits<std::uint32_t>::max();
  const bool read =
      text.object({"lifetime", "frequency", "home", "bytes", "lower_bound", "tensors"}, [&](std::uint32_t member) {
        switch (member) {
          case 0:
            return read_lifetime(text, arena);
          case 1:
            return text.number_or_null(frequency, kNoFrequency);
          case 2:
            return read_home(text, arena.home);
          case 3:
            return text.number(arena.bytes);
          case 4:
            return text.number(arena.lower_bound);
          default:
            return text.number(arena.tensors);
        }
      });
  if (!read) return false;
  if (arena.mixed != (frequency == kNoFrequency))
    return text.fail("frequency is null for mixed arenas, and only those");
  if (!arena.mixed && frequency > std::numeric_limits<std::uint8_t>::max()) return text.fail("frequency is too large");
  arena.frequency = arena.mixed ? std::uint8_t{0} : static_cast<std::uint8_t>(frequency);
  return true;
}

bool read_columns(JsonText& text) {
  constexpr std::string_view kColumns[] = {"bytes", "op", "nth", "arena", "offset", "birth", "death"};
  std::size_t column = 0;
  const bool read = text.list([&] {
    std::string_view name;
    if (!text.string(name)) return false;
    return (column < std::size(kColumns) && name == kColumns[column++]) || text.fail("there is no such column here");
  });
  return read && (column == std::size(kColumns) || text.fail("columns are missing"));
}

bool read_entry(JsonText& text, Entry& entry) {
  return text.take('[') && text.number(entry.bytes) && text.take(',') &&
         text.number_or_null(entry.op, profile::kOutside) && text.take(',') && text.number(entry.nth) &&
         text.take(',') && text.number_or_null(entry.arena, kHeap) && text.take(',') && text.number(entry.offset) &&
         text.take(',') && text.number(entry.birth) && text.take(',') && text.number(entry.death) && text.take(']');
}

bool read_version(JsonText& text, std::uint32_t& version) {
  if (!text.number(version)) return false;
  return version == kSchemaVersion || text.fail("schema version " + std::to_string(version) +
                                                ", this Hearth reads version " + std::to_string(kSchemaVersion));
}

bool read_plan(JsonText& text, Plan& plan) {
  const auto member = [&](std::uint32_t which) {
    switch (which) {
      case 0:
        return read_version(text, plan.schema_version);
      case 1:
        return read_signature(text, plan.signature);
      case 2:
        return text.number(plan.min_bytes);
      case 3:
        return text.number(plan.period);
      case 4:
        return text.boolean(plan.elastic);
      case 5:
        return read_costs(text, plan.costs);
      case 6:
        return text.list([&] { return read_arena(text, plan.arenas.emplace_back()); });
      case 7:
        return read_columns(text);
      case 8:
        return text.list([&] { return read_entry(text, plan.entries.emplace_back()); });
      default:
        return read_residency(text, plan.residency);
    }
  };
  return text.object({"schema_version", "signature", "min_bytes", "period", "elastic", "costs", "arenas", "columns",
                      "entries", "residency"},
                     member) &&
         text.end("plan");
}

}  // namespace

Result<Plan> parse_plan(std::string_view text, const std::string& name) noexcept {
  try {
    JsonText reader(text);
    Plan plan;
    if (!read_plan(reader, plan)) return Error{name + ":" + reader.problem() + kCure};
    if (const Result<void> sound = validate(plan); !sound) return Error{name + ": " + sound.error() + kCure};
    return plan;
  } catch (const std::exception&) {
    return Error{"out of memory"};  // short enough to need none itself
  }
}

Result<Plan> load_plan(const std::string& path) noexcept {
  try {
    const Result<std::string> text = os::read_text(path, kMaxFile, "; name a plan that hearth plan wrote");
    if (!text) return Error{text.error()};
    return parse_plan(*text, path);
  } catch (const std::exception&) {
    return Error{"out of memory"};
  }
}

}  // namespace hearth::plan
