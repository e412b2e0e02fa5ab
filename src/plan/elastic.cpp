#include "plan/elastic.h"

#include <algorithm>
#include <bit>

#include "plan/plan.h"

namespace hearth::plan {

std::uint64_t elastic_bytes(std::uint64_t bytes) {
  constexpr std::uint64_t kMore = 16, kSizes = 8;
  const std::uint64_t more = bytes + bytes / kMore;
  const std::uint64_t unit = std::max(std::bit_floor(std::max<std::uint64_t>(more, 1)) / kSizes, kAlignment);
  return (more + unit - 1) / unit * unit;
}

profile::Profile elastic(const profile::Profile& profile, std::uint64_t min_bytes) {
  profile::Profile made = profile;
  for (profile::Tensor& tensor : made.tensors) {
    const bool lives_through = tensor.born == profile::kBefore && tensor.dies == profile::kAfter;
    if (!lives_through && tensor.bytes >= min_bytes) tensor.bytes = elastic_bytes(tensor.bytes);
  }
  return made;
}

}  // namespace hearth::plan
