// Migrator: worker threads that move ranges of pages between the tiers, most urgent first, within the books' capacity.
//
// A request runs in units of 2 MiB; between two of them it can be cancelled, the movers can be paused, the fast tier's
// room is claimed anew, and it gives way to a more urgent one. Of several movers one serves each direction as long as
// both have something to move, however long the queue of the other. A fetch that finds no room lets an eviction go
// first; when there is none left it ends as `full` (Sentinel, HPCA 2021, section 4: case 2). What the backend could not
// move is counted by errno and stays where it is, in the books too.
//
// Threads start with the first request, with all signals blocked, and never end; they are asleep without requests.
//
// Thread-safety: init once, before everything else; all else any thread. No lock, no malloc. post costs under a
// microsecond when a mover is awake and one futex call more when all are asleep. fork: a child has no movers, and its
// posts are refused.
#pragma once

#include <atomic>
#include <cstdint>

#include "migrate/queue.h"
#include "platform/os_thread.h"
#include "tier/backend.h"
#include "tier/pages.h"

namespace hearth::migrate {

struct Options {
  std::uint32_t threads = 1;  // 1..8
  const os::CpuMask* cpus = nullptr;
};

class Migrator {
 public:
  static constexpr std::uint32_t kThreads = 8;

  constexpr Migrator() = default;

  void init(tier::Backend& backend, tier::Pages& pages, const Options& options);
  bool ready() const { return backend_ != nullptr && !stopped_.load(std::memory_order_relaxed); }

  // No ticket if the queue is full, no thread can be had, or the migrator has stopped.
  Ticket post(const Request& request);
  Outcome outcome(Ticket ticket) const { return queue_.outcome(ticket); }
  bool cancel(Ticket ticket) { return queue_.cancel(ticket); }
  // Until it is over, at most so long. What it came to.
  Outcome wait(Ticket ticket, std::uint64_t timeout_ns);

  // No page moves from here on until resume(); true once none does, false if that took longer than the timeout.
  bool pause(std::uint64_t timeout_ns);
  void resume();
  // Until no request is left; false if that took longer.
  bool drain(std::uint64_t timeout_ns);
  // For good: cancels everything. Does not wait.
  void stop();
  void child_after_fork();

  MoveStats stats() const;

 private:
  static void run_mover(void* self);
  void serve();
  bool start_threads();
  // Slots, or Queue::kNone. A mover works on a slot until that is over or another one is to be gone on with, which is
  // what these return.
  std::uint32_t take_next();
  std::uint32_t take_instead(std::uint32_t slot);
  std::uint32_t work_on(std::uint32_t slot, bool one_unit);
  std::uint32_t work_through(std::uint32_t slot, bool one_unit);
  std::uint32_t put_back(std::uint32_t slot, std::uint32_t next = Queue::kNone);
  std::uint32_t finish(std::uint32_t slot, Outcome outcome);
  enum class Step : std::uint8_t { moved, no_room, partly };
  tier::Extent claimed_front(tier::Extent run);
  Step move_run(tier::Extent run, const Request& request);
  std::uint64_t book(tier::Extent run, tier::Tier to, const tier::Moved& moved);
  void count(const Request& request, const tier::Moved& moved, std::uint64_t bytes, std::uint64_t spent_ns);
  bool stand_back(std::uint32_t slot);
  void rest();

  tier::Backend* backend_ = nullptr;
  tier::Pages* pages_ = nullptr;
  std::uint32_t threads_ = 1;
  os::CpuMask cpus_;
  bool pinned_ = false;
  Queue queue_;
  std::atomic<std::uint32_t> started_{0};  // threads; kStarting while one thread starts them
  std::atomic<bool> stopped_{false};
  std::atomic<std::uint32_t> paused_{0};
  std::atomic<std::uint32_t> moving_{0};        // movers in the middle of a unit
  std::atomic<std::uint32_t> at_work_[2] = {};  // movers with a request to fast, to slow
  std::atomic<std::uint32_t> work_{0};          // changes with every post: what sleeping movers watch
  std::atomic<std::uint32_t> asleep_{0};
  std::atomic<std::uint32_t> over_{0};  // changes with every end: what wait() and drain() watch
  std::atomic<std::uint32_t> waiting_{0};

  struct Count {
    std::atomic<std::uint64_t> value{0};
    void add(std::uint64_t n) { value.fetch_add(n, std::memory_order_relaxed); }
    std::uint64_t get() const { return value.load(std::memory_order_relaxed); }
  };
  Count requests_[2], bytes_[2], busy_ns_[2];  // to fast, to slow
  Count dropped_clean_, failed_, busy_, no_memory_, forbidden_, absent_node_, other_, calls_, retries_, full_,
      cancelled_, refused_, late_, latest_ns_;
};

}  // namespace hearth::migrate
