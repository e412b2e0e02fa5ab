#include "machine/named_machine.h"

#include <exception>
#include <string>

#include "base/text.h"
#include "machine/load.h"

namespace hearth::machine {

bool named_machine(const char* name_or_path, tier::Machine* machine, char* why, std::size_t capacity) noexcept {
  try {
    std::string note;
    const Result<tier::Machine> loaded = load_for_this_host(std::string(name_or_path), &note);
    text::Writer(why, capacity) << (loaded ? note : loaded.error());
    if (loaded) *machine = *loaded;
    return static_cast<bool>(loaded);
  } catch (const std::exception& problem) {
    text::Writer(why, capacity) << problem.what();
  }
  return false;
}

}  // namespace hearth::machine
