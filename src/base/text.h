// Bounded text: builds one line in a buffer of the caller, without stdio, locale or memory of its own.
//
//   text::Buffer<128> line;
//   line << "reserved " << text::Size{bytes} << " at " << text::Hex{address};
//
// What does not fit is cut off and truncated() says so; the buffer always ends with a NUL.
// Thread-safety: plain object of its caller. Async-signal-safe, allocates nothing, never fails.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hearth::text {

struct Hex {  // 0x1f
  std::uint64_t value;
};
struct Size {  // "512 B", "64 MiB", "1.5 GiB": binary units, one decimal unless exact
  std::uint64_t bytes;
};
struct Fixed {  // "3.14"; "nan", "inf"; from 1e18 on "1.23e18". At most 9 decimals.
  double value;
  unsigned decimals;
};
struct Errno {  // "Cannot allocate memory (ENOMEM)"
  int code;
};

class Writer {
 public:
  Writer(char* buffer, std::size_t capacity);  // capacity >= 1: the NUL counts
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  Writer& operator<<(std::string_view text);
  Writer& operator<<(const char* text);  // null is shown as "(null)"
  Writer& operator<<(char character);
  Writer& operator<<(bool value);  // "on" / "off", as knobs are written
  Writer& operator<<(Hex hex);
  Writer& operator<<(Size size);
  Writer& operator<<(Fixed fixed);
  Writer& operator<<(Errno error);

  template <std::integral Number>
  Writer& operator<<(Number number) {
    if constexpr (std::signed_integral<Number>) {
      return put_signed(static_cast<std::int64_t>(number));
    } else {
      return put_unsigned(static_cast<std::uint64_t>(number));
    }
  }

  std::string_view view() const { return {buffer_, length_}; }
  const char* c_str() const { return buffer_; }
  std::size_t length() const { return length_; }
  bool truncated() const { return truncated_; }
  void clear();

 private:
  Writer& put_unsigned(std::uint64_t number);
  Writer& put_signed(std::int64_t number);
  Writer& put_padded(std::uint64_t number, unsigned digits);

  char* buffer_;
  std::size_t capacity_;
  std::size_t length_ = 0;
  bool truncated_ = false;
};

template <std::size_t Capacity>
class Buffer : public Writer {
 public:
  Buffer() : Writer(storage_, Capacity) {}

 private:
  char storage_[Capacity];
};

}  // namespace hearth::text
