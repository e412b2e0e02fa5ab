// The "residency" member of a plan's JSON: null for a plan that says nothing of tiers. Used by json_reader and
// json_writer alone.
#pragma once

#include <string>

#include "base/json_text.h"
#include "plan/plan.h"

namespace hearth::plan {

void write_residency(std::string& out, const Residency& residency);
bool read_residency(JsonText& text, Residency& residency);

const char* home_name(Home home);
bool read_home(JsonText& text, Home& home);
const char* tier_name(tier::Tier tier);
bool read_tier(JsonText& text, tier::Tier& tier);

}  // namespace hearth::plan
