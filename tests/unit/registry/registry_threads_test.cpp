// Registry under threads: adds, finds and removes at once, on shared pages, while others look everywhere.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "registry/registry.h"

namespace hearth::registry {
namespace {

constexpr std::uintptr_t kBase = 0x7f1234000000;
constexpr unsigned kThreads = 4;
constexpr unsigned kOperations = 100'000;
constexpr std::uintptr_t kCells = 512;  // 1 KiB each: four owners share every page

const void* at_address(std::uintptr_t address) { return reinterpret_cast<const void*>(address); }

NewTensor tensor_at(std::uintptr_t address, std::uint64_t bytes, unsigned owner) {
  return {.address = at_address(address),
          .bytes = bytes,
          .op = NameId{owner + 1},
          .iteration = 0,
          .op_index = 0,
          .nth = static_cast<std::uint32_t>(bytes),
          .own_pages = false};
}

std::uintptr_t cell_address(std::uintptr_t cell, unsigned owner) { return kBase + (cell * kThreads + owner) * 1024; }

// Adds and removes tensors in its own cells and checks that nobody else's work shows through. Returns failures.
unsigned work(Registry& registry, unsigned owner) {
  std::mt19937 random(owner);
  std::vector<std::uint64_t> bytes(kCells, 0);
  unsigned failures = 0;
  for (unsigned i = 0; i < kOperations; ++i) {
    std::uintptr_t cell = random() % kCells;
    std::uintptr_t address = cell_address(cell, owner);
    if (bytes[cell] == 0) {
      bytes[cell] = 1 + random() % 1024;
      failures += !registry.add(tensor_at(address, bytes[cell], owner));
    } else {
      TensorSlot slot = registry.find(at_address(address + bytes[cell] - 1));
      failures += !slot || registry.at(slot).address.load() != address || registry.at(slot).bytes != bytes[cell] ||
                  registry.at(slot).op != NameId{owner + 1};
      failures += registry.remove(at_address(address)) != slot;
      registry.release(slot);
      bytes[cell] = 0;
      failures += static_cast<bool>(registry.find(at_address(address)));
    }
  }
  for (std::uintptr_t cell = 0; cell < kCells; ++cell) {
    registry.release(registry.remove(at_address(cell_address(cell, owner))));
  }
  return failures;
}

TEST(RegistryThreads, WorkOnSharedPagesWithoutSeeingEachOther) {
  auto registry = std::make_unique<Registry>();
  ASSERT_TRUE(registry->init(kThreads * kCells));
  std::atomic<unsigned> failures{0};
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (unsigned owner = 0; owner < kThreads; ++owner) {
    threads.emplace_back([&, owner] { failures += work(*registry, owner); });
  }
  // Looks at everybody's tensors while they come and go: any answer is right, an address outside the cells is not.
  std::thread reader([&] {
    std::mt19937 random(99);
    while (!done.load()) {
      TensorSlot slot = registry->find(at_address(kBase + random() % (kCells * kThreads * 1024)));
      std::uintptr_t address = slot ? registry->at(slot).address.load() : 0;
      failures += address != 0 && (address < kBase || address % 1024 != 0);
    }
  });
  for (std::thread& thread : threads) {
    thread.join();
  }
  done.store(true);
  reader.join();
  EXPECT_EQ(failures.load(), 0u);
  EXPECT_EQ(registry->untracked(), 0u);
  for (std::uint32_t i = 1; i < registry->slot_limit(); ++i) {
    EXPECT_EQ(registry->at(TensorSlot{i}).address.load(), 0u);
  }
}

TEST(RegistryThreads, GiveEveryTensorItsOwnSlotAndSerial) {
  auto registry = std::make_unique<Registry>();
  constexpr unsigned kEach = 20'000;
  ASSERT_TRUE(registry->init(kThreads * kEach));
  std::vector<std::thread> threads;
  for (unsigned owner = 0; owner < kThreads; ++owner) {
    threads.emplace_back([&, owner] {
      for (std::uintptr_t i = 0; i < kEach; ++i) {
        registry->add(tensor_at(kBase + (i * kThreads + owner) * 64, 64, owner));
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  std::set<std::uint32_t> slots;
  std::set<std::uint32_t> serials;
  for (std::uintptr_t i = 0; i < kThreads * kEach; ++i) {
    TensorSlot slot = registry->find_start(at_address(kBase + i * 64));
    ASSERT_TRUE(slot);
    slots.insert(slot.value);
    serials.insert(registry->at(slot).serial.value);
  }
  EXPECT_EQ(slots.size(), kThreads * kEach);
  EXPECT_EQ(serials.size(), kThreads * kEach);
  EXPECT_EQ(*serials.rbegin(), registry->last_serial());
}

// Of many threads that remove one address, as in a double free, one gets the slot.
TEST(RegistryThreads, RemoveATensorOnce) {
  auto registry = std::make_unique<Registry>();
  constexpr unsigned kRounds = 2'000;
  ASSERT_TRUE(registry->init(kRounds));
  std::atomic<unsigned> removed{0};
  for (unsigned round = 0; round < kRounds; ++round) {
    ASSERT_TRUE(registry->add(tensor_at(kBase + round * 64, 64, 0)));
  }
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (unsigned round = 0; round < kRounds; ++round) {
        removed += static_cast<bool>(registry->remove(at_address(kBase + round * 64)));
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(removed.load(), kRounds);
}

// A child forked at any moment of the other threads' work can go on using the registry.
TEST(RegistryThreads, SurviveForkInTheChild) {
  auto registry = std::make_unique<Registry>();
  ASSERT_TRUE(registry->init(10'000));
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (unsigned owner = 0; owner < 2; ++owner) {
    threads.emplace_back([&, owner] {
      for (std::uintptr_t i = 0; !done.load(); ++i) {
        std::uintptr_t address = cell_address(i % kCells, owner);
        registry->add(tensor_at(address, 1024, owner));
        registry->release(registry->remove(at_address(address)));
      }
    });
  }
  for (int round = 0; round < 50; ++round) {
    pid_t child = ::fork();
    if (child == 0) {
      ::alarm(20);  // a hang is a failure, not a hung test
      bool good = true;
      for (std::uintptr_t cell = 0; cell < kCells; ++cell) {
        std::uintptr_t address = cell_address(cell, 3);
        TensorSlot slot = registry->add(tensor_at(address, 700, 3));
        good = good && slot && registry->find(at_address(address + 699)) == slot;
        registry->release(registry->remove(at_address(address)));
      }
      ::_exit(good ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
  }
  done.store(true);
  for (std::thread& thread : threads) {
    thread.join();
  }
}

}  // namespace
}  // namespace hearth::registry
