#include "arena/layout.h"

#include <algorithm>
#include <bit>

#include "platform/os_memory.h"

namespace hearth::arena {
namespace {

constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15u;
constexpr std::size_t kLine = 64;
constexpr std::size_t kMostEntries = std::size_t{1} << 28;
constexpr std::uint64_t kAll = ~std::uint64_t{0};

std::size_t whole_pages(std::size_t bytes) {
  const std::size_t page = os::page_size();
  return (bytes + page - 1) & ~(page - 1);
}

void* map_tables(std::size_t bytes) {
  void* memory = os::reserve(bytes, os::page_size());
  if (memory != nullptr && os::commit(memory, bytes) != 0) {
    os::unmap(memory, bytes);
    return nullptr;
  }
  if (memory != nullptr) os::advise_small(memory, bytes);
  return memory;
}

// Hands out parts of one mapping, or, before there is one, counts what they take.
class Carver {
 public:
  explicit Carver(void* memory) : base_(static_cast<unsigned char*>(memory)) {}
  template <class T>
  T* take(std::uint64_t count) {
    T* part = base_ != nullptr ? reinterpret_cast<T*>(base_ + used_) : nullptr;
    used_ += (count * sizeof(T) + kLine - 1) & ~(kLine - 1);
    return part;
  }
  std::size_t used() const { return used_; }

 private:
  unsigned char* base_;
  std::size_t used_ = 0;
};

// The bits of segments first..last in word `word`.
std::uint64_t bits_in(std::uint32_t word, std::uint32_t first, std::uint32_t last) {
  std::uint64_t bits = kAll;
  if (word == first / 64) bits &= kAll << first % 64;
  if (word == last / 64) bits &= kAll >> (63 - last % 64);
  return bits;
}

}  // namespace

// Where slots begin and end, sorted, each once: segment i is [at[i], at[i + 1]).
struct Layout::Cuts {
  explicit Cuts(std::span<const Place> places) : bytes_(whole_pages(2 * places.size() * sizeof(std::uint64_t) + 1)) {
    at = static_cast<std::uint64_t*>(map_tables(bytes_));
    if (at == nullptr) return;
    for (const Place& place : places) {
      if (!place.takes_room()) continue;
      at[count++] = place.offset;
      at[count++] = place.offset + place.bytes;
    }
    std::sort(at, at + count);
    count = static_cast<std::uint32_t>(std::unique(at, at + count) - at);
  }
  ~Cuts() {
    if (at != nullptr) os::unmap(at, bytes_);
  }
  Cuts(const Cuts&) = delete;
  Cuts& operator=(const Cuts&) = delete;
  std::uint32_t index(std::uint64_t offset) const {
    return static_cast<std::uint32_t>(std::lower_bound(at, at + count, offset) - at);
  }

  std::uint64_t* at = nullptr;
  std::uint32_t count = 0;

 private:
  std::size_t bytes_;
};

bool Layout::map(std::uint32_t entries, std::uint32_t segments) {
  const std::uint64_t start_capacity = std::bit_ceil(std::uint64_t{2} * segments + 2);
  words_ = segments / 64 + 1;
  const auto carve = [&](Carver carver) {
    slots_ = carver.take<Slot>(entries);
    taken_ = carver.take<Word>(words_);
    starts_ = carver.take<Start>(start_capacity);
    return carver.used();
  };
  table_bytes_ = whole_pages(carve(Carver(nullptr)) + 1);
  memory_ = map_tables(table_bytes_);
  if (memory_ == nullptr) return false;
  carve(Carver(memory_));
  start_shift_ = 64 - static_cast<unsigned>(std::bit_width(start_capacity) - 1);
  return true;
}

bool Layout::load(std::span<const Place> places) {
  if (places.size() > kMostEntries) return false;
  const Cuts cuts(places);
  const auto entries = static_cast<std::uint32_t>(places.size());
  if (cuts.at == nullptr || !map(entries, cuts.count)) return false;
  height_ = cuts.count != 0 ? cuts.at[cuts.count - 1] : 0;
  for (std::uint32_t i = 0; i < entries; ++i) {
    const Place& place = places[i];
    if (!place.takes_room()) continue;
    const std::uint32_t start = start_of(place.offset);
    starts_[start].key = place.offset + 1;
    slots_[i] = {place.offset, place.bytes, cuts.index(place.offset), cuts.index(place.offset + place.bytes) - 1,
                 start};
  }
  return true;
}

void Layout::unload() {
  if (memory_ != nullptr) os::unmap(memory_, table_bytes_);
  slots_ = nullptr;
  taken_ = nullptr;
  starts_ = nullptr;
  memory_ = nullptr;
  words_ = 0;
  height_ = table_bytes_ = 0;
}

// Where `offset` stands in the hash table, or would.
std::uint32_t Layout::start_of(std::uint64_t offset) const {
  const std::uint64_t mask = (std::uint64_t{1} << (64 - start_shift_)) - 1;
  std::uint64_t at = (offset >> 6) * kGolden >> start_shift_;
  while (starts_[at].key != 0 && starts_[at].key != offset + 1) at = (at + 1) & mask;
  return static_cast<std::uint32_t>(at);
}

std::uint64_t Layout::take(std::uint32_t entry) {
  const Slot& slot = slots_[entry];
  if (slot.bytes == 0) [[unlikely]]
    return kNotFree;
  const std::uint32_t low = slot.first / 64;
  const std::uint32_t high = slot.last / 64;
  const std::uint64_t low_bits = bits_in(low, slot.first, slot.last);
  const std::uint64_t high_bits = bits_in(high, slot.first, slot.last);
  // Acquire: the former tenant's last use comes before ours.
  std::uint64_t busy = taken_[low].load(std::memory_order_acquire) & low_bits;
  busy |= taken_[high].load(std::memory_order_acquire) & high_bits;
  for (std::uint32_t i = low + 1; i < high; ++i) busy |= taken_[i].load(std::memory_order_acquire);
  if (busy != 0) return kNotFree;
  starts_[slot.start].tenant.store(entry + 1, std::memory_order_relaxed);
  taken_[low].fetch_or(low_bits, std::memory_order_release);
  if (high != low) {
    for (std::uint32_t i = low + 1; i < high; ++i) taken_[i].store(kAll, std::memory_order_release);
    taken_[high].fetch_or(high_bits, std::memory_order_release);
  }
  return slot.offset;
}

std::uint64_t Layout::free(std::uint64_t offset) {
  Start& start = starts_[start_of(offset)];
  const std::uint32_t tenant = start.tenant.load(std::memory_order_relaxed);
  if (tenant == 0) return 0;
  // Before the segments are free: from then on it is the next tenant's to write.
  start.tenant.store(0, std::memory_order_release);
  const Slot& slot = slots_[tenant - 1];
  const std::uint32_t low = slot.first / 64;
  const std::uint32_t high = slot.last / 64;
  if (high != low) {
    taken_[high].fetch_and(~bits_in(high, slot.first, slot.last), std::memory_order_release);
    for (std::uint32_t i = low + 1; i < high; ++i) taken_[i].store(0, std::memory_order_release);
  }
  taken_[low].fetch_and(~bits_in(low, slot.first, slot.last), std::memory_order_release);
  return slot.bytes;
}

std::uint32_t Layout::taken_by(std::uint64_t offset) const {
  return starts_[start_of(offset)].tenant.load(std::memory_order_acquire) - 1;  // 0, nobody, wraps to kNobody
}

template <class Visit>
void Layout::for_each_taken(Visit visit) const {
  if (starts_ == nullptr) return;
  const std::uint64_t capacity = std::uint64_t{1} << (64 - start_shift_);
  for (std::uint64_t i = 0; i < capacity; ++i) {
    const std::uint32_t tenant = starts_[i].tenant.load(std::memory_order_acquire);
    if (tenant != 0) visit(slots_[tenant - 1]);
  }
}

Layout::Taken Layout::tenant(std::uint64_t offset) const {
  Taken found;
  for_each_taken([&](const Slot& slot) {
    if (offset - slot.offset < slot.bytes) found = {slot.offset, slot.offset + slot.bytes};
  });
  return found;
}

Layout::Taken Layout::next_taken(std::uint64_t from) const {
  Taken next;
  for_each_taken([&](const Slot& slot) {
    const bool first = next.end == 0 || slot.offset < next.begin;
    if (slot.offset + slot.bytes > from && first) next = {slot.offset, slot.offset + slot.bytes};
  });
  return next;
}

bool Layout::any_taken(std::uint64_t from, std::uint64_t to) const {
  bool any = false;
  for_each_taken([&](const Slot& slot) { any = any || (slot.offset < to && from < slot.offset + slot.bytes); });
  return any;
}

bool Layout::empty() const {
  return std::all_of(taken_, taken_ + words_,
                     [](const Word& word) { return word.load(std::memory_order_acquire) == 0; });
}

}  // namespace hearth::arena
