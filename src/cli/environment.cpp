#include "cli/environment.h"

#include <unistd.h>

#include <algorithm>

namespace hearth::cli {
namespace {

std::string_view base_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool is_sanitizer(std::string_view entry) {
  const std::string_view name = base_name(entry);
  return std::ranges::any_of(std::vector<std::string_view>{"libasan.", "libtsan.", "liblsan.", "libclang_rt."},
                             [&](std::string_view start) { return name.starts_with(start); });
}

void append(std::string& list, std::string_view entry) {
  if (!list.empty()) list += ':';
  list += entry;
}

}  // namespace

Variables inherited() {
  Variables variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    // The first of two equal names counts, as for getenv; emplace keeps it.
    variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

PreloadList preload_first(std::string_view existing, const std::string& library) {
  PreloadList result;
  std::string others;
  while (!existing.empty()) {
    const std::size_t length = std::min(existing.find_first_of(" :"), existing.size());
    const std::string_view entry = existing.substr(0, length);
    existing.remove_prefix(std::min(length + 1, existing.size()));
    if (entry.empty()) continue;
    if (base_name(entry) == base_name(library)) {
      if (entry != library) result.replaced.emplace_back(entry);
    } else {
      append(is_sanitizer(entry) ? result.value : others, entry);
    }
  }
  append(result.value, library);
  if (!others.empty()) append(result.value, others);
  return result;
}

std::string shell_quoted(std::string_view text) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,+@%^";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos) return std::string(text);
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::vector<std::string> as_entries(const Variables& variables) {
  std::vector<std::string> entries;
  for (const auto& [name, value] : variables) entries.push_back(name + "=" + value);
  return entries;
}

std::vector<char*> as_pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace hearth::cli
