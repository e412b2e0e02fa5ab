#include "base/text.h"

#include <cstring>

namespace hearth::text {

namespace {

constexpr double kScientificFrom = 1e18;  // below it the integer part fits 64 bits

std::uint64_t power_of_ten(unsigned exponent) {
  std::uint64_t power = 1;
  for (unsigned i = 0; i < exponent; ++i) {
    power *= 10;
  }
  return power;
}

}  // namespace

Writer::Writer(char* buffer, std::size_t capacity) : buffer_(buffer), capacity_(capacity) { buffer_[0] = '\0'; }

void Writer::clear() {
  length_ = 0;
  truncated_ = false;
  buffer_[0] = '\0';
}

Writer& Writer::operator<<(std::string_view text) {
  std::size_t room = capacity_ - 1 - length_;
  std::size_t count = text.size() < room ? text.size() : room;
  if (count != 0) {  // an empty view may have a null pointer, which memcpy does not take
    std::memcpy(buffer_ + length_, text.data(), count);
  }
  length_ += count;
  buffer_[length_] = '\0';
  truncated_ |= count < text.size();
  return *this;
}

Writer& Writer::operator<<(const char* text) { return *this << std::string_view(text != nullptr ? text : "(null)"); }

Writer& Writer::operator<<(char character) { return *this << std::string_view(&character, 1); }

Writer& Writer::operator<<(bool value) { return *this << (value ? std::string_view("on") : std::string_view("off")); }

Writer& Writer::operator<<(Hex hex) {
  char digits[16];
  std::size_t first = sizeof digits;
  std::uint64_t rest = hex.value;
  do {
    digits[--first] = "0123456789abcdef"[rest & 15];
    rest >>= 4;
  } while (rest != 0);
  return *this << "0x" << std::string_view(digits + first, sizeof digits - first);
}

Writer& Writer::operator<<(Size size) {
  static constexpr std::string_view kUnits[] = {" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"};
  unsigned unit = 0;
  while (unit < 6 && (size.bytes >> (10 * (unit + 1))) != 0) {
    ++unit;
  }
  std::uint64_t scale = std::uint64_t{1} << (10 * unit);
  std::uint64_t whole = size.bytes / scale;
  std::uint64_t rest = size.bytes % scale;
  if (rest == 0) {
    return *this << whole << kUnits[unit];
  }
  std::uint64_t tenths = whole * 10 + (rest * 10 + scale / 2) / scale;
  if (tenths >= 10240 && unit < 6) {  // 1023.96 KiB is 1 MiB when rounded
    return *this << "1" << kUnits[unit + 1];
  }
  return *this << tenths / 10 << '.' << tenths % 10 << kUnits[unit];
}

Writer& Writer::operator<<(Fixed fixed) {
  double value = fixed.value;
  if (value != value) {
    return *this << "nan";
  }
  if (value < 0) {
    *this << '-';
    value = -value;
  }
  if (value > 1.7976931348623157e308) {
    return *this << "inf";
  }
  unsigned decimals = fixed.decimals < 9 ? fixed.decimals : 9;
  unsigned exponent = 0;
  if (value >= kScientificFrom) {
    for (; value >= 10; value /= 10) {
      ++exponent;
    }
  }
  std::uint64_t unit = power_of_ten(decimals);
  auto whole = static_cast<std::uint64_t>(value);
  auto fraction = static_cast<std::uint64_t>((value - static_cast<double>(whole)) * static_cast<double>(unit) + 0.5);
  if (fraction >= unit) {
    ++whole;
    fraction -= unit;
  }
  *this << whole;
  if (decimals != 0) {
    *this << '.';
    put_padded(fraction, decimals);
  }
  return exponent != 0 ? *this << 'e' << exponent : *this;
}

Writer& Writer::operator<<(Errno error) {
  // Unlike strerror, these two neither translate nor allocate.
  const char* description = strerrordesc_np(error.code);
  const char* name = strerrorname_np(error.code);
  if (description == nullptr || name == nullptr) {
    return *this << "error " << error.code;
  }
  return *this << description << " (" << name << ')';
}

Writer& Writer::put_unsigned(std::uint64_t number) {
  char digits[20];
  std::size_t first = sizeof digits;
  do {
    digits[--first] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  return *this << std::string_view(digits + first, sizeof digits - first);
}

Writer& Writer::put_signed(std::int64_t number) {
  if (number < 0) {
    *this << '-';
    return put_unsigned(~static_cast<std::uint64_t>(number) + 1);  // also right for the smallest number
  }
  return put_unsigned(static_cast<std::uint64_t>(number));
}

Writer& Writer::put_padded(std::uint64_t number, unsigned digits) {
  for (std::uint64_t unit = power_of_ten(digits - 1); unit > 1 && number < unit; unit /= 10) {
    *this << '0';
  }
  return put_unsigned(number);
}

}  // namespace hearth::text
