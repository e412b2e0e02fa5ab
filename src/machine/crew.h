// Crew: threads that do one piece of work at the same time, each on a processor of its own, timed together.
//
// For measuring, from one thread at a time. Allocates; throws system_error where threads cannot be had.
#pragma once

#include <functional>
#include <vector>

namespace hearth::machine {

// Processors that this process may run on, in order.
std::vector<int> own_processors();

// Keeps the calling thread on one processor for its scope.
class OnProcessor {
 public:
  explicit OnProcessor(int processor);
  ~OnProcessor();
  OnProcessor(const OnProcessor&) = delete;
  OnProcessor& operator=(const OnProcessor&) = delete;

 private:
  std::vector<int> former_;
};

// work(i) on threads 0 <= i < count, thread i on the i-th of own_processors(), round and round. Seconds from the moment
// when all were ready until the last was done.
double timed_together(unsigned count, const std::function<void(unsigned)>& work);

}  // namespace hearth::machine
