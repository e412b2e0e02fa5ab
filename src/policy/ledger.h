// Ledger: what a simulated iteration shows of each object, of each class and of the fast tier as a whole: what fast
// memory saves there, what it takes, when it is there. Raw figures; account_of.h makes an account of them.
//
// A watcher of one simulate(); allocates. Linear in uses and in changes of what lies where.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "plan/account.h"
#include "profile/profile.h"
#include "simulate/simulate.h"

namespace hearth::policy {

// Fast bytes of something over the iteration. The clock is that of the ops: what changes while one runs, changes for
// the next.
class History {
 public:
  void set(double bytes, double now_ns, std::uint32_t clock);
  double bytes() const { return now_; }
  double most() const { return most_; }
  double average(double step_ns) const;
  // In which half of the most there is, or more, is fast. In [0, ops).
  std::vector<plan::Window> windows(std::uint32_t ops) const;

 private:
  struct Change {
    std::uint32_t clock;
    double bytes;  // from then on
    double most;   // for a moment, within one op
  };
  double now_ = 0, most_ = 0;
  double since_ns_ = 0;
  double area_ = 0;
  std::vector<Change> changes_;
};

class Ledger final : public simulate::Watcher {
 public:
  struct Figures {
    History fast;
    double gain_ns = 0, possible_ns = 0;  // plan::Stake
    double moved = 0, lane_ns = 0;
  };
  struct OfObject : Figures {
    double more_ns = 0;  // by which its traffic takes longer when all of it is slow
    double room = 0;     // free at least whenever an op uses it from slow memory
    std::uint32_t uses = 0, fast_uses = 0;
    std::uint32_t group = 0;  // its class
  };
  struct OfClass : Figures {
    profile::Lifetime lifetime = profile::Lifetime::activation;
    std::uint8_t frequency = 0;
  };

  // All of them outlive it.
  Ledger(const profile::Profile& profile, const simulate::Workload& workload, const tier::Machine& machine,
         const simulate::Schedule& schedule);

  void lies(std::uint32_t piece, double fast_bytes, double now_ns) override;
  void ran(std::uint32_t op, double begin_ns, double end_ns, std::span<const float> slow) override;
  void moved(std::uint32_t piece, tier::Tier to, double bytes) override;

  const std::vector<OfObject>& objects() const { return objects_; }
  const std::vector<OfClass>& classes() const { return classes_; }       // by lifetime, then frequency
  const std::vector<plan::Moment>& moments() const { return moments_; }  // whenever something changes

 private:
  void sort_into_classes(const profile::Profile& profile);
  void weigh(const simulate::Op& op, std::span<const float> slow);
  double free() const;
  void note(std::uint32_t op, double now_ns);

  const simulate::Workload& workload_;
  const tier::Machine& machine_;
  const simulate::Schedule& schedule_;
  std::vector<OfObject> objects_;
  std::vector<OfClass> classes_;
  std::vector<plan::FastKind> kinds_;            // by piece
  std::vector<double> pieces_;                   // fast bytes of each
  std::array<double, plan::kFastKinds> fast_{};  // now
  std::vector<plan::Moment> moments_;
  std::uint32_t clock_ = 0;
  // Of the op being weighed, by class: how much longer its traffic would take, and how much shorter.
  std::vector<double> longer_, shorter_;
  std::vector<std::uint32_t> touched_;
};

}  // namespace hearth::policy
