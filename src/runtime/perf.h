// perf_event samples of the profiled iteration, turned into events. Thread that runs the iterations; open() and close()
// between iterations, drain() at op ends, so that samples stand inside the op that caused them.
#pragma once

namespace hearth::runtime::perf {

void open();
void drain();
void close();
// In the child of a fork.
void abandon();

}  // namespace hearth::runtime::perf
