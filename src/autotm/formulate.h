// formulate: the placement of items as a mixed-integer program (AutoTM, Hildebrand et al., ASPLOS 2020, section 4).
//
// In the words of docs/policies.md: of each item, how many units are fast in each cluster of its uses, and in each gap
// between two clusters how many stay, leave and come (the tensor flow graph, with whole flows instead of
// one graph for each unit). Rows: the flow of each gap, the time of each op, room in each slot, the copy
// lanes (asynchronous). Time is in thousandths of an iteration with everything slow, room in thousandths of the
// capacity.
//
// Pure; allocates.
#pragma once

#include <cstdint>
#include <vector>

#include "autotm/items.h"
#include "autotm/milp.h"

namespace hearth::autotm {

enum class Mode : std::uint8_t {
  fixed,         // `static`: one place for life
  synchronous,   // moves between ops, while the program waits
  asynchronous,  // or beside ops, as far as the copy lanes reach; what does not fit makes them longer
};

struct FormulaOptions {
  Mode mode = Mode::asynchronous;
  double capacity = 0;  // bytes
  bool clean = false;   // a slow copy that is still valid makes leaving free (written back once at most)
  std::vector<double> lengths = {1, 2, 4, 8};  // of a copy's window, in its own time; at least one slot
  std::uint32_t most_slots = 0;                // instead of those: any length up to so many slots
  std::vector<double> interference;            // by slot: ns that an ns of copying costs; empty = none
};

// A way to leave or to come: how many units take it. Leaving windows begin with the gap, coming ones end with it.
struct Way {
  std::uint32_t column = 0;
  Range slots;  // empty: at once, while the program waits
};

// Behind a cluster, until the next one.
struct Gap {
  Range slots;
  std::uint32_t stay = 0;        // column: units that stay fast
  std::uint32_t stay_clean = 0;  // of them, those with a valid slow copy
  std::uint32_t drop = 0;        // units that leave for nothing
  std::vector<Way> leave, come;
};

struct Placed {
  std::vector<std::uint32_t> fast;   // column, by cluster; fixed: one
  std::vector<std::uint32_t> clean;  // of them with a valid slow copy, where that is asked for
  std::vector<Gap> gaps;             // behind each cluster; of residents also behind the last
};

// An op whose time is a table: a column for each placement of its operands, of which it takes one (AutoTM's
// configurations). Operands that are fast in part take several, in parts.
struct Configurations {
  std::uint32_t op = 0;
  std::uint32_t first = 0;  // column of the placement with none slow; that of mask m is first + m
  std::vector<Term> fast;   // by operand: whose share is fast, and one unit's part; kNone: it is always slow
};

struct Formula {
  Program program;
  std::vector<Placed> placed;            // by item
  std::vector<std::uint32_t> op_time;    // column, by op; kNone: not needed
  std::vector<Configurations> exact;     // ops that were measured in all placements
  std::vector<std::uint32_t> stretch;    // column, by slot: by how much copies make it longer; kNone: not at all
  std::vector<std::uint32_t> room_rows;  // those that hold the capacity
  struct Least {
    std::uint32_t row, column;  // the row says what the column is at least
  };
  std::vector<Least> op_rows, lane_rows;
  double ns = 1;  // of a unit of time

  static constexpr std::uint32_t kNone = 0xffffffffu;
};

Formula formulate(const simulate::Workload& workload, const tier::Machine& machine, const Slots& slots,
                  const Items& items, const FormulaOptions& options);

// Of a copy that goes on evenly all over `way`, the share that is over as the slot `at` begins.
double share_done(const Slots& slots, Range way, std::uint32_t at);

// Makes what follows from where units lie (op times, stretches) what it must be at least.
void complete(const Formula& formula, std::vector<double>& values);

}  // namespace hearth::autotm
