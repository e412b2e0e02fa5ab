#include "runtime/waits.h"

#include <algorithm>

#include "platform/os_memory.h"
#include "runtime/state.h"

namespace hearth::runtime {
namespace {

using Way = Waits::Way;

unsigned index(Way way) { return way == Way::wait ? 1 : 0; }

void decide(Waits::Fetch& fetch) {
  const std::uint64_t going = fetch.ns[index(Way::go_on)] / fetch.samples[index(Way::go_on)];
  const std::uint64_t waiting = fetch.ns[index(Way::wait)] / fetch.samples[index(Way::wait)];
  fetch.decided = true;
  fetch.way = waiting + going / 100 * Waits::kBetter < going ? Way::wait : Way::go_on;
  ++g.waits.decided;
  if (fetch.way == Way::wait) ++g.waits.worth;
}

}  // namespace

bool waits_begin(std::uint64_t moves) {
  Waits& w = g.waits;
  if (moves > w.rows) {
    const std::uint64_t rows = moves + moves / 2;
    const std::uint64_t page = os::page_size();
    const std::uint64_t bytes = (rows * sizeof(Waits::Fetch) + page - 1) / page * page;
    w.fetches = static_cast<Waits::Fetch*>(os::map_zeroed(bytes));
    w.rows = w.fetches != nullptr ? rows : 0;
    if (w.fetches == nullptr) return false;
  }
  std::fill_n(w.fetches, moves, Waits::Fetch{});
  w.decided = w.worth = 0;
  return true;
}

bool waits_late(std::uint32_t move, std::uint64_t now_ns) {
  Waits::Fetch& fetch = g.waits.fetches[move];
  if (fetch.decided) return fetch.way == Way::wait;
  const bool may_try = g.trials.stage == Trials::Stage::done && g.knobs.policy == config::PolicyName::sentinel;
  if (!may_try) return false;
  fetch.way = fetch.samples[index(Way::wait)] < fetch.samples[index(Way::go_on)] ? Way::wait : Way::go_on;
  fetch.begin_ns = now_ns;
  return fetch.way == Way::wait;
}

void waits_used(std::uint32_t move, std::uint64_t now_ns) {
  Waits::Fetch& fetch = g.waits.fetches[move];
  if (fetch.begin_ns == 0) return;
  fetch.ns[index(fetch.way)] += now_ns - fetch.begin_ns;
  ++fetch.samples[index(fetch.way)];
  fetch.begin_ns = 0;
  if (std::min(fetch.samples[0], fetch.samples[1]) == Waits::kSamples) decide(fetch);
}

void waits_iteration_closed() {
  const Waits& w = g.waits;
  if (g.residence.plan == nullptr) return;
  const std::uint64_t moves = std::min<std::uint64_t>(w.rows, g.residence.plan->moves.size());
  for (std::uint64_t i = 0; i < moves; ++i) w.fetches[i].begin_ns = 0;
}

}  // namespace hearth::runtime
