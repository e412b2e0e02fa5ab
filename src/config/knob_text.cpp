// Knobs as text: values, origins, names and their neighbours, patterns of paths.
#include <algorithm>
#include <cstring>

#include "config/knobs.h"
#include "config/parse.h"
#include "platform/os_process.h"

namespace hearth::config {
namespace {

constexpr std::size_t kLongestStem = 32;  // of a name without the prefix
constexpr std::size_t kShortestStem = 4;  // that tells of the rest

void write_scaled(text::Writer& out, std::uint64_t value) {
  constexpr std::string_view kUnits = "KMGT";
  std::size_t unit = 0;
  while (value != 0 && value % 1024 == 0 && unit < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  out << value;
  if (unit > 0) out << kUnits[unit - 1];
}

void write_percentage(text::Writer& out, std::uint64_t hundredths) {
  out << hundredths / 100;
  if (hundredths % 100 != 0) out << '.' << hundredths / 10 % 10;
  if (hundredths % 10 != 0) out << hundredths % 10;
  out << '%';
}

// Levenshtein distance in which a swap of neighbours counts one ("optimal string alignment").
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::size_t rows[3][kLongestStem + 1];
  for (std::size_t j = 0; j <= b.size(); ++j) rows[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t* row = rows[i % 3];
    const std::size_t* above = rows[(i - 1) % 3];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], rows[(i - 2) % 3][j - 2] + 1);
      }
    }
  }
  return rows[a.size() % 3][b.size()];
}

constexpr bool names_fit() {
  for (const KnobRow& row : kKnobs) {
    if (!row.name.starts_with(kPrefix) || row.name.size() - kPrefix.size() > kLongestStem) return false;
  }
  return true;
}
static_assert(names_fit());

}  // namespace

std::size_t format_value(const Knobs& knobs, const KnobRow& row, char* out, std::size_t capacity) {
  const char* member = reinterpret_cast<const char*>(&knobs) + row.offset;
  text::Writer writer(out, capacity);
  switch (row.kind) {
    case Kind::boolean:
      writer << (*member != 0 ? '1' : '0');
      break;
    case Kind::choice: {
      std::string_view words = row.range;
      std::string_view word = take_until(words, '|');
      for (int skip = *member; skip > 0; --skip) word = take_until(words, '|');
      writer << word;
      break;
    }
    case Kind::integer:
    case Kind::count:
    case Kind::size: {
      std::uint64_t number = 0;
      std::memcpy(&number, member, sizeof number);
      if (row.kind == Kind::integer) {
        writer << number;
      } else {
        write_scaled(writer, number);
      }
      break;
    }
    case Kind::share: {
      std::uint64_t share = 0;
      std::memcpy(&share, member, sizeof share);
      if (is_percentage(share)) {
        write_percentage(writer, share & ~kPercentFlag);
      } else {
        write_scaled(writer, share);
      }
      break;
    }
    case Kind::weights: {
      std::uint64_t stored = 0;
      std::memcpy(&stored, member, sizeof stored);
      const Weights weights = Weights::of(stored);
      writer << weights.fast;
      if (weights.fast + weights.slow != 100) writer << ':' << weights.slow;
      break;
    }
    case Kind::path:
    case Kind::text:
      writer << member;
      break;
  }
  return writer.length();
}

bool names_a_file(const KnobRow& row, std::string_view value) {
  return row.kind == Kind::path && !value.empty() && parse_choice(value, row.range).verdict != Verdict::ok;
}

std::string_view origin_name(Origin origin) {
  switch (origin) {
    case Origin::built_in:
      return "default";
    case Origin::system_file:
      return kSystemFile;
    case Origin::user_file:
      return "HEARTH_CONFIG";
    case Origin::environment:
      return "environment";
  }
  return "";
}

const KnobRow* find_knob(std::string_view name) {
  for (const KnobRow& row : kKnobs) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

std::string_view nearest_knob(std::string_view name) {
  // Only the stem counts, so that a forgotten prefix is no distance.
  if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
  if (name.size() > kLongestStem) return {};
  // A third of the letters may be wrong: more is another word, not a slip. Or the rest of the name is missing.
  std::string_view best;
  std::string_view begun;
  std::size_t best_distance = std::max<std::size_t>(1, name.size() / 3) + 1;
  for (const KnobRow& row : kKnobs) {
    std::string_view stem = row.name;
    stem.remove_prefix(kPrefix.size());
    const std::size_t distance = edit_distance(name, stem);
    if (distance < best_distance) {
      best = row.name;
      best_distance = distance;
    }
    if (begun.empty() && name.size() >= kShortestStem && stem.starts_with(name)) begun = row.name;
  }
  return best.empty() ? begun : best;
}

std::size_t expand_path(std::string_view pattern, char* out, std::size_t capacity) {
  text::Writer writer(out, capacity);
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char next = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (next == 'p') {
      writer << os::process_id();
    } else if (next == 'h') {
      char host[256];
      writer << (os::host_name(host, sizeof host) ? host : "unknown-host");
    } else {
      writer << pattern[i];
      if (next != '%') continue;
    }
    ++i;
  }
  return writer.truncated() ? 0 : writer.length();
}

}  // namespace hearth::config
