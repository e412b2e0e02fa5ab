// Waits: when a fetch has not arrived as the program comes to use it, shall the program stop for it, or go on from slow
// memory (Sentinel, HPCA 2021, section 4: case 3)? Both are tried, for each planned fetch that comes late: by turns,
// and timed until the plan sends the stretch away again. Waiting wins if it is quicker by kBetter; that holds until the
// next plan. Nothing is tried before the plan itself has been (trials.h), nor for rival policies.
//
// By the thread that runs the iterations. No lock; allocates in waits_begin alone.
#pragma once

#include <cstdint>

namespace hearth::runtime {

struct Waits {
  static constexpr std::uint32_t kSamples = 3;  // of each way
  static constexpr std::uint64_t kBetter = 2;   // in hundredths

  enum class Way : std::uint8_t { go_on, wait };
  struct Fetch {
    std::uint64_t begin_ns = 0;  // of the stretch of time being measured; 0 = none is
    std::uint64_t ns[2] = {};    // by way: of all samples
    std::uint32_t samples[2] = {};
    Way way = Way::go_on;  // being measured, or, once decided, for good
    bool decided = false;
  };

  Fetch* fetches = nullptr;  // by move
  std::uint64_t rows = 0;
  std::uint64_t decided = 0, worth = 0;  // fetches: tried to the end, and of them those that are waited for
};

// A plan with so many moves is followed from now on. False if there is no memory for the table.
bool waits_begin(std::uint64_t moves);
// The fetch is late. Is it to be waited for?
bool waits_late(std::uint32_t move, std::uint64_t now_ns);
// Its stretch is sent away.
void waits_used(std::uint32_t move, std::uint64_t now_ns);
// Nothing is measured across the end of an iteration.
void waits_iteration_closed();

}  // namespace hearth::runtime
