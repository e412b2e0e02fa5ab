#include "base/text.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <limits>
#include <string>

namespace hearth::text {
namespace {

template <class... Parts>
std::string joined(const Parts&... parts) {
  Buffer<256> buffer;
  (buffer << ... << parts);
  EXPECT_EQ(buffer.c_str()[buffer.length()], '\0');
  return std::string(buffer.view());
}

TEST(Text, WritesIntegersOfEveryType) {
  EXPECT_EQ(joined(0, ' ', -1, ' ', 42u), "0 -1 42");
  EXPECT_EQ(joined(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(joined(std::numeric_limits<std::int64_t>::max()), "9223372036854775807");
  EXPECT_EQ(joined(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(joined(std::int8_t{-128}, ' ', std::uint8_t{255}, ' ', std::int16_t{-32768}), "-128 255 -32768");
  EXPECT_EQ(joined(true, ' ', false), "on off");
}

TEST(Text, WritesStrings) {
  const char* none = nullptr;
  EXPECT_EQ(joined("a", std::string_view(), std::string("b"), 'c', none), "abc(null)");
  EXPECT_EQ(joined(std::string_view("x\0y", 3)), std::string("x\0y", 3));
}

TEST(Text, WritesHexadecimals) {
  EXPECT_EQ(joined(Hex{0}), "0x0");
  EXPECT_EQ(joined(Hex{0x7f12'34ab'cdef}), "0x7f1234abcdef");
  EXPECT_EQ(joined(Hex{UINT64_MAX}), "0xffffffffffffffff");
}

TEST(Text, WritesSizesWithOneDecimalUnlessExact) {
  struct Case {
    std::uint64_t bytes;
    const char* text;
  };
  constexpr std::uint64_t kKiB = 1024;
  constexpr std::uint64_t kMiB = kKiB * kKiB;
  constexpr std::uint64_t kGiB = kMiB * kKiB;
  for (const Case& row :
       {Case{0, "0 B"}, Case{1, "1 B"}, Case{1023, "1023 B"}, Case{1024, "1 KiB"}, Case{1025, "1.0 KiB"},
        Case{1536, "1.5 KiB"}, Case{64 * kMiB, "64 MiB"}, Case{kMiB - 1, "1 MiB"}, Case{kMiB - 52, "1023.9 KiB"},
        Case{3 * kGiB / 2, "1.5 GiB"}, Case{1000 * kGiB, "1000 GiB"}, Case{kGiB * kKiB, "1 TiB"},
        Case{kGiB * kMiB, "1 PiB"}, Case{1ull << 60, "1 EiB"}, Case{UINT64_MAX, "16.0 EiB"}}) {
    EXPECT_EQ(joined(Size{row.bytes}), row.text) << row.bytes;
  }
}

TEST(Text, WritesDecimals) {
  struct Case {
    double value;
    unsigned decimals;
    const char* text;
  };
  for (const Case& row :
       {Case{0, 0, "0"}, Case{0, 2, "0.00"}, Case{3.14159, 2, "3.14"}, Case{-2.5, 1, "-2.5"}, Case{0.05, 3, "0.050"},
        Case{0.999, 2, "1.00"}, Case{9.9999, 3, "10.000"}, Case{1e-9, 9, "0.000000001"}, Case{1e-12, 9, "0.000000000"},
        Case{123456789.5, 1, "123456789.5"}, Case{1.5, 40, "1.500000000"}, Case{1e17, 0, "100000000000000000"},
        Case{1e18, 2, "1.00e18"}, Case{1.25e300, 2, "1.25e300"}, Case{-1e20, 0, "-1e20"}}) {
    EXPECT_EQ(joined(Fixed{row.value, row.decimals}), row.text) << row.value;
  }
  EXPECT_EQ(joined(Fixed{std::numeric_limits<double>::quiet_NaN(), 2}), "nan");
  EXPECT_EQ(joined(Fixed{std::numeric_limits<double>::infinity(), 2}), "inf");
  EXPECT_EQ(joined(Fixed{-std::numeric_limits<double>::infinity(), 2}), "-inf");
  EXPECT_EQ(joined(Fixed{std::numeric_limits<double>::max(), 1}).substr(0, 3), "1.8");
}

TEST(Text, NamesErrors) {
  EXPECT_EQ(joined(Errno{ENOMEM}), "Cannot allocate memory (ENOMEM)");
  EXPECT_EQ(joined(Errno{EPERM}), "Operation not permitted (EPERM)");
  EXPECT_EQ(joined(Errno{98765}), "error 98765");
  EXPECT_EQ(joined(Errno{-1}), "error -1");
}

TEST(Text, CutsWhatDoesNotFitAndSaysSo) {
  Buffer<8> buffer;
  buffer << "1234567";
  EXPECT_FALSE(buffer.truncated());
  buffer << 8 << "9";
  EXPECT_TRUE(buffer.truncated());
  EXPECT_EQ(buffer.view(), "1234567");
  EXPECT_EQ(buffer.c_str()[7], '\0');
  buffer.clear();
  EXPECT_FALSE(buffer.truncated());
  buffer << "abcdefghij";
  EXPECT_EQ(buffer.view(), "abcdefg");
  Buffer<1> nothing;
  nothing << "x";
  EXPECT_EQ(nothing.view(), "");
  EXPECT_TRUE(nothing.truncated());
}

}  // namespace
}  // namespace hearth::text
