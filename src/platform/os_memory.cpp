#include "platform/os_memory.h"

#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <atomic>
#include <cerrno>

#include "base/errno_kept.h"
#include "platform/os_files.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace hearth::os {

namespace {

constexpr std::size_t kBlockBytes = std::size_t{1} << 20;  // shared block of small tables; aligned to its size
constexpr std::size_t kTableAlignment = 64;

// Block address and bytes used of it, packed: the address has kBlockBytes alignment, so the low bits are free.
// 0: none yet.
constinit std::atomic<std::uintptr_t> g_block{0};

int advise(void* address, std::size_t bytes, int advice) {
  ErrnoKept kept;
  return ::madvise(address, bytes, advice) == 0 ? 0 : errno;
}

void* map(std::size_t bytes, int protection) {
  void* address = ::mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return address != MAP_FAILED ? address : nullptr;
}

std::uintptr_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

void* map_own(std::size_t bytes) {
  void* address = map(bytes, PROT_READ | PROT_WRITE);
  if (address != nullptr) {
    advise_small(address, bytes);  // sparse tables must not become resident 2 MiB at a time
  }
  return address;
}

// 0 when the system refuses.
std::uintptr_t fetch_block() {
  void* block = reserve(kBlockBytes, kBlockBytes);
  if (block == nullptr || commit(block, kBlockBytes) != 0) {
    return 0;
  }
  advise_small(block, kBlockBytes);
  return number(block);
}

// Number number `field` (from 0) of a /proc file that holds numbers separated by blanks.
std::size_t read_number(const char* path, unsigned field) {
  char content[256];
  std::size_t length = 0;
  if (read_file(path, content, sizeof content, &length) != 0) {
    return 0;
  }
  std::size_t value = 0;
  unsigned at = 0;
  for (std::size_t i = 0; i < length && at <= field; ++i) {
    if (content[i] == ' ') {
      ++at;
    } else if (at == field && content[i] >= '0' && content[i] <= '9') {
      value = value * 10 + static_cast<std::size_t>(content[i] - '0');
    }
  }
  return value;
}

// Of /proc/self/statm.
constexpr unsigned kSize = 0, kResident = 1, kData = 5;

std::size_t used(unsigned field) { return read_number("/proc/self/statm", field) * page_size(); }

std::size_t left_of(__rlimit_resource_t resource, unsigned field) {
  ErrnoKept kept;
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return SIZE_MAX;
  }
  const std::size_t taken = used(field);
  return taken < limit.rlim_cur ? limit.rlim_cur - taken : 0;
}

}  // namespace

std::size_t page_size() { return ::getauxval(AT_PAGESZ); }

void* reserve(std::size_t bytes, std::size_t alignment) {
  ErrnoKept kept;
  std::size_t slack = alignment > page_size() ? alignment - page_size() : 0;
  if (bytes == 0 || bytes > SIZE_MAX - slack) {
    return nullptr;
  }
  void* mapped = map(bytes + slack, PROT_NONE);
  if (mapped == nullptr || slack == 0) {
    return mapped;
  }
  std::uintptr_t begin = number(mapped);
  std::uintptr_t aligned = (begin + alignment - 1) & ~(alignment - 1);
  if (aligned != begin) {
    ::munmap(mapped, aligned - begin);
  }
  if (aligned - begin != slack) {
    ::munmap(reinterpret_cast<void*>(aligned + bytes), slack - (aligned - begin));
  }
  return reinterpret_cast<void*>(aligned);
}

int commit(void* address, std::size_t bytes) { return protect(address, bytes, Protection::read_write); }

int protect(void* address, std::size_t bytes, Protection protection) {
  static constexpr int kFlags[] = {PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE};
  ErrnoKept kept;
  return ::mprotect(address, bytes, kFlags[static_cast<unsigned>(protection)]) == 0 ? 0 : errno;
}

int discard(void* address, std::size_t bytes) { return advise(address, bytes, MADV_DONTNEED); }

int prefault(void* address, std::size_t bytes) {
  const int result = advise(address, bytes, MADV_POPULATE_WRITE);
  if (result != EINVAL) {
    return result;
  }
  // Kernels before 5.14: an atomic no-op write per page, which others may be writing to.
  for (std::size_t offset = 0; offset < bytes; offset += page_size()) {
    __atomic_fetch_or(static_cast<char*>(address) + offset, 0, __ATOMIC_RELAXED);
  }
  return 0;
}

int advise_huge(void* address, std::size_t bytes) { return advise(address, bytes, MADV_HUGEPAGE); }

int advise_small(void* address, std::size_t bytes) { return advise(address, bytes, MADV_NOHUGEPAGE); }

void unmap(void* address, std::size_t bytes) {
  ErrnoKept kept;
  ::munmap(address, bytes);
}

void* map_zeroed(std::size_t bytes) {
  ErrnoKept kept;
  if (bytes >= page_size()) {
    return bytes <= SIZE_MAX - page_size() ? map_own((bytes + page_size() - 1) & ~(page_size() - 1)) : nullptr;
  }
  std::size_t taken = (bytes + kTableAlignment - 1) & ~(kTableAlignment - 1);
  std::uintptr_t block = g_block.load(std::memory_order_acquire);
  for (;;) {
    // The last table may end exactly at the block's end: then the packed value is the next block's address, unused.
    bool fits = block != 0 && (block & (kBlockBytes - 1)) + taken < kBlockBytes;
    std::uintptr_t fresh = fits ? 0 : fetch_block();
    if (!fits && fresh == 0) {
      return nullptr;
    }
    std::uintptr_t table = fits ? block : fresh;
    if (g_block.compare_exchange_weak(block, table + taken, std::memory_order_acq_rel)) {
      return reinterpret_cast<void*>(table);
    }
    if (fresh != 0) {
      unmap(reinterpret_cast<void*>(fresh), kBlockBytes);
    }
  }
}

std::size_t address_space_left() { return left_of(RLIMIT_AS, kSize); }

std::size_t data_left() { return left_of(RLIMIT_DATA, kData); }

std::size_t address_space_used() { return used(kSize); }

std::size_t resident_bytes() { return used(kResident); }

}  // namespace hearth::os
