// The summary that HEARTH_STATS=1 prints on stderr at exit: at most 40 lines of at most 100 columns.
// Cold: called once at exit, allocates; nothing is printed here.
#pragma once

#include <string>

#include "profile/profile.h"
#include "report/facts.h"

namespace hearth::report {

void write_text(std::string& out, const RunFacts& facts, const profile::Profile* profile);

}  // namespace hearth::report
