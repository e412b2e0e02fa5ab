// autotm: from a workload to the schedule that an integer program finds best (AutoTM, Hildebrand et al., ASPLOS 2020).
//
// The program is made (items.h, formulate.h), solved from sentinel's schedule on (milp.h), and read back (decode.h).
// docs/policies.md explains it. Seconds to minutes, as long as `seconds` allows: for the `hearth` tool, not for a
// training.
#pragma once

#include <cstdint>
#include <string>

#include "autotm/formulate.h"
#include "base/result.h"
#include "simulate/schedule.h"

namespace hearth::autotm {

struct Options {
  Mode mode = Mode::asynchronous;
  double seconds = 60;        // for the solver
  double gap = 0.01;          // good enough
  std::uint32_t slots = 192;  // that the iteration is cut into
  std::string lp_file;        // write the program there too
};

struct Facts {
  std::size_t items = 0, columns = 0, rows = 0, terms = 0;
  Solution solution;       // without its values; in ns
  double schedule_ns = 0;  // of a step, by the simulator
  double sentinel_ns = 0;
  bool sentinel = false;  // its schedule has been kept: the simulator finds it quicker
};

struct Answer {
  simulate::Schedule schedule;
  Facts facts;
};

// Of a mode's name, or false.
bool parse_mode(const std::string& text, Mode* mode);
const char* name_of(Mode mode);

Result<Answer> schedule_autotm(const simulate::Workload& workload, const tier::Machine& machine, double capacity,
                               const Options& options);

}  // namespace hearth::autotm
