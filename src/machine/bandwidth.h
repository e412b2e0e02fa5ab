// Bandwidth of reading, writing and copying memory of given nodes, by ordinary loads and stores as PyTorch's kernels
// use them (a line that is written is read first).
//
// For measuring; starts threads, allocates.
#pragma once

#include <string>

#include "machine/figure.h"
#include "platform/os_numa.h"

namespace hearth::machine {

struct Bandwidth {
  unsigned threads = 0;
  Figure read;  // bytes per second
  Figure write;
  Figure copy;  // bytes copied, so each is read once and written once
  std::string problem;
};

// `bytes` in all, many times the cache.
Bandwidth measure_bandwidth(const os::NodeMask& nodes, unsigned threads, std::size_t bytes, unsigned repeats);

// The loops, for others that need a load on memory. Bytes: a multiple of 256.
void read_all(const char* data, std::size_t bytes);
void write_all(char* data, std::size_t bytes);
void copy_all(char* to, const char* from, std::size_t bytes);

}  // namespace hearth::machine
