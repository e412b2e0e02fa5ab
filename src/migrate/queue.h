// Queue: the requests that wait for a mover. A fixed table; posting is a search for a free bit and two atomic stores,
// so that it costs the training thread no more than an allocation does.
//
// Life of a slot: free -> queued -> running -> over (kept until its slot is used again, so that its ticket can still be
// asked about) -> free. A request is over before it is released, and a new tenant has a new generation.
//
// Thread-safety: any thread, no lock, no malloc, no system call.
#pragma once

#include <atomic>
#include <cstdint>

#include "migrate/request.h"

namespace hearth::migrate {

class Queue {
 public:
  static constexpr std::uint32_t kSlots = 1024;
  static constexpr std::uint32_t kNone = kSlots;

  constexpr Queue() = default;

  // No ticket if all slots are taken.
  Ticket post(const Request& request);
  // The most urgent queued request of that target (none: of either) becomes running; kNone if there is none.
  std::uint32_t take(tier::Tier to);
  // As take(), but only one that is more urgent than the running slot.
  std::uint32_t take_more_urgent(std::uint32_t slot, tier::Tier to);
  // A running one waits again, with what is left of it.
  void put_back(std::uint32_t slot);
  void finish(std::uint32_t slot, Outcome outcome);

  const Request& request(std::uint32_t slot) const { return slots_[slot].request; }
  // Of a running slot: what is done of it, and whether some of that stayed behind.
  std::uint64_t& progress(std::uint32_t slot) { return slots_[slot].progress; }
  bool& partly(std::uint32_t slot) { return slots_[slot].partly; }
  bool cancelling(std::uint32_t slot) const { return slots_[slot].cancel.load(std::memory_order_relaxed); }

  // `pending` while queued or running. Of a ticket whose slot has a new tenant: done.
  Outcome outcome(Ticket ticket) const;
  // Asks for the end of it. False if it is over.
  bool cancel(Ticket ticket);
  void cancel_all();

  // Queued or running.
  std::uint32_t unfinished() const { return unfinished(tier::Tier::fast) + unfinished(tier::Tier::slow); }
  std::uint32_t unfinished(tier::Tier to) const { return unfinished_[index(to)].load(std::memory_order_acquire); }

 private:
  static constexpr std::uint32_t kWords = kSlots / 64;

  // How urgent a request is, and whereto: what is looked at of slots that another mover may take at the same time.
  struct Urgency {
    std::uint32_t priority;
    std::uint64_t deadline_ns;
    bool above(const Urgency& other) const;
  };
  struct alignas(64) Slot {
    Request request;
    std::uint64_t progress = 0;
    bool partly = false;
    std::atomic<tier::Tier> to{tier::Tier::none};  // as in the request, and the next two
    std::atomic<std::uint32_t> priority{0};
    std::atomic<std::uint64_t> deadline_ns{0};
    std::atomic<std::uint64_t> generation{0};  // of the tenant
    std::atomic<Outcome> outcome{Outcome::done};
    std::atomic<bool> cancel{false};

    void fill(const Request& wanted);
    Urgency urgency() const {
      return {priority.load(std::memory_order_relaxed), deadline_ns.load(std::memory_order_relaxed)};
    }
  };

  static unsigned index(tier::Tier to) { return to == tier::Tier::fast ? 0 : 1; }
  std::uint32_t most_urgent(tier::Tier to) const;
  bool names(Ticket ticket, std::uint32_t slot) const;

  Slot slots_[kSlots];
  std::atomic<std::uint64_t> taken_[kWords] = {};   // slots that are not free
  std::atomic<std::uint64_t> queued_[kWords] = {};  // of them, those that wait
  std::atomic<std::uint32_t> unfinished_[2] = {};   // to fast, to slow
  std::atomic<std::uint32_t> hint_{0};              // the word in which a free slot was found last
};

}  // namespace hearth::migrate
