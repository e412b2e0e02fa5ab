#include "plan/json_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <limits>

#include "plan/validate.h"
#include "platform/os_files.h"
#include "profile/classes.h"

namespace hearth::plan {
namespace {

constexpr std::size_t kMaxFile = 256ul << 20;  // some five million entries
constexpr char kCure[] = "; write it anew: hearth plan TRACE -o FILE";

// The text and how far it has been read. Every read says whether it went well; the first failure is kept, with its
// place, and all later reads fail too.
class Text {
 public:
  explicit Text(std::string_view text) : text_(text) {}

  bool fail(std::string what) {
    if (problem_.empty()) {
      problem_ = std::move(what);
      failed_at_ = at_;
    }
    return false;
  }
  bool failed() const { return !problem_.empty(); }

  // "12:3: what"; lines and columns count from 1, columns in bytes.
  std::string problem() const {
    const std::string_view before = text_.substr(0, failed_at_);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const std::size_t begin = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
    return std::to_string(line) + ":" + std::to_string(failed_at_ - begin + 1) + ": " + problem_;
  }

  bool next_is(char wanted) {
    skip_space();
    return at_ < text_.size() && text_[at_] == wanted;
  }

  bool take(char wanted) {
    if (failed()) return false;
    if (!next_is(wanted)) return fail(std::string("expected '") + wanted + "'");
    ++at_;
    return true;
  }

  // Names in this format need no escapes: one that has any is none of them.
  bool string(std::string_view& value) {
    if (!take('"')) return false;
    const std::size_t length = text_.substr(at_, kLongestName + 1).find('"');
    if (length == std::string_view::npos) return fail("expected a name of this format");
    value = text_.substr(at_, length);
    at_ += length + 1;
    return true;
  }

  template <class Number>
  bool number(Number& value) {
    if (failed()) return false;
    skip_space();
    const char* const first = text_.data() + at_;
    const char* const last = text_.data() + text_.size();
    if (first == last || *first < '0' || *first > '9') return fail("expected a whole number");
    std::uint64_t read = 0;
    const auto [end, error] = std::from_chars(first, last, read);
    if (error != std::errc() || read > std::numeric_limits<Number>::max()) return fail("the number is too large");
    if (end - first > 1 && *first == '0') return fail("a number does not begin with 0");
    if (end != last && (*end == '.' || *end == 'e' || *end == 'E')) return fail("expected a whole number");
    at_ += static_cast<std::size_t>(end - first);
    value = static_cast<Number>(read);
    return true;
  }

  // Absent is written null; the number that stands for it in memory may not be written.
  bool number_or_null(std::uint32_t& value, std::uint32_t null) {
    if (next_is('n')) {
      if (text_.substr(at_, 4) != "null") return fail("expected a whole number or null");
      at_ += 4;
      value = null;
      return true;
    }
    return number(value) && (value != null || fail("the number is too large"));
  }

  bool end() {
    if (failed()) return false;
    skip_space();
    return at_ == text_.size() || fail("there is more after the end of the plan");
  }

 private:
  static constexpr std::size_t kLongestName = 32;

  void skip_space() {
    while (at_ < text_.size() && std::strchr(" \t\r\n", text_[at_]) != nullptr && text_[at_] != '\0') ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string problem_;
  std::size_t failed_at_ = 0;
};

// An object with exactly these members, in any order. `read` is given the index of the member whose value is next.
template <class Read>
bool object(Text& text, std::initializer_list<std::string_view> names, Read read) {
  if (!text.take('{')) return false;
  std::uint32_t seen = 0;
  for (bool more = true; more;) {
    std::string_view name;
    if (!text.string(name)) return false;
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) return text.fail("there is no such member here: " + std::string(name));
    const auto index = static_cast<std::uint32_t>(found - names.begin());
    if ((seen >> index & 1) != 0) return text.fail("member " + std::string(name) + " is there twice");
    seen |= 1u << index;
    if (!text.take(':') || !read(index)) return false;
    more = text.next_is(',');
    if (more && !text.take(',')) return false;
  }
  for (std::uint32_t i = 0; i < names.size(); ++i) {
    if ((seen >> i & 1) == 0) return text.fail("member " + std::string(names.begin()[i]) + " is missing");
  }
  return text.take('}');
}

template <class Read>
bool list(Text& text, Read read) {
  if (!text.take('[')) return false;
  if (text.next_is(']')) return text.take(']');
  for (bool more = true; more;) {
    if (!read()) return false;
    more = text.next_is(',');
    if (more && !text.take(',')) return false;
  }
  return text.take(']');
}

bool read_digest(Text& text, std::uint64_t& digest) {
  std::string_view digits;
  if (!text.string(digits)) return false;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), digest, 16);
  const bool whole = error == std::errc() && end == digits.data() + digits.size();
  return whole || text.fail("the digest is no hexadecimal number of 64 bits");
}

bool read_signature(Text& text, Signature& signature) {
  return object(text, {"allocations", "digest"}, [&](std::uint32_t member) {
    return member == 0 ? text.number(signature.allocations) : read_digest(text, signature.digest);
  });
}

bool read_costs(Text& text, Costs& costs) {
  return object(text, {"lower_bound", "separation", "grouping"}, [&](std::uint32_t member) {
    return text.number(member == 0 ? costs.lower_bound : member == 1 ? costs.separation : costs.grouping);
  });
}

bool read_lifetime(Text& text, Arena& arena) {
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

bool read_tier(Text& text) {
  std::string_view name;
  return text.string(name) && (name == "fast" || text.fail("there is no such tier"));
}

bool read_arena(Text& text, Arena& arena) {
  std::uint32_t frequency = 0;
  constexpr std::uint32_t kNoFrequency = std::numeric_limits<std::uint32_t>::max();
  const bool read =
      object(text, {"lifetime", "frequency", "tier", "bytes", "lower_bound", "tensors"}, [&](std::uint32_t member) {
        switch (member) {
          case 0:
            return read_lifetime(text, arena);
          case 1:
            return text.number_or_null(frequency, kNoFrequency);
          case 2:
            return read_tier(text);
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

bool read_columns(Text& text) {
  constexpr std::string_view kColumns[] = {"bytes", "op", "nth", "arena", "offset", "birth", "death"};
  std::size_t column = 0;
  const bool read = list(text, [&] {
    std::string_view name;
    if (!text.string(name)) return false;
    return (column < std::size(kColumns) && name == kColumns[column++]) || text.fail("there is no such column here");
  });
  return read && (column == std::size(kColumns) || text.fail("columns are missing"));
}

bool read_entry(Text& text, Entry& entry) {
  return text.take('[') && text.number(entry.bytes) && text.take(',') &&
         text.number_or_null(entry.op, profile::kOutside) && text.take(',') && text.number(entry.nth) &&
         text.take(',') && text.number_or_null(entry.arena, kHeap) && text.take(',') && text.number(entry.offset) &&
         text.take(',') && text.number(entry.birth) && text.take(',') && text.number(entry.death) && text.take(']');
}

bool read_version(Text& text, std::uint32_t& version) {
  if (!text.number(version)) return false;
  return version == kSchemaVersion || text.fail("schema version " + std::to_string(version) +
                                                ", this Hearth reads version " + std::to_string(kSchemaVersion));
}

bool read_plan(Text& text, Plan& plan) {
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
        return read_costs(text, plan.costs);
      case 5:
        return list(text, [&] { return read_arena(text, plan.arenas.emplace_back()); });
      case 6:
        return read_columns(text);
      default:
        return list(text, [&] { return read_entry(text, plan.entries.emplace_back()); });
    }
  };
  return object(text, {"schema_version", "signature", "min_bytes", "period", "costs", "arenas", "columns", "entries"},
                member) &&
         text.end();
}

Result<std::string> read_descriptor(int file, const std::string& path) {
  struct stat status {};
  if (fstat(file, &status) != 0) return Error{path + ": " + strerrordesc_np(errno)};
  if (!S_ISREG(status.st_mode)) return Error{path + ": not a regular file; name a plan that hearth plan wrote"};
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size > kMaxFile) return Error{path + ": too large for a plan; name a plan that hearth plan wrote"};
  std::string text(size, '\0');
  for (std::size_t from = 0; from < size;) {
    std::size_t count = 0;
    const int error = os::read_some(file, text.data() + from, size - from, &count);
    if (error != 0) return Error{path + ": " + strerrordesc_np(error)};
    if (count == 0) return Error{path + ": became shorter while it was read; try again"};
    from += count;
  }
  return text;
}

Result<std::string> whole_file(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return Error{path + ": " + strerrordesc_np(errno)};
  Result<std::string> text = read_descriptor(file, path);
  close(file);
  return text;
}

}  // namespace

Result<Plan> parse_plan(std::string_view text, const std::string& name) noexcept {
  try {
    Text reader(text);
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
    const Result<std::string> text = whole_file(path);
    if (!text) return Error{text.error()};
    return parse_plan(*text, path);
  } catch (const std::exception&) {
    return Error{"out of memory"};
  }
}

}  // namespace hearth::plan
