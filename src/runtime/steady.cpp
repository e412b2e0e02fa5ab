#include "runtime/steady.h"

#include "platform/os_clock.h"
#include "runtime/state.h"

namespace hearth::runtime {
namespace {

Steady::Totals totals() {
  const Tiers& t = g.tiers;
  const migrate::MoveStats moves = t.migrator.stats();
  return {os::monotonic_ns(),
          moves.to_fast.bytes,
          moves.to_slow.bytes,
          g.residence.waited_ns,
          t.charged_ns.load(std::memory_order_relaxed),
          t.slow_bytes_used.load(std::memory_order_relaxed),
          g.residence.asked,
          g.residence.late,
          g.lateness.late_ns()};
}

}  // namespace

void steady_begins() {
  Tiers& t = g.tiers;
  if (!t.on) return;
  t.pages.restart_average();
  t.steady = {};
  g.lateness.restart();
  t.steady.begin = t.steady.end = totals();
}

void steady_iteration_closed() {
  Tiers& t = g.tiers;
  if (!t.on || t.steady.begin.ns == 0) return;
  ++t.steady.iterations;
  t.steady.end = totals();
  t.steady.fast_average = t.pages.fast_average();
}

void add_steady_facts(report::TierFacts& tiers) {
  const Steady& s = g.tiers.steady;
  tiers.steady = {s.iterations,
                  s.end.ns - s.begin.ns,
                  s.fast_average,
                  s.end.to_fast - s.begin.to_fast,
                  s.end.to_slow - s.begin.to_slow,
                  s.end.waited_ns - s.begin.waited_ns,
                  s.end.charged_ns - s.begin.charged_ns,
                  s.end.slow_bytes_used - s.begin.slow_bytes_used,
                  s.end.moves - s.begin.moves,
                  s.end.late - s.begin.late,
                  s.end.late_ns - s.begin.late_ns,
                  g.waits.decided,
                  g.waits.worth};
  if (g.residence.plan == nullptr) return;
  const plan::Prediction& foreseen = g.residence.plan->prediction;
  tiers.foreseen = {true,
                    foreseen.step_ns,
                    foreseen.all_fast_ns,
                    foreseen.all_slow_ns,
                    foreseen.stall_ns,
                    foreseen.fast_peak,
                    foreseen.fast_average};
  tiers.residency = g.residence.plan;
  tiers.moves = g.lateness.moves();
}

}  // namespace hearth::runtime
