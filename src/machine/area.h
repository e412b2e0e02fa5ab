// Area: memory to measure on, of nodes that are asked for, in huge pages or small ones.
//
// For measuring, from one thread at a time. Allocates nothing but the memory itself.
#pragma once

#include <cstddef>
#include <string>

#include "platform/os_numa.h"

namespace hearth::machine {

enum class PageSize { small, huge };

// The last level of cache as the system tells it; 32 MiB where it does not.
std::size_t cache_bytes();

class Area {
 public:
  // Touched and filled. With several nodes the slices lie on them by turns, as equal parts in order.
  Area(std::size_t bytes, const os::NodeMask& nodes, unsigned slices, PageSize pages);
  ~Area();
  Area(const Area&) = delete;
  Area& operator=(const Area&) = delete;

  // "" if the memory is where it should be, else what is wrong: a figure of other memory is no figure.
  const std::string& problem() const { return problem_; }
  char* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  char* slice(unsigned number) const { return data_ + number * slice_bytes_; }
  std::size_t slice_bytes() const { return slice_bytes_; }

 private:
  void place(const os::NodeMask& nodes, unsigned slices);
  void check(const os::NodeMask& nodes);

  char* data_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t slice_bytes_ = 0;
  std::string problem_;
};

}  // namespace hearth::machine
