#include "report/json_writer.h"

#include <algorithm>
#include <cmath>

#include "platform/os_files.h"

namespace hearth::report {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool continuation(std::string_view text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
}

// Bytes of the well-formed UTF-8 sequence at `at`, 0 if there is none (RFC 3629: no overlong forms, no surrogates).
std::size_t sequence_bytes(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(at);
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4 || !continuation(text, at + 1)) return 0;
  if (lead < 0xE0) return 2;
  const unsigned second = byte(at + 1);
  if (!continuation(text, at + 2)) return 0;
  if (lead < 0xF0) return (lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ? 0 : 3;
  if (!continuation(text, at + 3)) return 0;
  return (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F) ? 0 : 4;
}

}  // namespace

void FileSink::pass_on(const char* data, std::size_t bytes) {
  if (error_ == 0) error_ = os::write_all(fd_, data, bytes);
}

JsonWriter JsonWriter::continuing(Sink& sink) {
  JsonWriter writer(sink);
  writer.depth_ = 1;
  writer.has_members_ = 1u << 1;
  return writer;
}

void JsonWriter::separate() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  const std::uint64_t bit = std::uint64_t{1} << depth_;
  if (depth_ > 0 && (has_members_ & bit) != 0) sink_.put(',');
  has_members_ |= bit;
}

JsonWriter& JsonWriter::open(char bracket) {
  separate();
  sink_.put(bracket);
  ++depth_;
  has_members_ &= ~(std::uint64_t{1} << depth_);
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  --depth_;
  sink_.put(bracket);
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  text(name);
  sink_.put(':');
  after_key_ = true;
  return *this;
}

void JsonWriter::text(std::string_view content) {
  constexpr char kHex[] = "0123456789abcdef";
  sink_.put('"');
  for (std::size_t i = 0; i < content.size();) {
    const std::size_t bytes = sequence_bytes(content, i);
    const char c = content[i];
    if (bytes == 0) {
      sink_.put(kReplacement);
      ++i;
      continue;
    }
    if (c == '"' || c == '\\') {
      sink_.put('\\');
      sink_.put(c);
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      sink_.put("\\u00");
      sink_.put(kHex[static_cast<unsigned char>(c) >> 4]);
      sink_.put(kHex[c & 15]);
    } else {
      sink_.put(content.substr(i, bytes));
    }
    i += bytes;
  }
  sink_.put('"');
}

void JsonWriter::digits(std::uint64_t number) {
  char reversed[20];
  std::size_t count = 0;
  do {
    reversed[count++] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number > 0);
  while (count > 0) sink_.put(reversed[--count]);
}

// whole + parts / 10^places, without trailing zeros.
void JsonWriter::fraction(std::uint64_t whole, std::uint64_t parts, std::uint32_t places) {
  digits(whole);
  if (parts == 0) return;
  for (; parts % 10 == 0; parts /= 10) --places;
  char reversed[20];
  for (std::uint32_t i = 0; i < places; ++i, parts /= 10) reversed[i] = static_cast<char>('0' + parts % 10);
  sink_.put('.');
  while (places > 0) sink_.put(reversed[--places]);
}

JsonWriter& JsonWriter::value(std::string_view content) {
  separate();
  text(content);
  return *this;
}

JsonWriter& JsonWriter::value(bool truth) {
  separate();
  sink_.put(truth ? std::string_view("true") : std::string_view("false"));
  return *this;
}

JsonWriter& JsonWriter::value(std::uint64_t number) {
  separate();
  digits(number);
  return *this;
}

JsonWriter& JsonWriter::value(std::int64_t number) {
  separate();
  if (number < 0) sink_.put('-');
  digits(number < 0 ? 0 - static_cast<std::uint64_t>(number) : static_cast<std::uint64_t>(number));
  return *this;
}

JsonWriter& JsonWriter::value(double number) {
  constexpr double kMax = 9007199254740992.0;  // 2^53
  if (!std::isfinite(number) || std::fabs(number) > kMax) return null();
  separate();
  const double size = std::fabs(number);
  auto whole = static_cast<std::uint64_t>(size);
  auto millionths = static_cast<std::uint64_t>((size - static_cast<double>(whole)) * 1e6 + 0.5);
  if (millionths == 1000000) {
    ++whole;
    millionths = 0;
  }
  if (number < 0 && (whole > 0 || millionths > 0)) sink_.put('-');
  fraction(whole, millionths, 6);
  return *this;
}

JsonWriter& JsonWriter::null() {
  separate();
  sink_.put("null");
  return *this;
}

JsonWriter& JsonWriter::ratio(std::uint64_t numerator, std::uint64_t denominator) {
  if (denominator == 0) return null();
  separate();
  const std::uint64_t whole = numerator / denominator;
  // Scaled down first where a thousand times the rest would not fit.
  std::uint64_t rest = numerator % denominator;
  while (rest > UINT64_MAX / 1000) {
    rest >>= 10;
    denominator >>= 10;
  }
  // Scaling rounds the denominator down, which must not make a whole of a rest.
  fraction(whole, std::min<std::uint64_t>(rest * 1000 / denominator, 999), 3);
  return *this;
}

JsonWriter& JsonWriter::hex(std::uint64_t number) {
  separate();
  sink_.put("\"0x");
  for (int shift = 60; shift >= 0; shift -= 4) sink_.put("0123456789abcdef"[number >> shift & 15]);
  sink_.put('"');
  return *this;
}

}  // namespace hearth::report
