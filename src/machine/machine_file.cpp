#include "machine/machine_file.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <exception>

#include "base/json_text.h"
#include "platform/text_file.h"

namespace hearth::machine {
namespace {

using tier::Machine;
using tier::Speed;

constexpr std::size_t kMaxFile = std::size_t{4} << 20;
constexpr const char* kCure = "; write it anew: hearth probe -o FILE";

bool read_name(JsonText& text, Machine& machine) {
  std::string_view name;
  if (!text.string(name, sizeof machine.name - 1)) return false;
  if (name.empty()) return text.fail("the name is empty");
  std::memcpy(machine.name, name.data(), name.size());
  machine.name[name.size()] = '\0';
  return true;
}

bool read_positive(JsonText& text, double& value) {
  return text.real(value) && (value > 0 || text.fail("this figure must be greater than 0"));
}

bool read_tier(JsonText& text, Speed& speed, std::uint64_t& bytes) {
  return text.object({"read", "write", "latency_ns", "bytes"}, [&](std::uint32_t member) {
    if (member == 3) return text.number(bytes);
    return read_positive(text, member == 0 ? speed.read : member == 1 ? speed.write : speed.latency_ns);
  });
}

bool read_slow(JsonText& text, Machine& machine) {
  return text.take_null() || read_tier(text, machine.slow, machine.slow_bytes);
}

bool read_figures(JsonText& text, Machine& machine) {
  const auto member = [&](std::uint32_t which) {
    switch (which) {
      case 0:
        return read_name(text, machine);
      case 1:
        return text.number(machine.cores) && (machine.cores > 0 || text.fail("a machine has cores"));
      case 2:
        return read_positive(text, machine.gemm);
      case 3:
        return text.real(machine.fault_ns);
      case 4:
        return read_positive(text, machine.outstanding);
      case 5:
        return text.real(machine.interference);
      case 6:
        return read_positive(text, machine.scale);
      case 7:
        return read_tier(text, machine.fast, machine.fast_bytes);
      case 8:
        return read_slow(text, machine);
      default:
        return text.real(which == 9 ? machine.move_to_fast : machine.move_to_slow);
    }
  };
  const bool read = text.object({"name", "cores", "gemm", "fault_ns", "outstanding", "interference", "scale", "fast",
                                 "slow", "move_to_fast", "move_to_slow"},
                                member);
  if (!read) return false;
  const bool moves = machine.move_to_fast > 0 && machine.move_to_slow > 0;
  return machine.slow == Speed() || moves || text.fail("move_to_fast and move_to_slow must be greater than 0");
}

bool read_version(JsonText& text) {
  int version = 0;
  return text.number(version) &&
         (version == kSchemaVersion || text.fail("schema version " + std::to_string(version) +
                                                 ", this Hearth reads version " + std::to_string(kSchemaVersion)));
}

bool read_document(JsonText& text, Machine& machine) {
  const auto member = [&](std::uint32_t which) {
    return which == 0 ? read_version(text) : which == 1 ? read_figures(text, machine) : text.skip();
  };
  return text.object({"schema_version", "machine", "measured"}, member) && text.end("machine");
}

// Seven digits: more is not known of any such figure.
std::string number(double value) {
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof digits, value, std::chars_format::general, 7).ptr};
}

std::string tier_json(const Speed& speed, std::uint64_t bytes) {
  return "{\"read\": " + number(speed.read) + ", \"write\": " + number(speed.write) +
         ", \"latency_ns\": " + number(speed.latency_ns) + ", \"bytes\": " + std::to_string(bytes) + "}";
}

// Names are written without what would need an escape.
std::string plain(std::string_view name) {
  std::string text;
  for (const char letter : name)
    text += letter == '"' || letter == '\\' || (letter >= 0 && letter < ' ') ? ' ' : letter;
  return text;
}

}  // namespace

Result<Machine> parse_machine(std::string_view text, const std::string& name) noexcept {
  try {
    JsonText reader(text);
    Machine machine;
    if (!read_document(reader, machine)) return Error{name + ":" + reader.problem() + kCure};
    return machine;
  } catch (const std::exception&) {
    return Error{"out of memory"};  // short enough to need none itself
  }
}

Result<Machine> read_machine(const std::string& path) noexcept {
  try {
    const Result<std::string> text = os::read_text(path, kMaxFile, "; name a file that hearth probe wrote");
    if (!text) return Error{text.error()};
    return parse_machine(*text, path);
  } catch (const std::exception&) {
    return Error{"out of memory"};
  }
}

std::string machine_json(const Machine& machine, std::string_view measured) {
  std::string out = "{\n  \"schema_version\": " + std::to_string(kSchemaVersion) + ",\n  \"machine\": {\n";
  out += "    \"name\": \"" + plain(machine.name) + "\", \"cores\": " + std::to_string(machine.cores);
  out += ",\n    \"gemm\": " + number(machine.gemm) + ", \"fault_ns\": " + number(machine.fault_ns);
  out += ", \"outstanding\": " + number(machine.outstanding) + ", \"interference\": " + number(machine.interference);
  out += ", \"scale\": " + number(machine.scale);
  out += ",\n    \"fast\": " + tier_json(machine.fast, machine.fast_bytes);
  out += ",\n    \"slow\": " + (machine.slow == Speed() ? "null" : tier_json(machine.slow, machine.slow_bytes));
  out += ",\n    \"move_to_fast\": " + number(machine.move_to_fast);
  out += ", \"move_to_slow\": " + number(machine.move_to_slow) + "\n  },\n  \"measured\": ";
  out += measured.empty() ? "null" : measured;
  out += "\n}\n";
  return out;
}

Result<void> write_machine(const Machine& machine, std::string_view measured, const std::string& path) {
  return os::write_text(machine_json(machine, measured), path, "machine");
}

}  // namespace hearth::machine
