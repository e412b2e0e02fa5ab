// Deepen: the string of events with units added after a layer of each group, or taken away there.
//
// What is added is like the pattern's layer. Pointers between layers keep their distance; those from outside, and what
// ends have of their own, keep theirs from the end on whose side of the cut they are. Pure; allocates.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "scale/layers.h"
#include "scale/pattern.h"

namespace hearth::scale {

struct Cut {
  std::vector<std::int64_t> after;  // a layer, of each group
  std::int64_t units = 0;           // added; below 0: taken away
};

struct Deepened {
  std::vector<std::uint32_t> events;  // the one of the given string that each is like
  std::vector<std::uint32_t> links;   // what each points to, as links_of() has it
  std::vector<bool> added;
};

class Deepener {
 public:
  Deepener(const Layers& layers, std::span<const Pattern> patterns, const Cut& cut, std::size_t events);

  // Nothing where a pointer would lead to what is not there or comes later.
  std::optional<Deepened> deepened(std::span<const std::uint32_t> links) const;

  // Of an event of the new string, if it is in a phase.
  std::int64_t layer(std::uint32_t at) const { return events_[at].layer; }

  // Where the event is in the new string that is to event `at` of it as `event` is to the one that `at` is like.
  std::optional<std::uint32_t> beside(std::uint32_t at, std::uint32_t event) const;

 private:
  struct At {
    std::uint32_t event = 0;
    std::int64_t layer = 0;  // in the new string, where it is in a phase
    bool added = false;
  };
  void add_phase(std::uint32_t phase);
  std::optional<std::uint32_t> target(const At& at, std::span<const std::uint32_t> links) const;
  std::optional<std::uint32_t> place(const Spot& spot) const;
  std::optional<std::uint32_t> moved(std::uint32_t event) const;

  const Layers& layers_;
  std::span<const Pattern> patterns_;
  const Cut& cut_;
  std::vector<At> events_;              // the new string
  std::vector<std::uint32_t> begins_;   // of each phase, there
  std::vector<std::uint32_t> outside_;  // of each event outside phases, its place there
};

}  // namespace hearth::scale
