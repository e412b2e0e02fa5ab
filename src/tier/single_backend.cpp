#include "tier/single_backend.h"

#include <algorithm>
#include <cerrno>

namespace hearth::tier {

int SingleBackend::bind(Extent, Tier tier) { return tier == Tier::fast ? 0 : ENODEV; }

Moved SingleBackend::move(Extent pages, Tier to) {
  Moved moved;
  (to == Tier::fast ? moved.there : moved.failed) = pages.bytes;
  if (to != Tier::fast) moved.error = ENODEV;
  return moved;
}

bool SingleBackend::drop_clean(Extent) { return false; }

bool SingleBackend::forget(Extent) { return false; }

int SingleBackend::locate(const void*, std::size_t count, Tier* tiers) {
  std::fill_n(tiers, count, Tier::fast);
  return 0;
}

}  // namespace hearth::tier
