// pack() against proven optima: the same instances as mixed-integer programs, solved by Cbc.
#include <gtest/gtest.h>

#include "unit/plan/instances.h"
#ifdef HEARTH_HAS_CBC
#include <Cbc_C_Interface.h>
#endif

namespace hearth::plan {
namespace {

using namespace test;

#ifdef HEARTH_HAS_CBC

// One column for the height, one for each offset, and for each pair alive together one that says which lies below.
class Program {
 public:
  Program(const std::vector<Item>& items, std::uint64_t enough) : items_(items), enough_(lines(enough)) {
    Cbc_setLogLevel(model_, 0);
    column("height", enough_, 1, false);
    for (std::size_t i = 0; i < items.size(); ++i) column("offset", enough_, 0, false);
    for (std::size_t i = 0; i < items.size(); ++i) {
      row({0, offset(i)}, {1, -1}, lines(items[i].bytes));
      for (std::size_t j = 0; j < i; ++j) {
        if (meet(items[i], items[j])) order(i, j);
      }
    }
  }
  ~Program() { Cbc_deleteModel(model_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  std::uint64_t optimum() {
    Cbc_solve(model_);
    EXPECT_TRUE(Cbc_isProvenOptimal(model_));
    return 64 * static_cast<std::uint64_t>(Cbc_getObjValue(model_) + 0.5);
  }

 private:
  static double lines(std::uint64_t bytes) { return static_cast<double>((bytes + 63) / 64); }
  static int offset(std::size_t item) { return 1 + static_cast<int>(item); }

  int column(const char* name, double most, double cost, bool whole) {
    Cbc_addCol(model_, name, 0, most, cost, whole ? 1 : 0, 0, nullptr, nullptr);
    return columns_++;
  }
  void row(const std::vector<int>& columns, const std::vector<double>& factors, double at_least) {
    Cbc_addRow(model_, "row", static_cast<int>(columns.size()), columns.data(), factors.data(), 'G', at_least);
  }
  void order(std::size_t i, std::size_t j) {
    const int above = column("above", 1, 0, true);
    row({offset(i), offset(j), above}, {1, -1, -enough_}, lines(items_[j].bytes) - enough_);  // 1: i above j
    row({offset(j), offset(i), above}, {1, -1, enough_}, lines(items_[i].bytes));
  }

  const std::vector<Item>& items_;
  double enough_;
  Cbc_Model* model_ = Cbc_newModel();
  int columns_ = 0;
};

std::vector<Item> small_instance(Random& random, std::uint32_t period) {
  std::vector<Item> items;
  for (int i = 0; i < 6; ++i) {
    const std::uint32_t birth = below(random, period);
    items.push_back({.bytes = 64 * (1 + below(random, 9)),
                     .birth = birth,
                     .death = (birth + 1 + below(random, period - 2)) % period,
                     .group = 0});
  }
  return items;
}

TEST(Exact, SmallInstancesArePackedOptimally) {
  Random random(21);
  int solved = 0, programs = 0;
  for (int round = 0; round < 400 && programs < 12; ++round) {
    const std::vector<Item> items = small_instance(random, 8);
    const Packing packing = packed(items, 8);
    ASSERT_EQ(problem_of(items, packing), "");
    // A few that reach the bound, and all that do not: there the bound tells nothing.
    if (packing.height == packing.lower_bound && round % 60 != 0) continue;
    ++programs;
    ASSERT_EQ(packing.height, Program(items, packing.height).optimum()) << "round " << round;
    solved += packing.height > packing.lower_bound ? 1 : 0;
  }
  EXPECT_GT(solved, 0) << "no instance in which the bound tells nothing";
}

#else

TEST(Exact, SmallInstancesArePackedOptimally) { GTEST_SKIP() << "built without Cbc: install coinor-libcbc-dev"; }

#endif

}  // namespace
}  // namespace hearth::plan
