#include "migrate/queue.h"

#include <bit>

namespace hearth::migrate {
namespace {

constexpr std::uint64_t kSlotBits = 10;
static_assert((1U << kSlotBits) == Queue::kSlots);

std::uint32_t slot_of(Ticket ticket) { return static_cast<std::uint32_t>(ticket.value & (Queue::kSlots - 1)); }

}  // namespace

bool Queue::names(Ticket ticket, std::uint32_t slot) const {
  return slots_[slot].generation.load(std::memory_order_acquire) == ticket.value >> kSlotBits;
}

Ticket Queue::post(const Request& request) {
  const std::uint32_t start = hint_.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < kWords; ++i) {
    const std::uint32_t word = (start + i) % kWords;
    std::uint64_t taken = taken_[word].load(std::memory_order_relaxed);
    while (taken != ~std::uint64_t{0}) {
      const auto bit = static_cast<std::uint32_t>(std::countr_one(taken));
      if (!taken_[word].compare_exchange_weak(taken, taken | std::uint64_t{1} << bit, std::memory_order_acquire)) {
        continue;
      }
      hint_.store(word, std::memory_order_relaxed);
      const std::uint32_t number = word * 64 + bit;
      Slot& slot = slots_[number];
      slot.fill(request);
      slot.cancel.store(false, std::memory_order_relaxed);
      slot.outcome.store(Outcome::pending, std::memory_order_relaxed);
      const std::uint64_t generation = slot.generation.load(std::memory_order_relaxed) + 1;
      slot.generation.store(generation, std::memory_order_release);
      unfinished_[index(request.to)].fetch_add(1, std::memory_order_relaxed);
      queued_[word].fetch_or(std::uint64_t{1} << bit, std::memory_order_release);
      return {generation << kSlotBits | number};
    }
  }
  return {};
}

bool Queue::Urgency::above(const Urgency& other) const {
  if (priority != other.priority) return priority > other.priority;
  return deadline_ns - 1 < other.deadline_ns - 1;  // 0 is last
}

void Queue::Slot::fill(const Request& wanted) {
  request = wanted;
  progress = 0;
  partly = false;
  to.store(wanted.to, std::memory_order_relaxed);
  priority.store(wanted.priority, std::memory_order_relaxed);
  deadline_ns.store(wanted.deadline_ns, std::memory_order_relaxed);
}

// Another mover may take it meanwhile.
std::uint32_t Queue::most_urgent(tier::Tier to) const {
  std::uint32_t best = kNone;
  for (std::uint32_t word = 0; word < kWords; ++word) {
    std::uint64_t waiting = queued_[word].load(std::memory_order_acquire);
    for (; waiting != 0; waiting &= waiting - 1) {
      const std::uint32_t slot = word * 64 + static_cast<std::uint32_t>(std::countr_zero(waiting));
      if (to != tier::Tier::none && slots_[slot].to.load(std::memory_order_relaxed) != to) continue;
      if (best == kNone || slots_[slot].urgency().above(slots_[best].urgency())) best = slot;
    }
  }
  return best;
}

std::uint32_t Queue::take(tier::Tier to) {
  for (;;) {
    const std::uint32_t best = most_urgent(to);
    if (best == kNone) return kNone;
    const std::uint64_t bit = std::uint64_t{1} << best % 64;
    if ((queued_[best / 64].fetch_and(~bit, std::memory_order_acq_rel) & bit) != 0) return best;
    // Another mover was quicker; look again.
  }
}

std::uint32_t Queue::take_more_urgent(std::uint32_t slot, tier::Tier to) {
  const Urgency mine = slots_[slot].urgency();
  const std::uint32_t waiting = most_urgent(to);
  if (waiting == kNone || !slots_[waiting].urgency().above(mine)) return kNone;
  const std::uint32_t taken = take(to);
  if (taken == kNone || slots_[taken].urgency().above(mine)) return taken;
  put_back(taken);  // another mover was quicker
  return kNone;
}

void Queue::put_back(std::uint32_t slot) {
  queued_[slot / 64].fetch_or(std::uint64_t{1} << slot % 64, std::memory_order_release);
}

void Queue::finish(std::uint32_t slot, Outcome outcome) {
  const unsigned way = index(slots_[slot].request.to);
  slots_[slot].outcome.store(outcome, std::memory_order_release);
  taken_[slot / 64].fetch_and(~(std::uint64_t{1} << slot % 64), std::memory_order_release);
  unfinished_[way].fetch_sub(1, std::memory_order_release);
}

Outcome Queue::outcome(Ticket ticket) const {
  const std::uint32_t slot = slot_of(ticket);
  const Outcome outcome = slots_[slot].outcome.load(std::memory_order_acquire);
  return names(ticket, slot) ? outcome : Outcome::done;
}

bool Queue::cancel(Ticket ticket) {
  const std::uint32_t slot = slot_of(ticket);
  if (!ticket || !names(ticket, slot) || outcome(ticket) != Outcome::pending) return false;
  slots_[slot].cancel.store(true, std::memory_order_relaxed);
  return true;
}

void Queue::cancel_all() {
  for (std::uint32_t i = 0; i < kSlots; ++i) {
    if ((taken_[i / 64].load(std::memory_order_relaxed) >> i % 64 & 1) != 0) {
      slots_[i].cancel.store(true, std::memory_order_relaxed);
    }
  }
}

}  // namespace hearth::migrate
