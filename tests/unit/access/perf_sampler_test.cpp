// perf_event: software samples where the kernel allows them; the hardware recipes as values, since the machines that
// run these tests mostly have no PMU.
#include "access/perf_sampler.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <thread>
#include <vector>

#include "access/perf_event.h"
#include "platform/os_clock.h"

namespace hearth::access {
namespace {

constexpr std::size_t kPage = 4096;

class PerfSamplerTest : public ::testing::Test {
 protected:
  void open_page_faults() {
    PerfOptions options;
    options.precise = false;
    if (!sampler_.open(options)) GTEST_SKIP() << explain(sampler_.stats().status[0]);
  }
  void TearDown() override { sampler_.close(); }

  std::vector<PerfSample> poll() {
    std::vector<PerfSample> samples;
    sampler_.poll(
        [](const PerfSample& sample, void* to) { static_cast<std::vector<PerfSample>*>(to)->push_back(sample); },
        &samples);
    return samples;
  }
  static char* fresh(std::size_t pages) {
    void* data = mmap(nullptr, pages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(data, pages * kPage, MADV_NOHUGEPAGE);
    return static_cast<char*>(data);
  }
  static std::size_t pages_seen(const std::vector<PerfSample>& samples, const char* data, std::size_t pages) {
    const auto begin = reinterpret_cast<std::uintptr_t>(data);
    std::vector<bool> seen(pages);
    for (const PerfSample& sample : samples) {
      if (sample.address >= begin && sample.address < begin + pages * kPage)
        seen[(sample.address - begin) / kPage] = true;
    }
    return static_cast<std::size_t>(std::count(seen.begin(), seen.end(), true));
  }

  PerfSampler sampler_;
};

TEST_F(PerfSamplerTest, FirstTouchesComeWithAddressTimeAndThread) {
  open_page_faults();
  poll();
  char* data = fresh(100);
  const std::uint64_t begin = os::monotonic_ns();
  for (std::size_t i = 0; i < 100; ++i) data[i * kPage] = 1;
  const std::vector<PerfSample> samples = poll();
  EXPECT_EQ(pages_seen(samples, data, 100), 100u);
  const auto first = reinterpret_cast<std::uintptr_t>(data);
  for (const PerfSample& sample : samples) {
    if (sample.address < first || sample.address >= first + 100 * kPage) continue;  // the test's own book-keeping
    EXPECT_EQ(sample.access, HEARTH_ACCESS_UNKNOWN);
    EXPECT_GE(sample.time_ns, begin);
    EXPECT_LE(sample.time_ns, os::monotonic_ns());
    EXPECT_EQ(sample.thread, static_cast<std::uint32_t>(gettid()));
  }
  EXPECT_EQ(pages_seen(poll(), data, 100), 0u) << "handed out once";
}

TEST_F(PerfSamplerTest, RingsWrapAndWhatDoesNotFitIsCounted) {
  open_page_faults();
  char* data = fresh(4000);
  std::size_t seen = 0;
  for (std::size_t i = 0; i < 2000; ++i) {
    data[i * kPage] = 1;
    if (i % 100 == 99) seen += pages_seen(poll(), data, 4000);
  }
  EXPECT_EQ(seen, 2000u);
  EXPECT_EQ(sampler_.stats().lost, 0u);
  for (std::size_t i = 2000; i < 4000; ++i) data[i * kPage] = 1;
  seen = pages_seen(poll(), data, 4000);
  EXPECT_LT(seen, 2000u) << "2000 samples of 40 bytes do not fit 32 KiB";
  data = fresh(1);
  data[0] = 1;  // the kernel reports a loss with the next record
  poll();
  EXPECT_GE(sampler_.stats().lost + seen, 2000u);
}

TEST_F(PerfSamplerTest, ThreadsBornLaterAreAttachedWhenAsked) {
  open_page_faults();
  const std::uint32_t before = sampler_.stats().threads;  // sanitizers have a thread of their own
  std::atomic<int> stage{0};
  char* data = fresh(10);
  std::thread other([&] {
    stage = 1;
    while (stage == 1) usleep(100);
    for (std::size_t i = 0; i < 10; ++i) data[i * kPage] = 1;
  });
  while (stage == 0) usleep(100);
  sampler_.attach_new_threads();
  EXPECT_EQ(sampler_.stats().threads, before + 1);
  stage = 2;
  other.join();
  EXPECT_EQ(pages_seen(poll(), data, 10), 10u);
}

TEST_F(PerfSamplerTest, AskingForHardwareIsAStatusNotAFailure) {
  sampler_.open({});
  for (const PerfEvent event : {PerfEvent::loads, PerfEvent::stores}) {
    const PerfStatus status = sampler_.stats().status[static_cast<std::size_t>(event)];
    EXPECT_NE(status, PerfStatus::off);
    EXPECT_EQ(status == PerfStatus::ok, std::string(explain(status)).empty());
  }
  poll();
}

TEST_F(PerfSamplerTest, NothingIsOpenAfterClose) {
  open_page_faults();
  sampler_.close();
  char* data = fresh(1);
  data[0] = 1;
  EXPECT_TRUE(poll().empty());
}

TEST(PerfRecipes, Intel) {
  const PerfOptions options;
  const PerfRecipes loads = recipes(PerfEvent::loads, options, Vendor::intel, 0);
  ASSERT_EQ(loads.count, 2u);
  EXPECT_EQ(loads.attributes[0].type, static_cast<unsigned>(PERF_TYPE_RAW));
  EXPECT_EQ(loads.attributes[0].config, 0x1cdu);
  EXPECT_EQ(loads.attributes[0].config1, 3u);
  EXPECT_EQ(loads.attributes[1].config, 0x81d0u);
  const PerfRecipes stores = recipes(PerfEvent::stores, options, Vendor::intel, 0);
  ASSERT_EQ(stores.count, 1u);
  EXPECT_EQ(stores.attributes[0].config, 0x82d0u);
  for (const perf_event_attr& attributes : {loads.attributes[0], loads.attributes[1], stores.attributes[0]}) {
    EXPECT_EQ(attributes.precise_ip, 2u);
    EXPECT_EQ(attributes.exclude_kernel, 1u);
    EXPECT_EQ(attributes.sample_period, options.memory_period);
    EXPECT_TRUE(attributes.sample_type & PERF_SAMPLE_DATA_SRC);
  }
}

TEST(PerfRecipes, AmdNeedsTheIbsPmuAndCountsInSixteens) {
  const PerfOptions options;
  EXPECT_EQ(recipes(PerfEvent::loads, options, Vendor::amd, 0).count, 0u);
  EXPECT_EQ(recipes(PerfEvent::stores, options, Vendor::amd, 11).count, 0u) << "IBS samples both through loads";
  const PerfRecipes loads = recipes(PerfEvent::loads, options, Vendor::amd, 11);
  ASSERT_EQ(loads.count, 2u);
  EXPECT_EQ(loads.attributes[0].type, 11u);
  EXPECT_EQ(loads.attributes[0].sample_period % 16, 0u);
  EXPECT_EQ(loads.attributes[0].exclude_kernel, 1u);
  EXPECT_EQ(loads.attributes[1].exclude_kernel, 0u);
}

TEST(PerfRecipes, OtherProcessorsHaveSoftwareEventsOnly) {
  EXPECT_EQ(recipes(PerfEvent::loads, {}, Vendor::other, 0).count, 0u);
  EXPECT_EQ(recipes(PerfEvent::page_faults, {}, Vendor::other, 0).count, 1u);
}

TEST(PerfStatusTest, ErrorsAreToldApart) {
  EXPECT_EQ(status_of_error(PerfEvent::loads, -EACCES), PerfStatus::not_permitted);
  EXPECT_EQ(status_of_error(PerfEvent::loads, -EPERM), PerfStatus::not_permitted);
  EXPECT_EQ(status_of_error(PerfEvent::loads, -ENOSYS), PerfStatus::not_in_kernel);
  EXPECT_EQ(status_of_error(PerfEvent::loads, -ENOENT), PerfStatus::no_pmu);
  EXPECT_EQ(status_of_error(PerfEvent::page_faults, -ENOENT), PerfStatus::unsupported);
  EXPECT_EQ(status_of_error(PerfEvent::stores, -EINVAL), PerfStatus::unsupported);
  EXPECT_EQ(status_of_error(PerfEvent::stores, -EMFILE), PerfStatus::no_resources);
}

}  // namespace
}  // namespace hearth::access
