// The "account" member of a plan's residency as JSON. Used by residency_json alone.
#pragma once

#include <string>

#include "base/json_text.h"
#include "plan/account.h"

namespace hearth::plan {

void write_account(std::string& out, const Account& account);
bool read_account(JsonText& text, Account& account);

}  // namespace hearth::plan
