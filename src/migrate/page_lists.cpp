#include "migrate/page_lists.h"

#include <algorithm>

#include "platform/os_clock.h"
#include "platform/os_memory.h"
#include "platform/os_thread.h"

namespace hearth::migrate {

using tier::Extent;
using tier::Residency;
using tier::Tier;

namespace {

// Whoever is at it is done in microseconds, or is off the processor.
constexpr std::uint64_t kRestNs = 20'000;

}  // namespace

void PageLists::enter() {
  while (!try_enter()) os::sleep_until(os::monotonic_ns() + kRestNs);
}

void PageLists::init(tier::Pages& pages, Migrator& migrator, std::uint64_t promoted_per_second) {
  pages_ = &pages;
  migrator_ = &migrator;
  rate_ = promoted_per_second;
}

bool PageLists::add_range(const void* base, std::uint64_t bytes) {
  const std::uint64_t units = std::min<std::uint64_t>((bytes + kUnit - 1) / kUnit, kRangeUnits - 1);
  if (range_count_ == tier::Pages::kRanges || units == 0) return false;
  void* table = os::map_zeroed(units * sizeof(Unit));
  if (table == nullptr) return false;
  enter();
  ranges_[range_count_++] = {reinterpret_cast<std::uintptr_t>(base), static_cast<std::uint32_t>(units),
                             static_cast<Unit*>(table)};
  leave();
  return true;
}

Extent PageLists::extent_of(std::uint32_t first, std::uint32_t count) const {
  const Range& range = ranges_[first >> kRangeShift];
  const std::uintptr_t begin = range.base + std::uint64_t{first & (kRangeUnits - 1)} * kUnit;
  return {reinterpret_cast<const void*>(begin), count * kUnit};
}

PageLists::Run PageLists::units_of(Extent pages) const {
  for (std::uint32_t i = 0; i < range_count_; ++i) {
    const Range& range = ranges_[i];
    const std::uint64_t offset = pages.begin() - range.base;
    if (pages.begin() < range.base || offset / kUnit >= range.units || pages.bytes == 0) continue;
    const std::uint64_t first = offset / kUnit;
    const std::uint64_t end = std::min<std::uint64_t>((offset + pages.bytes + kUnit - 1) / kUnit, range.units);
    return {i << kRangeShift | static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(end - first)};
  }
  return {};
}

// At the head.
void PageLists::link(std::uint32_t number, Where where) {
  List& to = list(where);
  Unit& entering = unit(number);
  entering.where = where;
  entering.referenced = false;
  entering.before = kNone;
  entering.after = to.head;
  if (to.head != kNone) {
    unit(to.head).before = number;
  } else {
    to.tail = number;
  }
  to.head = number;
  to.count.store(to.count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

void PageLists::unlink(std::uint32_t number) {
  Unit& leaving = unit(number);
  if (leaving.where == Where::nowhere) return;
  List& from = list(leaving.where);
  (leaving.before != kNone ? unit(leaving.before).after : from.head) = leaving.after;
  (leaving.after != kNone ? unit(leaving.after).before : from.tail) = leaving.before;
  leaving.where = Where::nowhere;
  leaving.referenced = false;
  from.count.store(from.count.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
}

// An access of a unit that lies fast.
void PageLists::use(std::uint32_t number) {
  Unit& used = unit(number);
  if (used.where == Where::nowhere) {
    link(number, Where::inactive);
  } else if (used.where == Where::inactive && used.referenced) {
    unlink(number);
    link(number, Where::active);
    activated_.add(1);
  } else {
    used.referenced = true;
  }
}

// Counts the access.
bool PageLists::wants_promotion(std::uint32_t number) {
  Unit& used = unit(number);
  const std::uint32_t now = clock_.load(std::memory_order_relaxed);
  const bool together = used.used != 0 && now - used.used < kTogether;
  used.used = now;
  if (together) return false;
  const Residency residency = pages_->of(extent_of(number));
  if (residency.fast + residency.slow == 0) {
    unlink(number);
    return false;
  }
  accesses_.add(1);
  if (residency.slow == 0) {
    use(number);
    return false;
  }
  if (used.referenced) return true;
  if (residency.fast != 0 && used.where == Where::nowhere) link(number, Where::inactive);
  used.referenced = true;
  return false;
}

void PageLists::touch(Extent pages, std::uint64_t parts) {
  if (!try_enter()) return;
  const Run all = units_of(pages);
  if (all.count == 0) return leave();
  const auto stride = static_cast<std::uint32_t>(parts == 0 || parts >= all.count ? 1 : all.count / parts);
  const std::uint32_t start = stride == 1 ? 0 : hand_++ % stride;
  const std::uint64_t longest = std::min(kLongestPromotion, watermark(kHighWatermark, 2 * kUnit));
  Run run;
  for (std::uint32_t i = start; i < all.count; i += stride) {
    const std::uint32_t number = all.first + i;
    if (!wants_promotion(number)) continue;
    if (run.count != 0 && (run.first + run.count != number || (run.count + 1) * kUnit > longest)) {
      promote(run);
      run = {};
    }
    if (run.count == 0) run.first = number;
    ++run.count;
  }
  if (run.count != 0) promote(run);
  make_room(watermark(kLowWatermark, kUnit));
  leave();
}

void PageLists::add(Extent pages, bool balance) {
  enter();
  const Run all = units_of(pages);
  for (std::uint32_t i = 0; i < all.count; ++i) {
    const std::uint32_t number = all.first + i;
    if (unit(number).where != Where::nowhere) continue;
    // Memory that begins anew was never used.
    unit(number).referenced = false;
    if (pages_->of(extent_of(number)).fast != 0) link(number, Where::inactive);
  }
  if (balance) make_room(watermark(kLowWatermark, kUnit));
  leave();
}

std::uint64_t PageLists::watermark(std::uint64_t percent, std::uint64_t least) const {
  return std::max(pages_->capacity() / 100 * percent, least);
}

// Of the fast tier, once what is under way has arrived. What a promotion under way has claimed already counts twice.
std::int64_t PageLists::room() const {
  auto room = static_cast<std::int64_t>(pages_->capacity()) - static_cast<std::int64_t>(pages_->fast_bytes());
  for (std::uint32_t i = 0; i < flight_count_; ++i) {
    const auto bytes = static_cast<std::int64_t>(flights_[i].bytes);
    room += flights_[i].to == Tier::slow ? bytes : -bytes;
  }
  return room;
}

// Moves that are over. A unit that stayed fast is in the lists again.
void PageLists::land() {
  for (std::uint32_t i = 0; i < flight_count_;) {
    const Flight flight = flights_[i];
    if (migrator_->outcome(flight.ticket) == Outcome::pending) {
      ++i;
      continue;
    }
    flights_[i] = flights_[--flight_count_];
    if (flight.to == Tier::fast || unit(flight.first).where != Where::nowhere) continue;
    if (pages_->of(extent_of(flight.first)).fast != 0) link(flight.first, Where::inactive);
  }
}

bool PageLists::within_rate(std::uint64_t bytes) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  const std::uint64_t second = os::monotonic_ns() / kSecond;
  if (second != second_) {
    second_ = second;
    promoted_ = 0;
  }
  if (promoted_ + bytes > rate_) return false;
  promoted_ += bytes;
  return true;
}

bool PageLists::may_promote(std::uint64_t bytes) {
  land();
  if (room() < static_cast<std::int64_t>(bytes)) {
    make_room(bytes);
    return false;
  }
  // The other half of the flights is for making room.
  const auto fetches =
      std::count_if(flights_, flights_ + flight_count_, [](const Flight& flight) { return flight.to == Tier::fast; });
  return flight_count_ < kFlights && fetches < kFlights / 2 && within_rate(bytes);
}

// The units stay referenced where it cannot be, and the next access asks again.
void PageLists::promote(Run run) {
  const std::uint64_t bytes = run.count * kUnit;
  const Extent pages = extent_of(run.first, run.count);
  const Ticket ticket = may_promote(bytes) ? migrator_->post({.pages = pages, .to = Tier::fast}) : Ticket{};
  if (!ticket) return held_back_.add(run.count);
  promotions_.add(run.count);
  for (std::uint32_t i = 0; i < run.count; ++i) {
    unlink(run.first + i);
    link(run.first + i, Where::active);
  }
  flights_[flight_count_++] = {ticket, run.first, bytes, Tier::fast};
}

void PageLists::refill_inactive() {
  List& active = list(Where::active);
  List& inactive = list(Where::inactive);
  for (std::uint32_t i = 0;
       i < kScan && active.count.load(std::memory_order_relaxed) > inactive.count.load(std::memory_order_relaxed);
       ++i) {
    const std::uint32_t last = active.tail;
    unlink(last);
    link(last, Where::inactive);
    deactivated_.add(1);
  }
}

bool PageLists::demote(std::uint32_t number) {
  // Before the fetches that wait for the room.
  const Ticket ticket = migrator_->post({.pages = extent_of(number), .to = Tier::slow, .priority = 1});
  if (!ticket) return false;
  const std::uint64_t bytes = pages_->of(extent_of(number)).fast;
  unlink(number);
  demotions_.add(1);
  flights_[flight_count_++] = {ticket, number, bytes, Tier::slow};
  return true;
}

// Where there is less than `wanted`: until the high watermark is reached.
void PageLists::make_room(std::uint64_t wanted) {
  if (pages_->capacity() == tier::Pages::kUnlimited) return;
  if (pages_->fast_bytes() + wanted <= pages_->capacity()) return;
  land();
  if (room() >= static_cast<std::int64_t>(wanted)) return;
  const auto target = static_cast<std::int64_t>(std::max(wanted, watermark(kHighWatermark, 2 * kUnit)));
  refill_inactive();
  for (std::uint32_t i = 0; i < kScan && flight_count_ < kFlights && room() < target; ++i) {
    const std::uint32_t last = list(Where::inactive).tail;
    if (last == kNone) break;
    const bool referenced = unit(last).referenced;
    if (pages_->of(extent_of(last)).fast == 0) {
      unlink(last);
    } else if (referenced) {
      unlink(last);
      link(last, Where::inactive);
    } else if (!demote(last)) {
      break;
    }
  }
}

ListStats PageLists::stats() const {
  ListStats stats;
  stats.inactive = lists_[0].count.load(std::memory_order_relaxed) * kUnit;
  stats.active = lists_[1].count.load(std::memory_order_relaxed) * kUnit;
  stats.accesses = accesses_.get();
  stats.activated = activated_.get();
  stats.deactivated = deactivated_.get();
  stats.promotions = promotions_.get();
  stats.demotions = demotions_.get();
  stats.held_back = held_back_.get();
  return stats;
}

}  // namespace hearth::migrate
