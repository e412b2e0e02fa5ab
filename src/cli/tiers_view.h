// The tiers' part of a report as text: what they are and what they cost (tiers_view.cpp), and why tensors lie where
// they do (account_view.cpp). Nothing where the report knows of one kind of memory. Throws std::exception where a
// damaged report lacks a member.
#pragma once

#include <nlohmann/json.hpp>

#include "cli/text_page.h"

namespace hearth::cli {

void show_tiers(TextPage& page, const nlohmann::ordered_json& document);

// `tiers`: the member of the report, which has an account.
void show_account(TextPage& page, const nlohmann::ordered_json& document, const nlohmann::ordered_json& tiers);

}  // namespace hearth::cli
