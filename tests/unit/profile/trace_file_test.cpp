// The trace file: round trip, and every kind of damage is an error with a reason, never a crash or a huge allocation.
// With sanitizers (preset asan) the mutation tests are the deterministic part of a fuzzer's work.
#include "profile/trace_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <random>

#include "profile/agreement.h"
#include "profile/build.h"
#include "profile/crc32.h"
#include "unit/profile/events.h"

namespace hearth::profile {
namespace {

using testing::HasSubstr;
using Bytes = std::vector<std::byte>;

class TraceFile : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = testing::TempDir() + "hearth_trace_XXXXXX";
    ASSERT_NE(mkdtemp(directory_.data()), nullptr);
    path_ = directory_ + "/t.trace";
    script_.live(1, 100).begin("aten::a").operand(1, HEARTH_ACCESS_READ, 100).alloc(2, 5).end("aten::a").free(2);
    info_.hearth_version = "0.1.0";
    info_.torch_version = "2.13.0";
    info_.command = std::string("python \0x", 9);
    info_.host = "h";
    info_.mode = "faults";
    info_.pid = 7;
    info_.unix_ns = 1'700'000'000'123'456'789;
    info_.iteration = 3;
    info_.elastic = true;
    info_.extrapolated = "from sizes 2 and 4 to 8";
    info_.thresholds = {.short_ops = 12, .frequency_base = 2.5, .frequency_buckets = 6};
  }
  void TearDown() override {
    unlink(path_.c_str());
    rmdir(directory_.c_str());
  }
  Bytes written() {
    const Result<void> done = write_trace(path_, info_, script_.names(), script_.events(), 5);
    EXPECT_TRUE(done) << done.error();
    std::ifstream file(path_, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    Bytes bytes(text.size());
    std::memcpy(bytes.data(), text.data(), text.size());
    return bytes;
  }
  static std::string error_of(const Bytes& bytes) {
    const Result<Trace> trace = parse_trace(bytes, "t.trace");
    return trace ? "no error" : trace.error();
  }
  // Makes the checksums fit again, so that damage reaches what lies behind them.
  static void reseal(Bytes& bytes) {
    if (bytes.size() < sizeof(TraceHeader) + kTraceTrailerBytes) return;
    Crc32 header, body;
    header.add(bytes.data(), sizeof(TraceHeader) - 4);
    const std::uint32_t header_crc = header.value();
    std::memcpy(bytes.data() + sizeof(TraceHeader) - 4, &header_crc, 4);
    body.add(bytes.data() + sizeof(TraceHeader), bytes.size() - sizeof(TraceHeader) - kTraceTrailerBytes);
    const std::uint32_t body_crc = body.value();
    std::memcpy(bytes.data() + bytes.size() - kTraceTrailerBytes, &body_crc, 4);
  }
  // What a tool does with a trace that was accepted.
  static bool survives(const Bytes& bytes) {
    const Result<Trace> trace = parse_trace(bytes, "t.trace");
    if (!trace) return !trace.error().empty();
    const Profile profile = build(trace->events, trace->names, trace->info.thresholds, trace->dropped);
    compare(profile);
    return true;
  }

  std::string directory_, path_;
  test::Script script_;
  TraceInfo info_;
};

TEST_F(TraceFile, RoundTrips) {
  written();
  const Result<Trace> trace = read_trace(path_);
  ASSERT_TRUE(trace) << trace.error();
  EXPECT_EQ(trace->dropped, 5u);
  EXPECT_EQ(trace->names, script_.names());
  EXPECT_EQ(trace->info.command, info_.command) << "a zero byte is text like any other";
  EXPECT_EQ(trace->info.unix_ns, info_.unix_ns);
  EXPECT_EQ(trace->info.thresholds.frequency_base, 2.5);
  EXPECT_EQ(trace->info.thresholds.frequency_buckets, 6u);
  EXPECT_EQ(trace->info.extrapolated, info_.extrapolated);
  ASSERT_EQ(trace->events.size(), script_.events().size());
  EXPECT_EQ(std::memcmp(trace->events.data(), script_.events().data(), script_.events().size() * 32), 0);
}

TEST_F(TraceFile, HoldsNothingToo) {
  ASSERT_TRUE(write_trace(path_, {}, {}, {}, 0));
  const Result<Trace> trace = read_trace(path_);
  ASSERT_TRUE(trace) << trace.error();
  EXPECT_TRUE(trace->events.empty());
  EXPECT_EQ(trace->names.size(), 1u);
}

TEST_F(TraceFile, IsWrittenWholeOrNotAtAll) {
  written();
  ASSERT_TRUE(write_trace(path_, info_, script_.names(), script_.events(), 6));
  EXPECT_EQ(read_trace(path_)->dropped, 6u) << "replaced";
  const Result<void> kept = write_trace(path_, info_, script_.names(), script_.events(), 7, false);
  ASSERT_FALSE(kept);
  EXPECT_THAT(kept.error(), HasSubstr("File exists"));
  EXPECT_EQ(read_trace(path_)->dropped, 6u);
  EXPECT_EQ(rmdir(directory_.c_str()), -1);
  unlink(path_.c_str());
  EXPECT_EQ(rmdir(directory_.c_str()), 0) << "a temporary file was left behind";
  const Result<void> nowhere = write_trace(path_, info_, script_.names(), script_.events(), 0);
  ASSERT_FALSE(nowhere);
  EXPECT_THAT(nowhere.error(), HasSubstr("create it"));
}

TEST_F(TraceFile, WhatIsNoTraceIsToldSo) {
  EXPECT_THAT(error_of({}), HasSubstr("not a Hearth trace"));
  EXPECT_THAT(error_of(Bytes(100, std::byte{'x'})), HasSubstr("not a Hearth trace"));
  EXPECT_THAT(read_trace(directory_).error(), HasSubstr("not a regular file"));
  EXPECT_THAT(read_trace(path_).error(), HasSubstr("No such file"));
  EXPECT_THAT(read_trace("/dev/null").error(), HasSubstr("not a regular file"));
}

TEST_F(TraceFile, VersionsByteOrderAndSizesAreNamed) {
  const Bytes good = written();
  const auto with = [&](std::size_t offset, auto value) {
    Bytes bytes = good;
    std::memcpy(bytes.data() + offset, &value, sizeof(value));
    reseal(bytes);
    return error_of(bytes);
  };
  EXPECT_THAT(with(offsetof(TraceHeader, version), 2u), HasSubstr("version 2"));
  EXPECT_THAT(with(offsetof(TraceHeader, byte_order), 0x04030201u), HasSubstr("byte order"));
  EXPECT_THAT(with(offsetof(TraceHeader, event_bytes), 24u), HasSubstr("size"));
  EXPECT_THAT(with(offsetof(TraceHeader, file_bytes), std::uint64_t{1} << 40), HasSubstr("truncated"));
  EXPECT_THAT(with(offsetof(TraceHeader, event_count), ~std::uint64_t{0} / 32), HasSubstr("do not add up"));
  EXPECT_THAT(with(offsetof(TraceHeader, event_count), std::uint64_t{1}), HasSubstr("do not add up"));
  EXPECT_THAT(with(offsetof(TraceHeader, names_bytes), ~std::uint64_t{0} - 100), HasSubstr("do not add up"));
  EXPECT_THAT(with(offsetof(TraceHeader, info_bytes), 0xFFFFFFFFu), HasSubstr("do not add up"));
  EXPECT_THAT(with(offsetof(TraceHeader, name_count), 0xFFFFFFFFu), HasSubstr("name table"));
  Bytes longer = good;
  longer.push_back(std::byte{0});
  EXPECT_THAT(error_of(longer), HasSubstr("1 bytes too many"));
}

TEST_F(TraceFile, IndicesOutOfRangeAreFound) {
  Bytes bytes = written();
  const std::size_t events = bytes.size() - kTraceTrailerBytes - 32 * script_.events().size();
  const auto with = [&](std::size_t event, std::size_t offset, std::uint8_t value) {
    Bytes damaged = bytes;
    damaged[events + 32 * event + offset] = std::byte{value};
    reseal(damaged);
    return error_of(damaged);
  };
  EXPECT_THAT(with(1, offsetof(hearth_event, name), 200), HasSubstr("event 1: name index"));
  EXPECT_THAT(with(2, offsetof(hearth_event, type), 14), HasSubstr("event 2: unknown event type"));
  EXPECT_THAT(with(2, offsetof(hearth_event, type), 0), HasSubstr("unknown event type"));
  EXPECT_THAT(with(2, offsetof(hearth_event, access), 9), HasSubstr("access"));
}

TEST_F(TraceFile, EveryCutIsAnError) {
  const Bytes good = written();
  for (std::size_t length = 0; length < good.size(); ++length) {
    Bytes cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(length));
    ASSERT_NE(error_of(cut), "no error") << length;
    reseal(cut);
    ASSERT_NE(error_of(cut), "no error") << length << " resealed";
  }
}

TEST_F(TraceFile, EveryFlippedBitIsAnError) {
  const Bytes good = written();
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      Bytes bytes = good;
      bytes[at] ^= std::byte{1} << bit;
      ASSERT_NE(error_of(bytes), "no error") << at << ":" << bit;
    }
  }
}

TEST_F(TraceFile, NoByteBehindTheChecksumsCanDoHarm) {
  const Bytes good = written();
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const int value : {0, 1, 0x7F, 0x80, 0xFE, 0xFF}) {
      Bytes bytes = good;
      bytes[at] = static_cast<std::byte>(value);
      reseal(bytes);
      ASSERT_TRUE(survives(bytes)) << at << " = " << value;
    }
  }
}

TEST_F(TraceFile, NoMixOfDamageCanDoHarm) {
  const Bytes good = written();
  std::mt19937 random(20240607);
  const auto below = [&](std::size_t limit) { return random() % limit; };
  for (int round = 0; round < 20'000; ++round) {
    Bytes bytes = good;
    for (std::size_t change = 0; change <= below(8); ++change) {
      const std::size_t at = sizeof(TraceHeader) + below(bytes.size() - sizeof(TraceHeader));
      bytes[at] = static_cast<std::byte>(below(round % 2 == 0 ? 256 : 16));
    }
    reseal(bytes);
    ASSERT_TRUE(survives(bytes)) << round;
  }
}

TEST(Crc32, IsTheOneOfZlib) {
  const std::string text = "123456789";
  Crc32 whole;
  whole.add(text.data(), text.size());
  EXPECT_EQ(whole.value(), 0xCBF43926u);
  const std::string longer(1000, 'x');
  Crc32 once, pieces;
  once.add(longer.data(), longer.size());
  for (std::size_t i = 0; i < longer.size(); i += 13)
    pieces.add(longer.data() + i, std::min<std::size_t>(13, 1000 - i));
  EXPECT_EQ(once.value(), pieces.value());
}

}  // namespace
}  // namespace hearth::profile
