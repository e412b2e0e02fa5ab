#include "cli/tiers_view.h"

#include <cmath>
#include <cstdint>
#include <string>

#include "report/layout.h"

namespace hearth::cli {
namespace {

using json = nlohmann::ordered_json;
using report::bytes_text;
using report::count_text;
using report::time_text;

std::string bytes_of(const json& value) { return bytes_text(value.get<double>()); }
std::string count_of(const json& value) { return count_text(value.get<std::uint64_t>()); }
std::string time_of(const json& value) { return time_text(value.get<double>()); }

void show_memory(TextPage& page, const json& tiers) {
  page.line(tiers.at("how").get<std::string>() + "; policy " + tiers.at("policy").get<std::string>());
  const bool limited = tiers.at("fast_capacity_bytes") != 0;
  page.line("fast memory: " + bytes_of(tiers.at("fast_peak_bytes")) + " at most, " +
            (limited ? bytes_of(tiers.at("fast_capacity_bytes")) + " allowed" : std::string("no limit")) + "; now " +
            bytes_of(tiers.at("fast_bytes")) + " fast, " + bytes_of(tiers.at("slow_bytes")) + " slow");
  if (tiers.at("pages_checked") != 0) {
    page.line("of " + count_of(tiers.at("pages_checked")) + " pages looked for, " +
              count_of(tiers.at("pages_as_booked")) + " lie where they should");
  }
}

void show_moves(TextPage& page, const json& tiers) {
  for (const char* way : {"to_fast", "to_slow"}) {
    const json& moves = tiers.at(way);
    page.line(std::string(way == std::string("to_fast") ? "to fast: " : "to slow: ") + bytes_of(moves.at("bytes")) +
              " in " + count_of(moves.at("requests")) + " moves, " + time_of(moves.at("busy_ns")));
  }
  const json& stayed = tiers.at("not_moved");
  page.line(bytes_of(stayed.at("bytes")) + " could not move (pinned " + count_of(stayed.at("busy")) +
            " times, target full " + count_of(stayed.at("no_memory")) + ", forbidden " +
            count_of(stayed.at("forbidden")) + ", node gone " + count_of(stayed.at("absent_node")) + ", other " +
            count_of(stayed.at("other")) + "); no room " + count_of(tiers.at("full")) + " times, late " +
            count_of(tiers.at("late")));
}

// "+1.8 %" of what was foreseen.
std::string difference_text(double measured, double foreseen) {
  const double percent = 100 * (measured / foreseen - 1);
  return (percent < 0 ? "-" : "+") + report::number_text(std::abs(percent), 1) + " %";
}

void show_steps(TextPage& page, const json& tiers) {
  const auto steady = tiers.find("steady");  // reports before there were steady figures have none
  const auto foreseen = tiers.find("foreseen");
  const bool measured = steady != tiers.end() && steady->at("iterations") != 0;
  const double count = measured ? steady->at("iterations").get<double>() : 1;
  const double step = measured ? steady->at("duration_ns").get<double>() / count : 0;
  if (foreseen != tiers.end()) {
    const auto expected = foreseen->at("step_ns").get<double>();
    std::string text = "a step: " + time_text(expected) + " foreseen";
    if (measured && expected > 0)
      text += ", " + time_text(step) + " measured (" + difference_text(step, expected) + ")";
    page.wrapped(text + "; foreseen all fast " + time_of(foreseen->at("all_fast_ns")) + ", all slow " +
                 time_of(foreseen->at("all_slow_ns")));
  } else if (measured) {
    page.line("a step: " + time_text(step) + " measured");
  }
  if (!measured) return;
  const auto each = [&](const char* name) { return steady->at(name).get<double>() / count; };
  page.wrapped("since all has settled, " + count_of(steady->at("iterations")) +
               " iterations: " + bytes_of(steady->at("fast_average_bytes")) + " fast on average; a step moved " +
               bytes_text(each("to_fast_bytes")) + " to fast and " + bytes_text(each("to_slow_bytes")) +
               " to slow, waited " + time_text(each("waited_ns")) + " for moves");
  const auto moves = steady->find("moves");
  if (moves == steady->end() || *moves == 0) return;
  const auto late = steady->at("late").get<std::uint64_t>();
  std::string text = "of " + count_of(*moves) + " planned moves " + count_text(late) + " came late";
  if (late != 0) text += ", by " + time_text(steady->at("late_ns").get<double>() / static_cast<double>(late)) + " each";
  page.line(text);
  if (!steady->contains("waits_tried") || steady->at("waits_tried") == 0) return;
  page.line("late fetches tried both ways: " + count_of(steady->at("waits_tried")) +
            ", of which the program waits for " + count_of(steady->at("waits_worth")));
}

void show_lists(TextPage& page, const json& tiers) {
  const auto lists = tiers.find("lists");
  if (lists == tiers.end()) return;
  page.wrapped("lists: " + bytes_of(lists->at("active_bytes")) + " active, " + bytes_of(lists->at("inactive_bytes")) +
               " inactive; of " + count_of(lists->at("accesses")) + " accesses " + count_of(lists->at("activated")) +
               " made active, " + count_of(lists->at("deactivated")) + " sent back");
  page.line("units of 64 KiB: " + count_of(lists->at("promotions")) + " promoted, " + count_of(lists->at("demotions")) +
            " demoted, " + count_of(lists->at("held_back")) + " held back");
}

void show_emulation(TextPage& page, const json& tiers) {
  const json& emulation = tiers.at("emulation");
  if (emulation.at("charges") == 0) return;
  page.line("emulated, not measured on such memory: " + count_of(emulation.at("charges")) + " ops waited " +
            time_of(emulation.at("charged_ns")) + " for the memory of either tier; the delays were " +
            time_of(emulation.at("overshoot_ns")) + " too long");
}

}  // namespace

void show_tiers(TextPage& page, const json& document) {
  const auto found = document.find("tiers");  // reports before there were tiers have none
  if (found == document.end() || !found->at("present").get<bool>()) return;
  page.heading("Tiers");
  show_memory(page, *found);
  show_steps(page, *found);
  show_moves(page, *found);
  show_lists(page, *found);
  show_emulation(page, *found);
  if (found->contains("account")) show_account(page, document, *found);
}

}  // namespace hearth::cli
