#include "migrate/migrator.h"

#include <algorithm>
#include <cerrno>

#include "platform/os_clock.h"

namespace hearth::migrate {
namespace {

using tier::Extent;
using tier::Moved;
using tier::Tier;

constexpr std::uint32_t kStarting = 0xffffffffu;
constexpr std::uint64_t kRestNs = 50'000;  // before looking again whether room has been made
// Requests come in groups, and groups in every step: a mover without work naps so often, and so long each time, before
// it sleeps. To be awake for the next request spares its poster a system call.
constexpr std::uint64_t kNapNs = 500'000;
constexpr std::uint32_t kNaps = 100;
constexpr std::uint64_t kUnit = tier::Backend::kMoveUnit;

unsigned direction(Tier to) { return to == Tier::fast ? 0 : 1; }

std::uint64_t page_up(std::uint64_t bytes) {
  return (bytes + tier::Pages::kPage - 1) / tier::Pages::kPage * tier::Pages::kPage;
}

// The next unit of a request: ends where a huge page does, so that none is split.
Extent next_unit(Extent pages, std::uint64_t done) {
  const std::uintptr_t begin = pages.begin() + done;
  const std::uintptr_t end = std::min((begin / kUnit + 1) * kUnit, pages.end());
  return tier::extent(begin, end);
}

}  // namespace

void Migrator::init(tier::Backend& backend, tier::Pages& pages, const Options& options) {
  backend_ = &backend;
  pages_ = &pages;
  threads_ = std::clamp(options.threads, 1U, kThreads);
  pinned_ = options.cpus != nullptr;
  if (pinned_) cpus_ = *options.cpus;
}

bool Migrator::start_threads() {
  std::uint32_t none = 0;
  if (!started_.compare_exchange_strong(none, kStarting, std::memory_order_acq_rel)) return true;
  std::uint32_t count = 0;
  while (count < threads_ && os::start_thread(run_mover, this, "hearth-mover", pinned_ ? &cpus_ : nullptr) == 0) {
    ++count;
  }
  started_.store(count, std::memory_order_release);
  if (count == 0) stop();
  return count != 0;
}

Ticket Migrator::post(const Request& request) {
  if (!ready() || (started_.load(std::memory_order_acquire) == 0 && !start_threads())) {
    refused_.add(1);
    return {};
  }
  const Ticket ticket = queue_.post(request);
  if (!ticket) {
    refused_.add(1);
    return {};
  }
  work_.fetch_add(1, std::memory_order_seq_cst);
  if (asleep_.load(std::memory_order_seq_cst) != 0) os::wake_all(work_);
  return ticket;
}

Outcome Migrator::wait(Ticket ticket, std::uint64_t timeout_ns) {
  const std::uint64_t until = os::monotonic_ns() + timeout_ns;
  waiting_.fetch_add(1, std::memory_order_seq_cst);
  for (;;) {
    const std::uint32_t seen = over_.load(std::memory_order_acquire);
    const std::uint64_t now = os::monotonic_ns();
    if (outcome(ticket) != Outcome::pending || now >= until) break;
    os::wait_while(over_, seen, until - now);
  }
  waiting_.fetch_sub(1, std::memory_order_relaxed);
  return outcome(ticket);
}

bool Migrator::drain(std::uint64_t timeout_ns) {
  const std::uint64_t until = os::monotonic_ns() + timeout_ns;
  waiting_.fetch_add(1, std::memory_order_seq_cst);
  for (;;) {
    const std::uint32_t seen = over_.load(std::memory_order_acquire);
    const std::uint64_t now = os::monotonic_ns();
    if (queue_.unfinished() == 0 || now >= until) break;
    os::wait_while(over_, seen, until - now);
  }
  waiting_.fetch_sub(1, std::memory_order_relaxed);
  return queue_.unfinished() == 0;
}

bool Migrator::pause(std::uint64_t timeout_ns) {
  paused_.fetch_add(1, std::memory_order_seq_cst);
  const std::uint64_t until = os::monotonic_ns() + timeout_ns;
  while (moving_.load(std::memory_order_seq_cst) != 0) {
    if (os::monotonic_ns() >= until) return false;
    os::sleep_until(os::monotonic_ns() + kRestNs);
  }
  return true;
}

void Migrator::resume() {
  paused_.fetch_sub(1, std::memory_order_seq_cst);
  os::wake_all(work_);
}

void Migrator::stop() {
  stopped_.store(true, std::memory_order_release);
  queue_.cancel_all();
  os::wake_all(work_);
}

// The threads were not copied: their requests stay unfinished, and nobody waits for them.
void Migrator::child_after_fork() { stopped_.store(true, std::memory_order_release); }

void Migrator::run_mover(void* self) { static_cast<Migrator*>(self)->serve(); }

void Migrator::serve() {
  std::uint32_t naps = 0;
  for (;;) {
    const std::uint32_t seen = work_.load(std::memory_order_seq_cst);
    const bool may_work = paused_.load(std::memory_order_seq_cst) == 0;
    std::uint32_t slot = may_work ? take_next() : Queue::kNone;
    if (slot != Queue::kNone) {
      while (slot != Queue::kNone) slot = work_on(slot, false);
      naps = 0;
      continue;
    }
    os::sleep_until(os::monotonic_ns() + kNapNs);
    if (++naps < kNaps || work_.load(std::memory_order_seq_cst) != seen) continue;
    naps = 0;
    asleep_.fetch_add(1, std::memory_order_seq_cst);
    if (work_.load(std::memory_order_seq_cst) == seen) os::wait_while(work_, seen, 0);
    asleep_.fetch_sub(1, std::memory_order_seq_cst);
  }
}

// The most urgent request; of the direction that nobody serves, where the other one has its mover.
std::uint32_t Migrator::take_next() {
  for (const Tier to : {Tier::fast, Tier::slow}) {
    if (at_work_[direction(to)].load(std::memory_order_relaxed) != 0) continue;
    if (at_work_[direction(tier::other(to))].load(std::memory_order_relaxed) == 0) continue;
    if (const std::uint32_t slot = queue_.take(to); slot != Queue::kNone) return slot;
  }
  return queue_.take(Tier::none);
}

// Between two units of a request: what the mover shall go on with instead, taken from the queue; kNone if nothing. That
// is a more urgent request of the same direction, or one of the other direction that no mover serves: when it is more
// urgent, or others go on with this direction.
std::uint32_t Migrator::take_instead(std::uint32_t slot) {
  const Tier to = queue_.request(slot).to;
  const Tier across = tier::other(to);
  if (at_work_[direction(across)].load(std::memory_order_relaxed) == 0) {
    const bool alone = at_work_[direction(to)].load(std::memory_order_relaxed) <= 1;
    const std::uint32_t other = alone ? queue_.take_more_urgent(slot, across) : queue_.take(across);
    if (other != Queue::kNone) return other;
  }
  return queue_.take_more_urgent(slot, to);
}

// No room for a fetch: lets a unit of an eviction go first. False if there is none, and none is under way.
bool Migrator::stand_back(std::uint32_t slot) {
  const std::uint32_t eviction = queue_.take(Tier::slow);
  if (eviction == Queue::kNone && queue_.unfinished(Tier::slow) == 0) return false;
  if (eviction != Queue::kNone) {
    work_on(eviction, true);
  } else {
    rest();
  }
  queue_.put_back(slot);
  return true;
}

void Migrator::rest() { os::sleep_until(os::monotonic_ns() + kRestNs); }

std::uint32_t Migrator::work_on(std::uint32_t slot, bool one_unit) {
  const unsigned way = direction(queue_.request(slot).to);
  at_work_[way].fetch_add(1, std::memory_order_relaxed);
  const std::uint32_t next = work_through(slot, one_unit);
  at_work_[way].fetch_sub(1, std::memory_order_relaxed);
  return next;
}

std::uint32_t Migrator::work_through(std::uint32_t slot, bool one_unit) {
  const Request& request = queue_.request(slot);
  std::uint64_t& done = queue_.progress(slot);
  while (done < request.pages.bytes) {
    if (queue_.cancelling(slot)) {
      cancelled_.add(1);
      return finish(slot, Outcome::cancelled);
    }
    moving_.fetch_add(1, std::memory_order_seq_cst);
    if (paused_.load(std::memory_order_seq_cst) != 0) {
      moving_.fetch_sub(1, std::memory_order_seq_cst);
      return put_back(slot);
    }
    const Extent unit = next_unit(request.pages, done);
    const Step step = move_run(unit, request);
    moving_.fetch_sub(1, std::memory_order_seq_cst);
    if (step == Step::no_room) {
      if (stand_back(slot)) return Queue::kNone;
      full_.add(1);
      return finish(slot, Outcome::full);
    }
    queue_.partly(slot) |= step == Step::partly;
    done += unit.bytes;
    if (done >= request.pages.bytes) break;
    const std::uint32_t next = one_unit ? Queue::kNone : take_instead(slot);
    if (one_unit || next != Queue::kNone) return put_back(slot, next);
  }
  return finish(slot, queue_.partly(slot) ? Outcome::partial : Outcome::done);
}

// Others may take what is left of it. Returns `next`.
std::uint32_t Migrator::put_back(std::uint32_t slot, std::uint32_t next) {
  queue_.put_back(slot);
  return next;
}

// As much of the run's front as there is room for, claimed: whole units where that is one at least, so that no huge
// page is claimed in part and moves whole.
Extent Migrator::claimed_front(Extent run) {
  const std::uint64_t claimed = pages_->claim_some(page_up(run.bytes));
  const std::uintptr_t end = (run.begin() + claimed) / kUnit * kUnit;
  const bool all = claimed == page_up(run.bytes);
  const std::uint64_t bytes = all || end <= run.begin() ? claimed : end - run.begin();
  pages_->unclaim(claimed - bytes);
  return {run.address, bytes};
}

// Moves what of the unit lies on the other tier.
Migrator::Step Migrator::move_run(Extent unit, const Request& request) {
  const Tier to = request.to;
  Step step = Step::moved;
  std::uintptr_t from = unit.begin();
  while (from < unit.end()) {
    Extent run = pages_->next_run(tier::extent(from, unit.end()), tier::other(to));
    if (run.bytes == 0) break;
    if (to == Tier::fast && (run = claimed_front(run)).bytes == 0) return Step::no_room;
    from = run.end();
    const std::uint64_t bytes = page_up(run.bytes);
    const std::uint64_t begin_ns = os::monotonic_ns();
    Moved moved;
    if (to == Tier::slow && request.clean && backend_->drop_clean(run)) {
      moved.there = bytes;
      dropped_clean_.add(bytes);
    } else {
      moved = backend_->move(run, to);
    }
    const std::uint64_t changed = book(run, to, moved);
    if (to == Tier::fast) pages_->unclaim(bytes - changed);
    count(request, moved, changed, os::monotonic_ns() - begin_ns);
    if (moved.failed != 0) step = Step::partly;
  }
  return step;
}

// Writes down what the backend did. Bytes that are on the other tier now.
std::uint64_t Migrator::book(Extent run, Tier to, const Moved& moved) {
  if (moved.bound) pages_->set_bound(run, to);
  if (moved.failed == 0) return pages_->change(run, to);
  if (moved.there == 0) return 0;
  // Some stayed: page by page, as the backend finds them.
  constexpr std::size_t kPages = kUnit / tier::Pages::kPage;
  Tier tiers[kPages];
  const std::size_t count = std::min(page_up(run.bytes) / tier::Pages::kPage, kPages);
  if (backend_->locate(run.address, count, tiers) != 0) return 0;
  std::uint64_t changed = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (tiers[i] != to) continue;
    const std::uintptr_t page = run.begin() + i * tier::Pages::kPage;
    changed += pages_->change(tier::extent(page, page + 1), to);
  }
  return changed;
}

void Migrator::count(const Request& request, const Moved& moved, std::uint64_t bytes, std::uint64_t spent_ns) {
  const unsigned way = direction(request.to);
  bytes_[way].add(bytes);
  busy_ns_[way].add(spent_ns);
  calls_.add(moved.calls);
  retries_.add(moved.retries);
  if (moved.failed == 0) return;
  failed_.add(moved.failed);
  switch (moved.error) {
    case EBUSY:
    case EAGAIN:
      return busy_.add(1);
    case ENOMEM:
      return no_memory_.add(1);
    case EPERM:
    case EACCES:
    case ENOSYS:
      return forbidden_.add(1);
    case ENODEV:
    case EINVAL:
      return absent_node_.add(1);
    default:
      return other_.add(1);
  }
}

std::uint32_t Migrator::finish(std::uint32_t slot, Outcome outcome) {
  const Request& request = queue_.request(slot);
  requests_[direction(request.to)].add(1);
  const std::uint64_t now = os::monotonic_ns();
  if (request.over_ns != nullptr) request.over_ns->store(now, std::memory_order_relaxed);
  if (request.deadline_ns != 0 && now > request.deadline_ns && outcome != Outcome::cancelled) {
    late_.add(1);
    std::uint64_t latest = latest_ns_.get();
    const std::uint64_t by = now - request.deadline_ns;
    while (by > latest && !latest_ns_.value.compare_exchange_weak(latest, by, std::memory_order_relaxed)) {
    }
  }
  queue_.finish(slot, outcome);
  over_.fetch_add(1, std::memory_order_seq_cst);
  if (waiting_.load(std::memory_order_seq_cst) != 0) os::wake_all(over_);
  return Queue::kNone;
}

MoveStats Migrator::stats() const {
  MoveStats stats;
  stats.to_fast = {requests_[0].get(), bytes_[0].get(), busy_ns_[0].get()};
  stats.to_slow = {requests_[1].get(), bytes_[1].get(), busy_ns_[1].get()};
  stats.dropped_clean_bytes = dropped_clean_.get();
  stats.failed_bytes = failed_.get();
  stats.busy = busy_.get();
  stats.no_memory = no_memory_.get();
  stats.forbidden = forbidden_.get();
  stats.absent_node = absent_node_.get();
  stats.other = other_.get();
  stats.calls = calls_.get();
  stats.retries = retries_.get();
  stats.full = full_.get();
  stats.cancelled = cancelled_.get();
  stats.refused = refused_.get();
  stats.late = late_.get();
  stats.latest_ns = latest_ns_.get();
  return stats;
}

}  // namespace hearth::migrate
