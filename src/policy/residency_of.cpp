#include "policy/residency_of.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace hearth::policy {
namespace {

using plan::Home;
using plan::Residency;
using plan::Stretch;
using simulate::Object;
using simulate::Schedule;
using simulate::Workload;
using tier::Tier;

// A resident is named by its size and its place among those of its size, in order of birth.
std::vector<std::uint32_t> nth_of(const profile::Profile& profile, const Workload& workload) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < workload.objects.size() && workload.objects[i].resident; ++i) order.push_back(i);
  const auto tensor = [&](std::uint32_t i) -> const profile::Tensor& {
    return profile.tensors[workload.objects[i].tensor];
  };
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return tensor(a).bytes != tensor(b).bytes ? tensor(a).bytes < tensor(b).bytes : tensor(a).serial < tensor(b).serial;
  });
  std::vector<std::uint32_t> nth(order.size());
  for (std::size_t i = 1; i < order.size(); ++i) {
    nth[order[i]] = tensor(order[i - 1]).bytes == tensor(order[i]).bytes ? nth[order[i - 1]] + 1 : 0;
  }
  return nth;
}

class Maker {
 public:
  Maker(const profile::Profile& profile, const Workload& workload, const Schedule& schedule, plan::Plan& plan)
      : profile_(profile),
        workload_(workload),
        schedule_(schedule),
        plan_(plan),
        moves_(schedule.pieces.size(), false),
        stretch_of_(schedule.pieces.size(), kNoStretch) {
    for (const simulate::Move& move : schedule.moves) moves_[move.piece] = true;
  }

  std::vector<std::uint32_t> make() {
    Residency& residency = plan_.residency;
    residency.ops = static_cast<std::uint32_t>(workload_.ops.size());
    residency.births = workload_.entry_ops;
    add_arenas();
    add_entries();
    add_residents();
    for (const simulate::Move& move : schedule_.moves) {
      if (stretch_of_[move.piece] == kNoStretch) continue;
      residency.moves.push_back({.stretch = stretch_of_[move.piece],
                                 .to = move.to,
                                 .at = move.at,
                                 .due = move.due,
                                 .ns = static_cast<std::uint64_t>(std::max(move.ns, 0.0)),
                                 .wait = move.wait,
                                 .clean = move.clean});
    }
    return std::move(stretch_of_);
  }

 private:
  void add_arenas() {
    for (std::uint32_t i = 0; i < plan_.arenas.size(); ++i) {
      if (plan_.arenas[i].home != Home::slow || plan_.arenas[i].bytes == 0) continue;
      plan_.residency.stretches.push_back(
          {.of = Stretch::Of::arena, .index = i, .offset = 0, .bytes = plan_.arenas[i].bytes, .begin = Tier::slow});
    }
  }

  // Entries are in order of birth, as the profile's tensors are.
  void add_entries() {
    std::unordered_map<std::uint32_t, std::uint32_t> first_piece;  // by tensor
    for (std::uint32_t p = 0; p < schedule_.pieces.size(); ++p) {
      first_piece.try_emplace(workload_.objects[schedule_.pieces[p].object].tensor, p);
    }
    std::uint32_t entry = 0;
    for (std::uint32_t t = 0; t < profile_.tensors.size() && entry < plan_.entries.size(); ++t) {
      const profile::Tensor& tensor = profile_.tensors[t];
      if (tensor.born_order == 0 || tensor.born_thread != 0 || tensor.bytes < plan_.min_bytes) continue;
      const std::uint32_t index = entry++;
      const plan::Entry& it = plan_.entries[index];
      if (it.arena == plan::kHeap || plan_.arenas[it.arena].home != Home::own) continue;
      const auto found = first_piece.find(t);
      if (found != first_piece.end()) add_slices(found->second, Stretch::Of::entry, index, it.bytes);
    }
  }

  void add_residents() {
    const std::vector<std::uint32_t> nth = nth_of(profile_, workload_);
    for (std::uint32_t p = 0; p < schedule_.pieces.size();) {
      const std::uint32_t object = schedule_.pieces[p].object;
      const std::uint32_t first = p;
      bool always_fast = true;
      for (; p < schedule_.pieces.size() && schedule_.pieces[p].object == object; ++p) {
        always_fast = always_fast && schedule_.pieces[p].begin == Tier::fast && !moves_[p];
      }
      if (!workload_.objects[object].resident || always_fast) continue;
      const std::uint64_t bytes = profile_.tensors[workload_.objects[object].tensor].bytes;
      const auto resident = static_cast<std::uint32_t>(plan_.residency.residents.size());
      plan_.residency.residents.push_back({bytes, nth[object]});
      add_slices(first, Stretch::Of::resident, resident, bytes);
    }
  }

  // One stretch for each slice of an object, from its begin on.
  void add_slices(std::uint32_t first, Stretch::Of of, std::uint32_t index, std::uint64_t bytes) {
    const std::vector<simulate::Piece>& pieces = schedule_.pieces;
    std::uint64_t offset = 0;
    for (std::uint32_t p = first; p < pieces.size() && pieces[p].object == pieces[first].object && offset < bytes;
         ++p) {
      const std::uint64_t slice = std::min(pieces[p].bytes, bytes - offset);
      stretch_of_[p] = static_cast<std::uint32_t>(plan_.residency.stretches.size());
      plan_.residency.stretches.push_back(
          {.of = of, .index = index, .offset = offset, .bytes = slice, .begin = pieces[p].begin});
      offset += slice;
    }
  }

  const profile::Profile& profile_;
  const Workload& workload_;
  const Schedule& schedule_;
  plan::Plan& plan_;
  std::vector<bool> moves_;                // by piece: does it ever
  std::vector<std::uint32_t> stretch_of_;  // by piece
};

}  // namespace

std::vector<Home> homes_of(const profile::Profile& profile, const Workload& workload, const Schedule& schedule) {
  // What is no piece takes no fast memory: too odd to be reckoned with.
  std::vector<Home> homes(profile.tensors.size(), Home::slow);
  std::vector<bool> moves(schedule.pieces.size(), false);
  for (const simulate::Move& move : schedule.moves) moves[move.piece] = true;
  for (std::uint32_t p = 0; p < schedule.pieces.size();) {
    const std::uint32_t object = schedule.pieces[p].object;
    bool slow = true;
    bool pooled = true;
    for (; p < schedule.pieces.size() && schedule.pieces[p].object == object; ++p) {
      slow = slow && schedule.pieces[p].begin == Tier::slow && !moves[p];
      pooled = pooled && schedule.pieces[p].pooled;
    }
    homes[workload.objects[object].tensor] = slow ? Home::slow : pooled ? Home::fast : Home::own;
  }
  return homes;
}

std::vector<std::uint32_t> residency_of(const profile::Profile& profile, const Workload& workload,
                                        const Schedule& schedule, plan::Plan& plan) {
  return Maker(profile, workload, schedule, plan).make();
}

}  // namespace hearth::policy
