#include "scale/deep_trace.h"

#include <algorithm>

#include "scale/kinds.h"
#include "scale/links.h"
#include "scale/own_pages.h"

namespace hearth::scale {
namespace {

using Serials = std::vector<std::uint32_t>;

class Writer {
 public:
  explicit Writer(const DeepParts& parts) : parts_(parts), serials_(parts.tensors.events.size(), HEARTH_NO_ID) {
    const std::vector<std::uint32_t> links = links_of(parts.large, parts.places, Link::kTensor);
    for (std::uint32_t i = 0; i < links.size(); ++i) {
      if (links[i] == i) first_.emplace(large(i).tensor, i);
    }
    const Deepened& made = parts.tensors;
    for (std::uint32_t i = 0; i < made.events.size(); ++i) {
      if (made.links[i] == i) homes_[large(made.events[i]).tensor].push_back(i);
    }
  }

  std::vector<hearth_event> written() {
    begin();
    std::int64_t sequence = first_sequence();
    std::vector<std::int64_t> sequences(parts_.tensors.events.size(), -1);
    double rest = 0;  // of a nanosecond
    for (std::uint32_t i = 0; i < parts_.tensors.events.size(); ++i) {
      const std::uint32_t like = parts_.tensors.events[i];
      rest += parts_.times[i];
      const auto whole = static_cast<std::uint64_t>(std::max(rest, 0.0));
      rest -= static_cast<double>(whole);
      now_ += whole;
      hearth_event event = large(like);
      event.time_ns = now_;
      const auto bytes = parts_.gathered.events.find(like);
      if (bytes != parts_.gathered.events.end()) grow_to(event, bytes->second, least_);
      if (parts_.tensors.links[i] != kAlone) event.tensor = serial(parts_.tensors.links[i]);
      if (parts_.sequences != nullptr && parts_.sequences->links[i] != kAlone) {
        const std::uint32_t home = parts_.sequences->links[i];
        if (home == i) sequences[i] = sequence++;
        event.value = sequences[home];
      }
      if (is_module(event)) event.name = parts_.names.of(like, parts_.deepener.layer(i));
      out_.push_back(event);
      beside(i, like);
    }
    return std::move(out_);
  }

 private:
  const hearth_event& large(std::uint32_t compared) const { return parts_.large.events[parts_.places[compared]]; }

  std::uint32_t serial(std::uint32_t home) {
    if (serials_[home] == HEARTH_NO_ID) serials_[home] = ++last_;
    return serials_[home];
  }

  std::int64_t first_sequence() const {
    for (const std::uint32_t place : parts_.places) {
      const hearth_event& event = parts_.large.events[place];
      if (event.type == HEARTH_EVENT_OP_BEGIN && event.value >= 0) return event.value;
    }
    return 0;
  }

  // What is alive, and whatever else stands before the first event that was compared.
  void begin() {
    const std::size_t end = parts_.places.empty() ? parts_.large.events.size() : parts_.places[0];
    now_ = parts_.places.empty() ? 0 : large(0).time_ns;
    for (std::size_t i = 0; i < end; ++i) {
      const hearth_event& event = parts_.large.events[i];
      for (const std::uint32_t tensor : all_like(event.tensor)) {
        out_.push_back(event);
        out_.back().tensor = tensor;
        const auto bytes = parts_.gathered.tensors.find(event.tensor);
        if (event.type == HEARTH_EVENT_LIVE && bytes != parts_.gathered.tensors.end())
          grow_to(out_.back(), bytes->second, least_);
      }
    }
  }

  // Of a tensor that was there before: itself and those of added layers.
  const Serials& all_like(std::uint32_t tensor) {
    const auto [at, fresh] = before_.try_emplace(tensor);
    if (!fresh) return at->second;
    if (const auto found = homes_.find(tensor); found != homes_.end()) {
      for (const std::uint32_t home : found->second) at->second.push_back(serial(home));
    } else {
      const auto more = parts_.idle.find(tensor);
      const std::uint64_t count = more == parts_.idle.end() ? 1 : 1 + more->second;
      for (std::uint64_t i = 0; i < count; ++i) at->second.push_back(++last_);
    }
    return at->second;
  }

  // Faults and samples that follow the event in the large trace.
  void beside(std::uint32_t i, std::uint32_t like) {
    const std::size_t end = like + 1 < parts_.places.size() ? parts_.places[like + 1] : parts_.large.events.size();
    for (std::size_t place = parts_.places[like] + 1; place < end; ++place) {
      hearth_event event = parts_.large.events[place];
      event.time_ns = now_;
      const auto first = first_.find(event.tensor);
      if (first == first_.end()) {
        const auto known = before_.find(event.tensor);
        if (known == before_.end()) continue;
        event.tensor = known->second.front();
      } else {
        const auto at = parts_.deepener.beside(i, first->second);
        if (!at || parts_.tensors.links[*at] == kAlone) continue;
        event.tensor = serial(parts_.tensors.links[*at]);
      }
      out_.push_back(event);
    }
  }

  const DeepParts& parts_;
  std::vector<hearth_event> out_;
  std::unordered_map<std::uint32_t, std::uint32_t> first_;               // compared event of each tensor
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> homes_;  // events of the new string, by tensor
  std::unordered_map<std::uint32_t, Serials> before_;                    // by tensor
  Serials serials_;  // of each event of the new string that is the first with its tensor
  std::uint64_t least_ = least_on_own_pages(parts_.large);
  std::uint32_t last_ = HEARTH_NO_ID;
  std::uint64_t now_ = 0;
};

}  // namespace

std::vector<hearth_event> deep_events(const DeepParts& parts) { return Writer(parts).written(); }

}  // namespace hearth::scale
