#include "arena/layout.h"

#include <algorithm>
#include <bit>

#include "platform/os_memory.h"

namespace hearth::arena {
namespace {

constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15u;
constexpr std::size_t kLine = 64;
// Slots overlap all others at worst; what a table of masks may take for that.
constexpr std::uint64_t kMostReaches = std::uint64_t{1} << 26;

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

}  // namespace

// The distinct (offset, bytes) of a plan, by offset.
struct Layout::Sorted {
  struct Slot {
    std::uint64_t offset, end;
  };
  std::uint32_t* order = nullptr;    // planned entries, by offset, then bytes
  std::uint32_t* slot_of = nullptr;  // by entry; what is not planned: undefined
  Slot* slots = nullptr;
  std::uint32_t* active = nullptr;  // for for_each_reach
  std::uint32_t planned = 0;
  std::uint32_t count = 0;
  std::uint32_t starts = 0;  // distinct offsets

  std::size_t carve(Carver carver, std::uint32_t entries) {
    order = carver.take<std::uint32_t>(entries);
    slot_of = carver.take<std::uint32_t>(entries);
    slots = carver.take<Slot>(entries);
    active = carver.take<std::uint32_t>(entries);
    return carver.used();
  }
};

void Layout::sort(std::span<const Place> places, Sorted& sorted) {
  for (std::uint32_t i = 0; i < places.size(); ++i) {
    if (places[i].takes_room()) sorted.order[sorted.planned++] = i;
  }
  std::sort(sorted.order, sorted.order + sorted.planned, [&](std::uint32_t a, std::uint32_t b) {
    return places[a].offset != places[b].offset ? places[a].offset < places[b].offset
                                                : places[a].bytes < places[b].bytes;
  });
  for (std::uint32_t i = 0; i < sorted.planned; ++i) {
    const Place& place = places[sorted.order[i]];
    const Sorted::Slot slot{place.offset, place.offset + place.bytes};
    const Sorted::Slot* last = sorted.count != 0 ? &sorted.slots[sorted.count - 1] : nullptr;
    if (last == nullptr || last->offset != slot.offset) ++sorted.starts;
    if (last == nullptr || last->offset != slot.offset || last->end != slot.end) sorted.slots[sorted.count++] = slot;
    sorted.slot_of[sorted.order[i]] = sorted.count - 1;
  }
}

// Calls visit(slot, word, mask) for the words of earlier slots that reach into each slot, in order.
template <class Visit>
void Layout::for_each_reach(const Sorted& sorted, Visit visit) {
  std::uint32_t active = 0;     // earlier slots, of smaller offset, that may still reach on
  std::uint32_t not_added = 0;  // slots before this one are active or past
  for (std::uint32_t i = 0; i < sorted.count; ++i) {
    const std::uint64_t offset = sorted.slots[i].offset;
    for (; not_added < i && sorted.slots[not_added].offset < offset; ++not_added) sorted.active[active++] = not_added;
    std::uint32_t kept = 0;
    std::uint64_t mask = 0;
    for (std::uint32_t k = 0; k < active; ++k) {
      const std::uint32_t other = sorted.active[k];
      if (sorted.slots[other].end <= offset) continue;
      if (mask != 0 && sorted.active[kept - 1] / 64 != other / 64) {
        visit(i, sorted.active[kept - 1] / 64, mask);
        mask = 0;
      }
      sorted.active[kept++] = other;
      mask |= std::uint64_t{1} << other % 64;
    }
    if (mask != 0) visit(i, sorted.active[kept - 1] / 64, mask);
    active = kept;
  }
}

bool Layout::map(const Sorted& sorted, std::uint32_t entries) {
  std::uint64_t reaches = 0;
  for_each_reach(sorted, [&](std::uint32_t, std::uint32_t, std::uint64_t) { ++reaches; });
  if (reaches > kMostReaches) return false;
  const std::uint64_t start_capacity = std::bit_ceil(std::uint64_t{2} * sorted.starts + 2);
  const auto carve = [&](Carver carver) {
    entries_ = carver.take<std::uint32_t>(entries);
    slots_ = carver.take<Slot>(sorted.count);
    numbered_ = carver.take<std::uint32_t>(sorted.count);
    reaches_ = carver.take<Reach>(reaches);
    taken_ = carver.take<std::atomic<std::uint64_t>>(sorted.count / 64 + 1);
    starts_ = carver.take<Start>(start_capacity);
    return carver.used();
  };
  table_bytes_ = whole_pages(carve(Carver(nullptr)) + 1);
  memory_ = map_tables(table_bytes_);
  if (memory_ == nullptr) return false;
  carve(Carver(memory_));
  slot_count_ = sorted.count;
  words_ = sorted.count / 64 + 1;
  start_shift_ = 64 - static_cast<unsigned>(std::bit_width(start_capacity) - 1);
  return true;
}

void Layout::number_slots(std::span<const Place> places, const Sorted& sorted) {
  std::fill_n(numbered_, sorted.count, kNone);
  std::uint32_t used = 0;
  for (std::uint32_t i = 0; i < places.size(); ++i) {
    entries_[i] = kNone;
    if (!places[i].takes_room()) continue;
    std::uint32_t& slot = numbered_[sorted.slot_of[i]];
    if (slot == kNone) slot = used++;
    entries_[i] = slot;
  }
}

void Layout::fill_slots(const Sorted& sorted) {
  std::uint32_t run_begin = 0;
  for (std::uint32_t i = 0; i < slot_count_; ++i) {
    Slot& slot = slots_[numbered_[i]];
    slot.number = i;
    slot.offset = sorted.slots[i].offset;
    slot.end = sorted.slots[i].end;
    height_ = std::max(height_, slot.end);
    if (slot.offset != sorted.slots[run_begin].offset) run_begin = i;
    const auto* behind =
        std::lower_bound(sorted.slots + i, sorted.slots + slot_count_, slot.end,
                         [](const Sorted::Slot& other, std::uint64_t end) { return other.offset < end; });
    const auto run_last = static_cast<std::uint32_t>(behind - sorted.slots) - 1;
    slot.first_word = run_begin / 64;
    slot.last_word = run_last / 64;
    slot.first_mask = ~std::uint64_t{0} << run_begin % 64;
    slot.last_mask = ~std::uint64_t{0} >> (63 - run_last % 64);
    if (slot.first_word == slot.last_word) slot.first_mask = slot.last_mask &= slot.first_mask;
    slot.start = start_of(slot.offset);
    starts_[slot.start].key = slot.offset + 1;
  }
}

void Layout::fill_reaches(const Sorted& sorted) {
  for_each_reach(sorted, [&](std::uint32_t number, std::uint32_t word, std::uint64_t mask) {
    Slot& slot = slots_[numbered_[number]];
    if (word == slot.first_word) {
      slot.first_mask |= mask;
    } else {
      ++slot.reach_count;
    }
  });
  std::uint32_t filled = 0;
  for (std::uint32_t i = 0; i < slot_count_; ++i) {
    slots_[i].reach = filled;
    filled += slots_[i].reach_count;
    slots_[i].reach_count = 0;
  }
  for_each_reach(sorted, [&](std::uint32_t number, std::uint32_t word, std::uint64_t mask) {
    Slot& slot = slots_[numbered_[number]];
    if (word != slot.first_word) reaches_[slot.reach + slot.reach_count++] = {mask, word};
  });
}

bool Layout::load(std::span<const Place> places) {
  if (places.size() >= kNone) return false;
  const auto entries = static_cast<std::uint32_t>(places.size());
  Sorted sorted;
  const std::size_t scratch_bytes = whole_pages(sorted.carve(Carver(nullptr), entries) + 1);
  void* scratch = map_tables(scratch_bytes);
  if (scratch == nullptr) return false;
  sorted.carve(Carver(scratch), entries);
  sort(places, sorted);
  const bool mapped = map(sorted, entries);
  if (mapped) {
    number_slots(places, sorted);
    fill_slots(sorted);
    fill_reaches(sorted);
  }
  os::unmap(scratch, scratch_bytes);
  return mapped;
}

void Layout::unload() {
  if (memory_ != nullptr) os::unmap(memory_, table_bytes_);
  entries_ = nullptr;
  slots_ = nullptr;
  numbered_ = nullptr;
  reaches_ = nullptr;
  taken_ = nullptr;
  starts_ = nullptr;
  memory_ = nullptr;
  slot_count_ = words_ = 0;
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
  const std::uint32_t index = entries_[entry];
  if (index == kNone) return kNotFree;
  const Slot& slot = slots_[index];
  // Acquire: the former tenant's last use comes before ours.
  const auto word = [&](std::uint64_t i) { return taken_[i].load(std::memory_order_acquire); };
  std::uint64_t busy = (word(slot.first_word) & slot.first_mask) | (word(slot.last_word) & slot.last_mask);
  for (std::uint32_t i = slot.first_word + 1; i < slot.last_word; ++i) busy |= word(i);
  const Reach* reach = reaches_ + slot.reach;
  for (std::uint32_t i = 0; i < slot.reach_count; ++i) busy |= word(reach[i].word) & reach[i].mask;
  if (busy != 0) return kNotFree;
  starts_[slot.start].slot.store(index, std::memory_order_relaxed);
  taken_[slot.number / 64].fetch_or(std::uint64_t{1} << slot.number % 64, std::memory_order_release);
  return slot.offset;
}

std::uint64_t Layout::free(std::uint64_t offset) {
  const Start& start = starts_[start_of(offset)];
  if (start.key == 0) return 0;
  const Slot& slot = slots_[start.slot.load(std::memory_order_relaxed)];
  if (slot.offset != offset) return 0;  // nothing has begun there yet
  const std::uint64_t bit = std::uint64_t{1} << slot.number % 64;
  const bool was_taken = (taken_[slot.number / 64].fetch_and(~bit, std::memory_order_release) & bit) != 0;
  return was_taken ? slot.end - offset : 0;
}

template <class Visit>
void Layout::for_each_taken(Visit visit) const {
  for (std::uint32_t i = 0; i < words_; ++i) {
    for (std::uint64_t bits = taken_[i].load(std::memory_order_acquire); bits != 0; bits &= bits - 1) {
      visit(slots_[numbered_[i * 64 + static_cast<std::uint32_t>(std::countr_zero(bits))]]);
    }
  }
}

Layout::Taken Layout::tenant(std::uint64_t offset) const {
  Taken found;
  for_each_taken([&](const Slot& slot) {
    if (offset >= slot.offset && offset < slot.end) found = {slot.offset, slot.end};
  });
  return found;
}

bool Layout::any_taken(std::uint64_t from, std::uint64_t to) const {
  bool any = false;
  for_each_taken([&](const Slot& slot) { any = any || (slot.offset < to && from < slot.end); });
  return any;
}

bool Layout::empty() const {
  for (std::uint32_t i = 0; i < words_; ++i) {
    if (taken_[i].load(std::memory_order_acquire) != 0) return false;
  }
  return true;
}

}  // namespace hearth::arena
