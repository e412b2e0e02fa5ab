// Module names: what modules of added layers, and of those behind them, are called: "blocks.3.mlp" goes on to
// "blocks.47.mlp".
//
// The number that differs from layer to layer in the deeper trace is counted on; where none does, names stay.
// Allocates.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "profile/trace_file.h"
#include "scale/deepen.h"

namespace hearth::scale {

class ModuleNames {
 public:
  ModuleNames(const profile::Trace& large, std::span<const std::uint32_t> places, const Layers& layers, const Cut& cut);

  // The name of an event of a module: a compared one of the large trace, as it is in this layer of the deepened string.
  std::uint32_t of(std::uint32_t event, std::int64_t layer);

  const std::vector<std::string>& names() const { return names_; }

 private:
  // How numbers that stand behind one text follow from layers.
  struct Series {
    std::int64_t step = 0;
    std::int64_t begin = 0;  // at layer 0
    std::uint32_t group = 0;
  };
  void learn(const std::string& name, const std::string& next, std::int64_t layer, std::uint32_t group);
  std::uint32_t id(const std::string& name);

  std::span<const std::uint32_t> places_;
  const profile::Trace& large_;
  const Layers& layers_;
  const Cut& cut_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::uint32_t> ids_;
  std::map<std::string, Series> series_;
};

}  // namespace hearth::scale
