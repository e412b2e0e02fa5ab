// The guard's share of vm.max_map_count, and what happens when the kernel has no mapping left.
#include "access/mapping_budget.h"

#include "access/signal_stack.h"
#include "platform/os_process.h"
#include "unit/access/guard_fixture.h"

namespace hearth::access {
namespace {

std::uint32_t one_page(std::uint64_t) { return 1; }

TEST_F(GuardTest, BudgetIsKeptAndRefunded) {
  std::vector<Tensor> tensors;
  GuardOptions options;
  options.max_mappings = 20;  // ten pages
  ASSERT_TRUE(start(registry_, options, remember));
  for (int i = 0; i < 15; ++i) tensors.push_back(make(2 * kPage));
  int watched = 0;
  for (const Tensor& tensor : tensors) watched += watch_it(tensor);
  EXPECT_EQ(watched, 10);
  EXPECT_EQ(stats().unwatched_budget, 5u);
  free_it(tensors[0]);
  EXPECT_TRUE(watch_it(tensors[14]));
  change(tensors[12].data);  // one left open is usable
}

TEST_F(GuardTest, LargestLiveTensorsAreWatchedFirst) {
  std::vector<Tensor> small;
  std::vector<Tensor> large;
  for (int i = 0; i < 50; ++i) {
    small.push_back(make(kPage));
    large.push_back(make(64 * kPage));
  }
  GuardOptions options;
  options.max_mappings = 160;  // three quarters: the 50 large ones and 10 of the small
  ASSERT_TRUE(start(registry_, options, remember));
  int small_watched = 0;
  int large_watched = 0;
  for (int i = 0; i < 50; ++i) {
    small_watched += watch_it(small[static_cast<std::size_t>(i)]);
    large_watched += watch_it(large[static_cast<std::size_t>(i)]);
  }
  EXPECT_EQ(large_watched, 50);
  EXPECT_EQ(small_watched, 10);
  EXPECT_TRUE(watch_it(make(kPage)));  // born in the iteration: a quarter is kept for those
}

TEST_F(GuardTest, ASampledTensorThatIsTooDearGetsItsFirstPage) {
  const Tensor tensor = make(512 * kPage);
  GuardOptions options;
  options.sample_pages = true;
  options.max_mappings = 40;
  ASSERT_TRUE(start(registry_, options, remember));
  const Tensor born = make(512 * kPage);
  hearth_watch how;
  std::uint32_t pages;
  EXPECT_FALSE(watch(tensor.slot, &how, &pages));
  ASSERT_TRUE(watch(born.slot, &how, &pages));
  EXPECT_EQ(how, HEARTH_WATCH_FIRST_PAGE);
  EXPECT_EQ(pages, 1u);
}

TEST(MappingBudget, AThirdOfWhatTheSystemLeaves) {
  registry::Registry registry;
  ASSERT_TRUE(registry.init(16));
  const TensorSlot slot = registry.add({reinterpret_cast<void*>(kPage), kPage, NameId{}, 0, 0, 0, true});
  MappingBudget budget;
  budget.init(0);
  const std::uint32_t third = (os::max_mapping_count() - os::mapping_count()) / 3;
  std::uint32_t pages = 0;
  while (budget.take(registry.at(slot), 1)) ++pages;
  EXPECT_NEAR(pages, third / MappingBudget::mappings(1), 4);
  budget.exhaust();
  budget.refund(1000);
  EXPECT_FALSE(budget.take(registry.at(slot), 1));
  budget.init(8);
  budget.rank(registry, one_page);
  EXPECT_TRUE(budget.take(registry.at(slot), 1));
}

TEST_F(GuardTest, MappingsGrowByNoMoreThanTheBudget) {
  take_signal_stack();  // which is not of the budget
  for (int i = 0; i < 400; ++i) make(4 * kPage);
  const std::uint32_t before = os::mapping_count();
  GuardOptions options;
  options.sample_pages = true;
  options.sample_min_bytes = 1;
  options.max_mappings = 100;
  ASSERT_TRUE(start(registry_, options, remember));
  for (std::uint32_t i = 1; i < registry_.slot_limit(); ++i) {
    hearth_watch how;
    std::uint32_t pages;
    watch(TensorSlot{i}, &how, &pages);
  }
  EXPECT_GT(stats().watched, 0u);
  EXPECT_LE(os::mapping_count(), before + 100 + 2);
  stop();
  EXPECT_LE(os::mapping_count(), before + 2);
}

// Uses up every mapping that the process may have: other protections page by page.
void use_up_mappings() {
  const std::size_t pages = 2 * std::size_t{os::max_mapping_count()};
  auto* area = static_cast<char*>(
      mmap(nullptr, pages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  for (std::size_t i = 0; i < pages; i += 2) {
    if (mprotect(area + i * kPage, kPage, PROT_READ) != 0) return;
  }
}

TEST_F(GuardTest, WhenTheKernelHasNoMappingLeftEverythingIsOpenedAndTheProgramGoesOn) {
  const Tensor tensor = make(64 * kPage);
  const Tensor other = make(64 * kPage);
  const int status = status_of_child([&] {
    GuardOptions options;
    options.max_mappings = 1000;
    if (!start(registry_, options, remember) || !watch_it(tensor)) return 1;
    touch(tensor.data);  // its mapping merges with its neighbour's when opened, and must split to be armed again
    change(tensor.data);
    use_up_mappings();
    rearm();
    if (stats().protect_failures != 1) return 2;
    change(tensor.data);
    if (watch_it(other)) return 3;
    change(other.data);
    return active() ? 7 : 4;
  });
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST_F(GuardTest, AFaultInsideARunOfPagesWithNoMappingLeftOpensTheTensor) {
  const Tensor tensor = make(64 * kPage);
  const int status = status_of_child([&] {
    GuardOptions options;
    options.sample_pages = true;
    options.sample_min_bytes = 1;
    options.max_mappings = 1000;
    if (!start(registry_, options, remember) || !watch_it(tensor)) return 1;
    use_up_mappings();
    change(tensor.data + 32 * kPage);  // would split the one protected mapping in three
    if (stats().protect_failures != 1 || stats().faults != 1) return 2;
    for (std::size_t i = 0; i < 64; ++i) change(tensor.data + i * kPage);
    return stats().faults == 1 ? 7 : 3;
  });
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

}  // namespace
}  // namespace hearth::access
