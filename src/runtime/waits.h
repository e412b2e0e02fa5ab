// Waits: when a fetch has not arrived as the program comes to use it, shall the program stop for it, or go on from slow
// memory (Sentinel, HPCA 2021, section 4: case 3)? Both are tried, for each planned fetch that comes late: by turns,
// and timed until the plan sends the stretch away again. Waiting wins if it is quicker by kBetter; that holds until the
// next plan.
//
// By the thread that runs the iterations. No lock; allocates in begin() alone.
#pragma once

#include <cstdint>

namespace hearth::runtime {

class Waits {
 public:
  static constexpr std::uint32_t kSamples = 3;  // of each way
  static constexpr std::uint64_t kBetter = 2;   // in hundredths

  constexpr Waits() = default;

  // A plan with so many moves is followed from now on. False if there is no memory for the table.
  bool begin(std::uint64_t moves);
  // The fetch is late. Is it to be waited for? What is not decided is tried if it may be, else it is not waited for.
  bool late(std::uint32_t move, std::uint64_t now_ns, bool may_try);
  // Its stretch is sent away.
  void used(std::uint32_t move, std::uint64_t now_ns);
  // Nothing is measured across the end of an iteration.
  void iteration_closed();

  std::uint64_t decided() const { return decided_; }  // fetches: tried to the end,
  std::uint64_t worth() const { return worth_; }      // and of them those that are waited for

 private:
  struct Fetch {
    std::uint64_t begin_ns = 0;  // of the time that is being measured; 0 = none is
    std::uint64_t ns[2] = {};    // of all samples: going on, waiting
    std::uint32_t samples[2] = {};
    bool waits = false;  // being measured, or, once decided, for good
    bool decided = false;
  };
  void decide(Fetch& fetch);

  Fetch* fetches_ = nullptr;  // by move
  std::uint64_t rows_ = 0;
  std::uint64_t count_ = 0;  // of moves of the plan
  std::uint64_t decided_ = 0, worth_ = 0;
};

}  // namespace hearth::runtime
