#include "machine/moves.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/text.h"
#include "machine/bandwidth.h"
#include "machine/crew.h"
#include "platform/os_clock.h"
#include "platform/os_memory.h"

namespace hearth::machine {
namespace {

constexpr std::size_t kSmall = 4096;
constexpr std::size_t kHuge = std::size_t{2} << 20;
// Parts of the pages that may stay behind, pinned by something that passes.
constexpr double kMayStay = 0.02;

os::NodeMask only(unsigned node) {
  os::NodeMask mask;
  mask.set(node);
  return mask;
}

// One address for each page; a huge page moves as a whole by any address of it.
std::vector<void*> addresses(char* data, std::size_t bytes, PageSize pages) {
  std::vector<void*> list;
  for (std::size_t at = 0; at < bytes; at += pages == PageSize::huge ? kHuge : kSmall) list.push_back(data + at);
  return list;
}

// What the moves of all slices came to: the first error of a call; 0 = none.
int move_all(const Area& area, PageSize pages, unsigned threads, unsigned to, double* seconds) {
  std::vector<int> errors(threads);
  *seconds = timed_together(threads, [&](unsigned slice) {
    const std::size_t batch = kHuge / kSmall;
    std::vector<void*> list = addresses(area.slice(slice), area.slice_bytes(), pages);
    std::vector<int> status(batch);
    for (std::size_t at = 0; at < list.size() && errors[slice] == 0; at += batch) {
      const std::size_t count = std::min(batch, list.size() - at);
      errors[slice] = os::move_pages(list.data() + at, count, static_cast<int>(to), status.data());
    }
  });
  const auto failed = std::find_if(errors.begin(), errors.end(), [](int error) { return error != 0; });
  return failed != errors.end() ? *failed : 0;
}

std::string not_there(const Area& area, unsigned node) {
  std::vector<void*> list = addresses(area.data(), area.bytes(), PageSize::small);
  std::vector<int> status(list.size(), -1);
  if (os::where_are(list.data(), list.size(), status.data()) != 0) return "the kernel does not tell where pages are";
  const auto there = std::count(status.begin(), status.end(), static_cast<int>(node));
  const double stayed = 1 - static_cast<double>(there) / static_cast<double>(list.size());
  if (stayed <= kMayStay) return "";
  return std::to_string(static_cast<int>(100 * stayed)) + " % of the pages did not move to node " +
         std::to_string(node);
}

}  // namespace

Moves measure_moves(unsigned from, unsigned to, PageSize pages, unsigned threads, std::size_t bytes, unsigned repeats) {
  Moves result{pages, threads, true, {}, {}, ""};
  const Area area(bytes, only(from), threads, pages);
  result.problem = area.problem();
  std::vector<double> speeds[2];
  for (unsigned i = 0; i < 2 * repeats && result.problem.empty(); ++i) {
    const unsigned target = i % 2 == 0 ? to : from;
    double seconds = 0;
    const int error = move_all(area, pages, threads, target, &seconds);
    if (error != 0) {
      text::Buffer<96> text;
      text << "move_pages: " << text::Errno{error};
      result.problem = text.view();
    } else {
      result.problem = not_there(area, target);
    }
    speeds[i % 2].push_back(static_cast<double>(area.bytes()) / seconds);
  }
  if (!result.problem.empty()) return result;
  result.there = figure_of(speeds[0]);
  result.back = figure_of(speeds[1]);
  return result;
}

Moves measure_page_copy(unsigned node, PageSize pages, unsigned threads, std::size_t bytes, unsigned repeats) {
  Moves result{pages, threads, false, {}, {}, ""};
  const Area from(bytes, only(node), threads, pages);
  const Area to(bytes, only(node), threads, pages);
  result.problem = from.problem().empty() ? to.problem() : from.problem();
  if (!result.problem.empty()) return result;
  result.there = repeated(repeats, [&] {
    const double seconds = timed_together(
        threads, [&](unsigned slice) { copy_all(to.slice(slice), from.slice(slice), from.slice_bytes()); });
    return static_cast<double>(from.bytes()) / seconds;
  });
  result.back = result.there;
  return result;
}

Figure measure_first_touch(std::size_t pages, unsigned repeats) {
  std::vector<double> times;
  for (unsigned i = 0; i < repeats; ++i) {
    auto* memory = static_cast<char*>(os::reserve(pages * kSmall, kHuge));
    if (memory == nullptr || os::commit(memory, pages * kSmall) != 0) break;
    os::advise_small(memory, pages * kSmall);
    const std::uint64_t begin = os::monotonic_ns();
    for (std::size_t page = 0; page < pages; ++page) static_cast<volatile char*>(memory)[page * kSmall] = 1;
    times.push_back(static_cast<double>(os::monotonic_ns() - begin) / static_cast<double>(pages));
    os::unmap(memory, pages * kSmall);
  }
  return figure_of(times);
}

}  // namespace hearth::machine
