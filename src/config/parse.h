// Parsers for the values of knobs: text in, number or reason out.
//
// Called while knobs are loaded (first tensor allocation, any thread) and by the compiler, which checks the table with
// them. Pure: no lock, no allocation, no locale, no exception.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

#include "config/knob_types.h"

namespace hearth::config {

enum class Verdict : std::uint8_t { ok, malformed, out_of_range, too_long };

struct Parsed {
  Verdict verdict = Verdict::malformed;
  std::uint64_t value = 0;
};

constexpr bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\v' || c == '\f'; }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

constexpr std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

constexpr bool equal_ignoring_case(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (lower(a[i]) != lower(b[i])) return false;
  }
  return true;
}

// Takes everything up to `separator` off the front of `rest`.
constexpr std::string_view take_until(std::string_view& rest, char separator) {
  std::size_t length = 0;
  while (length < rest.size() && rest[length] != separator) ++length;
  const std::string_view head(rest.data(), length);
  rest.remove_prefix(length < rest.size() ? length + 1 : length);
  return head;
}

constexpr Parsed parse_choice(std::string_view text, std::string_view words) {
  for (std::uint64_t position = 0; !words.empty(); ++position) {
    if (equal_ignoring_case(text, take_until(words, '|'))) return {Verdict::ok, position};
  }
  return {};
}

constexpr Parsed parse_bool(std::string_view text) {
  const Parsed word = parse_choice(text, "0|1|false|true|off|on|no|yes");
  return {word.verdict, word.value % 2};
}

// Takes the digits off the front of `text`; malformed if there are none.
constexpr Parsed take_digits(std::string_view& text) {
  Parsed result;
  while (!text.empty() && is_digit(text.front())) {
    const auto digit = static_cast<std::uint64_t>(text.front() - '0');
    if (result.verdict == Verdict::malformed) result.verdict = Verdict::ok;
    if (result.value > (std::numeric_limits<std::uint64_t>::max() - digit) / 10) result.verdict = Verdict::out_of_range;
    result.value = result.value * 10 + digit;
    text.remove_prefix(1);
  }
  return result;
}

constexpr Parsed parse_integer(std::string_view text) {
  const Parsed number = take_digits(text);
  return text.empty() ? number : Parsed{};
}

// Bits to shift by for "", B, K, KB, KiB, M ... TiB in any case; -1 if it is none of them.
constexpr int unit_shift(std::string_view unit) {
  if (unit.empty() || equal_ignoring_case(unit, "b")) return 0;
  int shift = 0;
  switch (lower(unit.front())) {
    case 'k':
      shift = 10;
      break;
    case 'm':
      shift = 20;
      break;
    case 'g':
      shift = 30;
      break;
    case 't':
      shift = 40;
      break;
    default:
      return -1;
  }
  unit.remove_prefix(1);
  return unit.empty() || equal_ignoring_case(unit, "b") || equal_ignoring_case(unit, "ib") ? shift : -1;
}

// 4096, 16K, 2 MiB, 1.5g. Up to six decimals, since more could not be scaled exactly in 64 bits.
constexpr Parsed parse_size(std::string_view text) {
  const Parsed whole = take_digits(text);
  if (whole.verdict == Verdict::malformed) return {};
  std::uint64_t decimals = 0;
  std::uint64_t scale = 1;
  const bool fractional = !text.empty() && text.front() == '.';
  if (fractional) {
    text.remove_prefix(1);
    for (; !text.empty() && is_digit(text.front()); text.remove_prefix(1)) {
      decimals = decimals * 10 + static_cast<std::uint64_t>(text.front() - '0');
      scale *= 10;
      if (scale > 1'000'000) return {};
    }
  }
  const int shift = unit_shift(trim(text));
  if (shift < 0 || (fractional && (shift == 0 || scale == 1))) return {};
  const std::uint64_t limit = std::numeric_limits<std::uint64_t>::max() >> shift;
  if (whole.verdict == Verdict::out_of_range || whole.value >= limit) return {Verdict::out_of_range, 0};
  return {Verdict::ok, (whole.value << shift) + (decimals << shift) / scale};
}

// A size, or a percentage of at most 100 with up to two decimals: 20%, 12.5 %.
constexpr Parsed parse_share(std::string_view text) {
  if (text.empty() || text.back() != '%') return parse_size(text);
  text.remove_suffix(1);
  text = trim(text);
  const Parsed whole = take_digits(text);
  if (whole.verdict != Verdict::ok) return whole;
  std::uint64_t hundredths = 0;
  if (!text.empty() && text.front() == '.') {
    text.remove_prefix(1);
    if (text.empty() || text.size() > 2) return {};
    const bool one = text.size() == 1;
    const Parsed decimals = parse_integer(text);
    if (decimals.verdict != Verdict::ok) return {};
    hundredths = decimals.value * (one ? 10 : 1);
    text = {};
  }
  if (!text.empty()) return {};
  if (whole.value > 100 || whole.value * 100 + hundredths > 10'000) return {Verdict::out_of_range, 0};
  return {Verdict::ok, kPercentFlag | (whole.value * 100 + hundredths)};
}

constexpr Parsed parse_number(Kind kind, std::string_view text) {
  return kind == Kind::integer ? parse_integer(text) : parse_size(text);
}

// `range` is "low..high" in the syntax of `kind`.
constexpr Parsed parse_in_range(Kind kind, std::string_view text, std::string_view range) {
  Parsed number = parse_number(kind, text);
  const Parsed low = parse_number(kind, take_until(range, '.'));
  range.remove_prefix(1);
  const Parsed high = parse_number(kind, range);
  if (number.verdict == Verdict::ok && (number.value < low.value || number.value > high.value)) {
    number.verdict = Verdict::out_of_range;
  }
  return number;
}

// N:M, each at most Weights::kMost and not both 0, or a percentage.
constexpr Parsed parse_weights(std::string_view text, std::string_view range) {
  const bool pair = text.find(':') != std::string_view::npos;
  const std::string_view first = trim(take_until(text, ':'));
  if (!pair) {
    const Parsed percent = parse_in_range(Kind::integer, first, range);
    if (percent.verdict != Verdict::ok) return percent;
    return {Verdict::ok, Weights{percent.value, 100 - percent.value}.stored()};
  }
  const Parsed fast = parse_integer(first);
  const Parsed slow = parse_integer(trim(text));
  if (fast.verdict == Verdict::malformed || slow.verdict == Verdict::malformed) return {};
  if (fast.verdict != Verdict::ok || slow.verdict != Verdict::ok) return {Verdict::out_of_range, 0};
  const bool fits = fast.value <= Weights::kMost && slow.value <= Weights::kMost && fast.value + slow.value != 0;
  return fits ? Parsed{Verdict::ok, Weights{fast.value, slow.value}.stored()} : Parsed{Verdict::out_of_range, 0};
}

// For a path the value is its length. Space around the text is not part of it.
constexpr Parsed parse_value(const KnobRow& row, std::string_view text) {
  text = trim(text);
  switch (row.kind) {
    case Kind::boolean:
      return parse_bool(text);
    case Kind::choice:
      return parse_choice(text, row.range);
    case Kind::integer:
    case Kind::count:
    case Kind::size:
      return parse_in_range(row.kind, text, row.range);
    case Kind::share: {
      const Parsed share = parse_share(text);
      return share.verdict == Verdict::ok && is_percentage(share.value) ? share
                                                                        : parse_in_range(Kind::size, text, row.range);
    }
    case Kind::weights:
      return parse_weights(text, row.range);
    case Kind::path:
    case Kind::text:
      return {text.size() < kPathCapacity ? Verdict::ok : Verdict::too_long, text.size()};
  }
  return {};
}

}  // namespace hearth::config
