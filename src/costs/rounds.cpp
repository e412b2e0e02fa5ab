#include "costs/rounds.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace hearth::costs {
namespace {

enum class Lies : std::uint8_t { anywhere, fast, slow };

Lies wanted_of(Mask mask, std::size_t operand) { return (mask >> operand & 1) != 0 ? Lies::slow : Lies::fast; }

bool take(const Keyed& op, Mask mask, std::vector<Lies>& lies) {
  for (std::size_t i = 0; i < op.objects.size(); ++i) {
    const Lies now = lies[op.objects[i]];
    if (now != Lies::anywhere && now != wanted_of(mask, i)) return false;
  }
  for (std::size_t i = 0; i < op.objects.size(); ++i) lies[op.objects[i]] = wanted_of(mask, i);
  return true;
}

}  // namespace

std::vector<Round> choose_rounds(const std::vector<Keyed>& ops, const std::vector<Alike>& alike,
                                 std::vector<Want> wants, std::size_t objects) {
  std::vector<Round> rounds;
  while (!wants.empty()) {
    std::vector<Lies> lies(objects, Lies::anywhere);
    std::vector<Want> rest;
    for (const Want& want : wants) {
      const std::vector<std::size_t>& any = alike[want.alike].ops;
      const bool taken =
          std::any_of(any.begin(), any.end(), [&](std::size_t op) { return take(ops[op], want.slow, lies); });
      if (!taken) rest.push_back(want);
    }
    Round round;
    for (const Lies each : lies) round.push_back(each == Lies::slow);
    rounds.push_back(std::move(round));
    wants = std::move(rest);  // the first one always finds its place
  }
  return rounds;
}

}  // namespace hearth::costs
