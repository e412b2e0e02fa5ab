// One kind of memory. Planning and packing only.
#pragma once

#include "tier/backend.h"

namespace hearth::tier {

class SingleBackend final : public Backend {
 public:
  const char* name() const override { return "single"; }
  bool tiered() const override { return false; }
  int bind(Extent pages, Tier tier) override;
  Moved move(Extent pages, Tier to) override;
  bool keeps_copies() const override { return false; }
  bool drop_clean(Extent pages) override;
  bool forget(Extent pages) override;
  int locate(const void* address, std::size_t count, Tier* tiers) override;
};

}  // namespace hearth::tier
