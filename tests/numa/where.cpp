// where PID RANGE...: on which memory node the pages of a process lie, asked from outside it.
//
//   RANGE  FROM-TO in hexadecimal, as in /proc/PID/maps
//          anonymous[:BYTES]  every private, writable mapping without a file that is at least so large
//
// One line a range: 'FROM-TO pages=N node0=N node1=N absent=N failed=N', and one that begins with 'total'. 'absent' has
// no memory; 'failed' is another error of the kernel, the last of which is named on standard error. move_pages without
// target nodes: it asks and moves nothing.
#include <unistd.h>

#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

struct Range {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};

struct Pages {
  std::uint64_t all = 0;
  std::map<int, std::uint64_t> of_node;
  std::uint64_t absent = 0;
  std::uint64_t failed = 0;

  void add(const Pages& other) {
    all += other.all;
    absent += other.absent;
    failed += other.failed;
    for (const auto& [node, count] : other.of_node) of_node[node] += count;
  }
};

bool parse_number(std::string_view text, int base, std::uint64_t* value) {
  const auto result = std::from_chars(text.data(), text.data() + text.size(), *value, base);
  return result.ec == std::errc() && result.ptr == text.data() + text.size() && !text.empty();
}

bool parse_range(std::string_view text, Range* range) {
  const std::size_t dash = text.find('-');
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  if (dash == std::string_view::npos || !parse_number(text.substr(0, dash), 16, &begin) ||
      !parse_number(text.substr(dash + 1), 16, &end) || begin >= end) {
    return false;
  }
  *range = {begin, end};
  return true;
}

// Mappings like '7f0-7f8 rw-p 00000000 00:00 0 [heap]': what malloc and mmap give, and what a tensor lies in.
std::vector<Range> anonymous_mappings(int pid, std::uint64_t least) {
  std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
  std::vector<Range> found;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream fields(line);
    std::string addresses, permissions, offset, device, inode, name;
    fields >> addresses >> permissions >> offset >> device >> inode >> name;
    Range range;
    const bool is_anonymous = inode == "0" && (name.empty() || name == "[heap]" || name.starts_with("[anon:"));
    if (is_anonymous && permissions.starts_with("rw") && permissions.ends_with("p") && parse_range(addresses, &range) &&
        range.end - range.begin >= least) {
      found.push_back(range);
    }
  }
  return found;
}

// False if the kernel answers nothing at all about this process.
bool query(int pid, Range range, Pages* pages) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  constexpr std::size_t kBatch = 4096;
  std::vector<void*> addresses;
  std::vector<int> status(kBatch);
  for (std::uintptr_t at = range.begin & ~(page - 1); at < range.end;) {
    addresses.clear();
    for (; at < range.end && addresses.size() < kBatch; at += page) addresses.push_back(reinterpret_cast<void*>(at));
    if (syscall(SYS_move_pages, pid, addresses.size(), addresses.data(), nullptr, status.data(), 0) != 0) return false;
    pages->all += addresses.size();
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      if (status[i] >= 0) {
        ++pages->of_node[status[i]];
      } else if (status[i] == -ENOENT || status[i] == -EFAULT) {
        ++pages->absent;  // never touched; EFAULT before Linux 6.6 and for the shared page of zeros
      } else {
        ++pages->failed;
        errno = -status[i];
      }
    }
  }
  return true;
}

void print(const char* title, const Pages& pages) {
  std::printf("%s pages=%llu", title, static_cast<unsigned long long>(pages.all));
  for (const auto& [node, count] : pages.of_node)
    std::printf(" node%d=%llu", node, static_cast<unsigned long long>(count));
  std::printf(" absent=%llu failed=%llu\n", static_cast<unsigned long long>(pages.absent),
              static_cast<unsigned long long>(pages.failed));
}

int usage() {
  std::fputs("usage: where PID (FROM-TO | anonymous[:BYTES])...\n", stderr);
  return 2;
}

}  // namespace

int main(int count, char** words) {
  std::uint64_t pid = 0;
  if (count < 3 || !parse_number(words[1], 10, &pid)) return usage();
  std::vector<Range> ranges;
  for (int i = 2; i < count; ++i) {
    const std::string_view word = words[i];
    constexpr std::string_view kAnonymous = "anonymous";
    std::uint64_t least = 1;
    Range range;
    if (word == kAnonymous || (word.starts_with("anonymous:") && parse_number(word.substr(10), 10, &least))) {
      const std::vector<Range> found = anonymous_mappings(static_cast<int>(pid), least);
      ranges.insert(ranges.end(), found.begin(), found.end());
    } else if (parse_range(word, &range)) {
      ranges.push_back(range);
    } else {
      return usage();
    }
  }
  Pages total;
  for (const Range& range : ranges) {
    Pages pages;
    errno = 0;
    if (!query(static_cast<int>(pid), range, &pages)) {
      std::fprintf(stderr, "where: process %d: %s\n", static_cast<int>(pid), std::strerror(errno));
      return 1;
    }
    if (pages.failed != 0) std::fprintf(stderr, "where: some pages: %s\n", std::strerror(errno));
    char title[40];
    std::snprintf(title, sizeof title, "%lx-%lx", range.begin, range.end);
    print(title, pages);
    total.add(pages);
  }
  print("total", total);
  return 0;
}
