// Plays recordings (compact.py) to the iteration detector and prints what it decides; for developers.
//
//   g++ -std=c++20 -O2 -I include -I src -I tests tests/torch/loops/replay.cpp src/{iteration,platform,base}/*.cpp -o
//   replay replay [--unknown] tests/data/loops/*.txt
#include <cstdio>
#include <cstring>

#include "unit/iteration/recording.h"

using namespace hearth::iteration;

int main(int argc, char** argv) {
  Identities identities = Identities::known;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--unknown") == 0) {
      identities = Identities::unknown;
      continue;
    }
    Player loop(64);
    play(loop, read_recording(argv[i]), identities);
    constexpr const char* kSources[] = {"none", "period", "optimizer", "marks"};
    std::printf("%s: by %s, period %u, %zu iterations, %u signatures%s\n", argv[i],
                kSources[static_cast<int>(loop.detector.source())], loop.detector.period(), loop.closed.size(),
                loop.detector.signatures_cached(), loop.detector.take_retraction() ? ", something taken back" : "");
    for (std::size_t at = 0; at < loop.closed.size(); ++at) {
      const Closed& closed = loop.closed[at];
      if (at > 0 && closed.signature == loop.closed[at - 1].signature) continue;
      std::printf("  %4zu: at op %llu, %u ops, %u allocations, seen %u\n", at,
                  static_cast<unsigned long long>(loop.ops_at[at]), closed.signature.op_count,
                  closed.signature.allocation_count, closed.times_seen);
    }
  }
}
