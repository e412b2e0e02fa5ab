// Registry, one thread: from any address to the tensor that holds it, at every kind of boundary.
#include "registry/registry.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "platform/os_memory.h"

namespace hearth::registry {
namespace {

// The registry never touches the tensors' memory, so the tests invent addresses.
constexpr std::uintptr_t kBase = 0x7f1234000000;

const void* at_address(std::uintptr_t address) { return reinterpret_cast<const void*>(address); }

NewTensor tensor_at(std::uintptr_t address, std::uint64_t bytes) {
  return {.address = at_address(address),
          .bytes = bytes,
          .op = NameId{7},
          .iteration = 3,
          .op_index = 11,
          .nth = 2,
          .own_pages = true};
}

class RegistryTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(registry_->init(100'000)); }

  TensorSlot add(std::uintptr_t address, std::uint64_t bytes) { return registry_->add(tensor_at(address, bytes)); }
  void drop(std::uintptr_t address) { registry_->release(registry_->remove(at_address(address))); }
  TensorSlot find(std::uintptr_t address) const { return registry_->find(at_address(address)); }

  std::unique_ptr<Registry> registry_ = std::make_unique<Registry>();
};

TEST_F(RegistryTest, KeepsWhatItWasTold) {
  TensorSlot slot = add(kBase, 1000);
  ASSERT_TRUE(slot);
  const Tensor& tensor = registry_->at(slot);
  EXPECT_EQ(tensor.address.load(), kBase);
  EXPECT_EQ(tensor.bytes, 1000u);
  EXPECT_EQ(tensor.serial.value, 1u);
  EXPECT_EQ(tensor.op, NameId{7});
  EXPECT_EQ(tensor.iteration, 3u);
  EXPECT_EQ(tensor.op_index, 11u);
  EXPECT_EQ(tensor.nth, 2u);
  EXPECT_TRUE(tensor.own_pages);
  EXPECT_EQ(tensor.watch.load(), 0u);
}

TEST_F(RegistryTest, RecordIsReadableBetweenRemoveAndRelease) {
  TensorSlot slot = add(kBase, 5000);
  EXPECT_EQ(registry_->remove(at_address(kBase)), slot);
  EXPECT_FALSE(find(kBase));
  EXPECT_EQ(registry_->at(slot).address.load(), kBase);
  EXPECT_EQ(registry_->at(slot).bytes, 5000u);
  registry_->release(slot);
  EXPECT_EQ(registry_->at(slot).address.load(), 0u);
  EXPECT_FALSE(registry_->remove(at_address(kBase)));
}

TEST_F(RegistryTest, ReusesSlotsButNeverSerials) {
  TensorSlot first = add(kBase, 64);
  registry_->at(first).watch.store(5);
  drop(kBase);
  TensorSlot second = add(kBase + 4096, 64);
  EXPECT_EQ(first, second);
  EXPECT_EQ(registry_->at(second).serial.value, 2u);
  EXPECT_EQ(registry_->at(second).watch.load(), 0u);
  EXPECT_EQ(registry_->last_serial(), 2u);
  EXPECT_EQ(registry_->slot_limit(), 2u);
}

// Every size class of start offset and length, each with its neighbours on the same pages.
TEST_F(RegistryTest, FindsInteriorPointersAtEveryOffset) {
  for (std::uintptr_t offset = 0; offset < 4096; offset += 64) {
    for (std::uint64_t bytes : {1ul, 63ul, 64ul, 65ul, 4032ul, 4095ul, 4096ul, 4097ul, 12288ul, 100'000ul}) {
      std::uintptr_t start = kBase + offset;
      TensorSlot slot = add(start, bytes);
      ASSERT_TRUE(slot);
      for (std::uint64_t at : {0ul, 1ul, 63ul, bytes / 3, bytes / 2, bytes - 1}) {
        if (at < bytes) {
          ASSERT_EQ(find(start + at), slot) << "offset " << offset << " bytes " << bytes << " at " << at;
        }
      }
      ASSERT_FALSE(find(start - 1)) << "offset " << offset << " bytes " << bytes;
      ASSERT_FALSE(find(start + bytes)) << "offset " << offset << " bytes " << bytes;
      drop(start);
      ASSERT_FALSE(find(start));
    }
  }
}

TEST_F(RegistryTest, TellsTensorsThatShareAPageApart) {
  // Page 1 holds the end of a, all of b, a gap, and the beginning of c.
  TensorSlot a = add(kBase + 64, 4096 + 64);
  TensorSlot b = add(kBase + 4096 + 128, 64);
  TensorSlot c = add(kBase + 4096 + 1024, 8192);
  EXPECT_EQ(find(kBase + 4096), a);
  EXPECT_EQ(find(kBase + 4096 + 127), a);
  EXPECT_EQ(find(kBase + 4096 + 128), b);
  EXPECT_EQ(find(kBase + 4096 + 191), b);
  EXPECT_FALSE(find(kBase + 4096 + 192));
  EXPECT_FALSE(find(kBase + 4096 + 1023));
  EXPECT_EQ(find(kBase + 4096 + 1024), c);
  EXPECT_EQ(find(kBase + 8192), c);
  drop(kBase + 64);
  EXPECT_FALSE(find(kBase + 4096));
  EXPECT_EQ(find(kBase + 4096 + 130), b);
  EXPECT_EQ(find(kBase + 8191), c);
}

TEST_F(RegistryTest, HoldsAPageFullOfTheSmallestTensors) {
  std::vector<TensorSlot> slots;
  for (std::uintptr_t offset = 0; offset < 4096; offset += 64) {
    slots.push_back(add(kBase + offset, 64));
    ASSERT_TRUE(slots.back());
  }
  for (std::uintptr_t offset = 0; offset < 4096; ++offset) {
    ASSERT_EQ(find(kBase + offset), slots[offset / 64]);
  }
}

// Leaves stand for 2 MiB, nodes above them for 16 GiB; whole leaves take another path than partial ones.
TEST_F(RegistryTest, SpansLeavesAndNodes) {
  constexpr std::uintptr_t kLeaf = 2ul << 20;
  constexpr std::uintptr_t kNode = 16ul << 30;
  std::uintptr_t node_edge = (kBase + kNode) & ~(kNode - 1);
  struct Case {
    std::uintptr_t start;
    std::uint64_t bytes;
  };
  for (Case tensor :
       {Case{kBase, kLeaf}, Case{kBase, kLeaf - 1}, Case{kBase + 64, kLeaf}, Case{kBase + 4096, 5 * kLeaf},
        Case{kBase - 4096, 3 * kLeaf + 8192}, Case{node_edge - kLeaf - 64, 2 * kLeaf + 128},
        Case{node_edge - 4096, 8192}, Case{kBase, 40ul << 30}}) {
    TensorSlot slot = add(tensor.start, tensor.bytes);
    ASSERT_TRUE(slot);
    std::uintptr_t step = tensor.bytes / 1001 + 1;
    for (std::uint64_t at = 0; at < tensor.bytes; at += step) {
      ASSERT_EQ(find(tensor.start + at), slot) << tensor.bytes << " at " << at;
    }
    EXPECT_EQ(find(tensor.start + tensor.bytes - 1), slot);
    EXPECT_FALSE(find(tensor.start - 1));
    EXPECT_FALSE(find(tensor.start + tensor.bytes));
    drop(tensor.start);
    for (std::uint64_t at = 0; at < tensor.bytes; at += step) {
      ASSERT_FALSE(find(tensor.start + at));
    }
  }
}

TEST_F(RegistryTest, RefusesWhatCannotBeATensor) {
  EXPECT_FALSE(add(0, 64));
  EXPECT_FALSE(add(kBase, 0));
  EXPECT_FALSE(add(kBase + 32, 64));
  EXPECT_FALSE(add(1ul << 48, 64));
  EXPECT_FALSE(add(kBase, SIZE_MAX));
  EXPECT_FALSE(add(kBase, SIZE_MAX - 63));
  EXPECT_FALSE(add((1ul << 48) - 4096, 4097));
  EXPECT_EQ(registry_->untracked(), 7u);
  EXPECT_TRUE(add((1ul << 48) - 4096, 4096));
  EXPECT_FALSE(find(0));
  EXPECT_FALSE(find(SIZE_MAX));
  EXPECT_FALSE(find(1ul << 48));
  EXPECT_FALSE(registry_->find_start(at_address(kBase + 1)));
  EXPECT_FALSE(registry_->remove(at_address(0)));
  EXPECT_FALSE(registry_->remove(at_address(SIZE_MAX)));
}

TEST_F(RegistryTest, DropsATensorWhoseFreeWasMissed) {
  TensorSlot stale = add(kBase, 3 * 4096);
  ASSERT_TRUE(stale);
  TensorSlot fresh = add(kBase, 4096);
  EXPECT_EQ(find(kBase + 100), fresh);
  EXPECT_FALSE(find(kBase + 4096));
  EXPECT_EQ(registry_->at(fresh).serial.value, 2u);
  drop(kBase);
  EXPECT_FALSE(registry_->find_start(at_address(kBase)));
}

TEST_F(RegistryTest, TracksNothingBeforeInit) {
  Registry registry;
  EXPECT_FALSE(registry.find(at_address(kBase)));
  EXPECT_FALSE(registry.find_start(at_address(kBase)));
  EXPECT_FALSE(registry.remove(at_address(kBase)));
  EXPECT_FALSE(registry.add(tensor_at(kBase, 64)));
  EXPECT_EQ(registry.untracked(), 1u);
  EXPECT_EQ(registry.slot_limit(), 1u);
}

TEST(RegistryCapacity, CountsWhatDoesNotFitAndRecovers) {
  Registry registry;
  ASSERT_TRUE(registry.init(100));
  for (std::uintptr_t i = 0; i < 150; ++i) {
    EXPECT_EQ(static_cast<bool>(registry.add(tensor_at(kBase + i * 64, 64))), i < 100);
  }
  EXPECT_EQ(registry.untracked(), 50u);
  EXPECT_EQ(registry.slot_limit(), 101u);
  for (std::uintptr_t i = 0; i < 150; ++i) {
    TensorSlot slot = registry.remove(at_address(kBase + i * 64));
    EXPECT_EQ(static_cast<bool>(slot), i < 100);
    registry.release(slot);
  }
  EXPECT_TRUE(registry.add(tensor_at(kBase, 64)));
}

// Far more tensors than the small table holds, at the addresses that allocators give: dense, and page-aligned.
TEST(RegistryCapacity, HoldsAMillionTensors) {
  auto registry = std::make_unique<Registry>();
  ASSERT_TRUE(registry->init(Registry::kMaxCapacity));
  constexpr std::uintptr_t kCount = Registry::kMaxCapacity;
  auto address = [](std::uintptr_t i) { return i % 2 == 0 ? kBase + i * 64 : kBase + (64ul << 30) + i * 4096; };
  for (std::uintptr_t i = 0; i < kCount; ++i) {
    ASSERT_TRUE(registry->add(tensor_at(address(i), 64))) << i;
  }
  EXPECT_EQ(registry->untracked(), 0u);
  for (std::uintptr_t i = 0; i < kCount; i += 17) {
    TensorSlot slot = registry->find(at_address(address(i) + 63));
    ASSERT_TRUE(slot);
    ASSERT_EQ(registry->at(slot).address.load(), address(i));
  }
  for (std::uintptr_t i = 0; i < kCount; ++i) {
    registry->release(registry->remove(at_address(address(i))));
  }
  for (std::uintptr_t i = 0; i < kCount; i += 17) {
    ASSERT_FALSE(registry->find(at_address(address(i))));
  }
}

// Random tensors against an ordered map that answers by comparing intervals.
TEST_F(RegistryTest, AgreesWithAnOrderedMap) {
  std::map<std::uintptr_t, std::uint64_t> model;
  std::mt19937_64 random(1);
  auto owner = [&](std::uintptr_t address) -> std::uintptr_t {
    auto after = model.upper_bound(address);
    if (after == model.begin()) {
      return 0;
    }
    auto candidate = std::prev(after);
    return address - candidate->first < candidate->second ? candidate->first : 0;
  };
  for (int step = 0; step < 100'000; ++step) {
    std::uintptr_t address = kBase + random() % (16ul << 20);
    std::uintptr_t start = address & ~63ul;
    std::uint64_t bytes = 1 + random() % (1ul << (1 + random() % 20));
    auto next = model.lower_bound(start);
    if (std::uintptr_t covering = owner(start); covering != 0) {
      drop(covering);
      model.erase(covering);
    } else if (next == model.end() || next->first >= start + bytes) {
      ASSERT_TRUE(add(start, bytes));
      model[start] = bytes;
    }
    TensorSlot found = find(address);
    ASSERT_EQ(found ? registry_->at(found).address.load() : 0, owner(address)) << step;
  }
}

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)  // whose shadow counts as resident too
TEST(RegistryFootprint, IsUnderOneMebibyteForAThousandTensors) {
  std::size_t before = os::resident_bytes();
  auto registry = std::make_unique<Registry>();
  ASSERT_TRUE(registry->init(Registry::kMaxCapacity));
  std::uintptr_t address = kBase;
  for (unsigned i = 0; i < 1000; ++i) {
    std::uint64_t bytes = 1ul << (6 + i % 16);
    ASSERT_TRUE(registry->add(tensor_at(address, bytes)));
    address += bytes + 64;
  }
  EXPECT_LT(os::resident_bytes() - before, 1ul << 20);
}
#endif

}  // namespace
}  // namespace hearth::registry
