#include "names.h"

#include <atomic>
#include <cstring>
#include <new>

#include "attach.h"

namespace hearth::adapter {
namespace {

struct Entry {
  std::uint64_t hash;
  std::uint32_t id;
  std::uint32_t length;
  char text[1];  // `length` bytes
};

constexpr std::uint32_t kSlots = 2048;
constexpr std::uint32_t kMaxEntries = kSlots / 2;
std::atomic<const Entry*> g_slots[kSlots];
std::atomic<std::uint32_t> g_entries{0};

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// Multiply-and-fold over eight bytes at a time (wyhash's scheme): names have 15 to 60 bytes, and this runs per event.
std::uint64_t hash_of(const char* text, std::size_t length) {
  std::uint64_t hash = 0x9e3779b97f4a7c15u ^ length;
  std::uint64_t word = 0;
  for (; length > sizeof word; text += sizeof word, length -= sizeof word) {
    std::memcpy(&word, text, sizeof word);
    hash = mix(hash ^ word, 0xa0761d6478bd642fu);
  }
  word = 0;
  std::memcpy(&word, text, length);
  return mix(hash ^ word, 0xe7037ed1a0b428dbu);
}

[[gnu::cold, gnu::noinline]] std::uint32_t learn(const std::string& text, std::uint64_t hash, std::uint32_t slot) {
  const std::uint32_t id = g_bridge->intern(text.data(), text.size());
  if (id == 0 || g_entries.load(std::memory_order_relaxed) >= kMaxEntries) return id;
  void* memory = ::operator new(sizeof(Entry) + text.size(), std::nothrow);
  if (memory == nullptr) return id;
  Entry* entry = new (memory) Entry{hash, id, static_cast<std::uint32_t>(text.size()), {}};
  std::memcpy(static_cast<void*>(entry->text), text.data(), text.size());
  const Entry* empty = nullptr;
  // A lost race leaves the text to the next time it is seen.
  if (g_slots[slot].compare_exchange_strong(empty, entry, std::memory_order_release, std::memory_order_relaxed)) {
    g_entries.fetch_add(1, std::memory_order_relaxed);
  } else {
    ::operator delete(memory);
  }
  return id;
}

}  // namespace

std::uint32_t name_of(const std::string& text) {
  const std::uint64_t hash = hash_of(text.data(), text.size());
  for (std::uint32_t slot = static_cast<std::uint32_t>(hash) % kSlots;; slot = (slot + 1) % kSlots) {
    const Entry* entry = g_slots[slot].load(std::memory_order_acquire);
    if (entry == nullptr) return learn(text, hash, slot);
    if (entry->hash == hash && entry->length == text.size() &&
        std::memcmp(static_cast<const char*>(entry->text), text.data(), text.size()) == 0) {
      return entry->id;
    }
  }
}

}  // namespace hearth::adapter
