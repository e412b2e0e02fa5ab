#include "config/knobs.h"

#include <sys/auxv.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <type_traits>

#include "config/config_file.h"
#include "config/parse.h"

namespace hearth::config {
namespace {

static_assert(std::is_trivially_destructible_v<Knobs> && std::is_standard_layout_v<Knobs>);

constexpr bool defaults_are_valid() {
  for (const KnobRow& row : kKnobs) {
    if (parse_value(row, row.default_text).verdict != Verdict::ok) return false;
  }
  return true;
}
static_assert(defaults_are_valid(), "a default in knob_table.h is not a value of its kind and range");

void store(Knobs& knobs, const KnobRow& row, std::string_view text, std::uint64_t number) {
  char* member = reinterpret_cast<char*>(&knobs) + row.offset;
  switch (row.kind) {
    case Kind::boolean:
    case Kind::choice: {
      // Every enum of a choice is one byte (knob_types.h).
      const auto byte = static_cast<std::uint8_t>(number);
      std::memcpy(member, &byte, sizeof byte);
      break;
    }
    case Kind::integer:
    case Kind::count:
    case Kind::size:
    case Kind::share:
    case Kind::weights:
      std::memcpy(member, &number, sizeof number);
      break;
    case Kind::path:
    case Kind::text:
      std::memcpy(member, text.data(), text.size());
      member[text.size()] = '\0';
      break;
  }
}

// A value may hold anything; a message is one line.
void quote(text::Writer& out, std::string_view text) {
  constexpr std::size_t kShown = 64;
  for (std::size_t i = 0; i < text.size() && i < kShown; ++i) {
    const bool control = static_cast<unsigned char>(text[i]) < ' ' || text[i] == '\x7f';
    out << (control ? '?' : text[i]);
  }
  if (text.size() > kShown) out << "...";
}

void explain(text::Writer& out, const KnobRow& row, Verdict verdict) {
  if (verdict == Verdict::out_of_range) {
    out << "out of range " << row.range;
    return;
  }
  switch (row.kind) {
    case Kind::boolean:
      out << "not a switch (use 1 or 0, on or off, true or false, yes or no)";
      break;
    case Kind::integer:
      out << "not a whole number in " << row.range;
      break;
    case Kind::count:
      out << "not a number (use e.g. 65536, 4M)";
      break;
    case Kind::size:
      out << "not a size (use e.g. 16K, 2M)";
      break;
    case Kind::share:
      out << "not a size or a percentage (use e.g. 512M, 20%)";
      break;
    case Kind::weights:
      out << "neither a percentage nor weights of fast and slow up to " << Weights::kMost << " (use e.g. 50, 1:2)";
      break;
    case Kind::choice:
      out << "not one of " << row.range;
      break;
    case Kind::path:
    case Kind::text:
      out << "longer than " << kPathCapacity - 1 << " bytes";
      break;
  }
}

class Loader {
 public:
  Loader(Knobs& knobs, KnobOrigins& origins, Problems& problems)
      : knobs_(knobs), origins_(origins), problems_(problems) {}

  void built_in() {
    for (std::size_t i = 0; i < kKnobs.size(); ++i) {
      store(knobs_, kKnobs[i], kKnobs[i].default_text, parse_value(kKnobs[i], kKnobs[i].default_text).value);
      origins_.of[i] = Origin::built_in;
    }
  }

  void file(const char* path, Origin origin, bool must_exist) {
    FileContext context{this, path, origin};
    const int error = read_config_file(path, &Loader::take_line, &context, problems_);
    if (error == 0 || (error == ENOENT && !must_exist)) return;
    text::Writer out = problems_.add();
    quote(out, path);
    out << ": cannot be read: " << text::Errno{error} << "; going on without this configuration file";
  }

  // The first of several entries of one name counts, as for getenv.
  void environment(const char* const* entries, const KnobRow* only) {
    for (; entries != nullptr && *entries != nullptr; ++entries) {
      std::string_view value(*entries);
      const std::string_view name = take_until(value, '=');
      if (!name.starts_with(kPrefix) || name == kPrefix) continue;
      const KnobRow* row = find_knob(name);
      if (only != nullptr && row != only) continue;
      if (row == nullptr) {
        text::Writer out = problems_.add();
        unknown(out, name);
      } else if (bool& seen = seen_[static_cast<std::size_t>(row - kKnobs.data())]; !seen) {
        seen = true;
        assign(*row, value, Origin::environment, nullptr, 0);
      }
    }
  }

 private:
  struct FileContext {
    Loader* loader;
    const char* path;
    Origin origin;
  };

  static void where(text::Writer& out, const char* path, std::uint32_t line) {
    if (path == nullptr) return;
    quote(out, path);
    out << ":" << line << ": ";
  }

  static void take_line(void* context, std::uint32_t line, std::string_view name, std::string_view value) {
    const auto* file = static_cast<FileContext*>(context);
    const KnobRow* row = find_knob(name);
    if (row == nullptr) {
      text::Writer out = file->loader->problems_.add();
      where(out, file->path, line);
      unknown(out, name);
    } else if (file->origin == Origin::user_file && row->offset == offsetof(Knobs, config)) {
      text::Writer out = file->loader->problems_.add();
      where(out, file->path, line);
      out << row->name << " has no effect here; set it in the environment or in " << kSystemFile;
    } else {
      file->loader->assign(*row, value, file->origin, file->path, line);
    }
  }

  static void unknown(text::Writer& out, std::string_view name) {
    quote(out, name);
    const std::string_view near = nearest_knob(name);
    if (near.empty()) {
      out << ": no such knob; `hearth knobs` lists them";
    } else {
      out << ": no such knob; did you mean " << near << "?";
    }
  }

  void assign(const KnobRow& row, std::string_view value, Origin origin, const char* path, std::uint32_t line) {
    std::string_view text = trim(value);
    if (text.empty()) text = row.default_text;
    const Parsed parsed = parse_value(row, text);
    if (parsed.verdict == Verdict::ok) {
      store(knobs_, row, text, parsed.value);
      origins_.of[&row - kKnobs.data()] = origin;
      return;
    }
    text::Writer out = problems_.add();
    where(out, path, line);
    out << row.name << "=";
    quote(out, text);
    out << ": ";
    explain(out, row, parsed.verdict);
    char kept[kPathCapacity];
    const std::size_t length = format_value(knobs_, row, kept, sizeof kept);
    out << "; using " << (length > 0 ? std::string_view(kept, length) : std::string_view("none"));
  }

  Knobs& knobs_;
  KnobOrigins& origins_;
  Problems& problems_;
  bool seen_[kKnobs.size()] = {};
};

}  // namespace

Sources process_sources() {
  return {.environment = environ, .system_file = kSystemFile, .secure = getauxval(AT_SECURE) != 0};
}

void load(Knobs& knobs, KnobOrigins& origins, Problems& problems, const Sources& sources) {
  const char* const* environment = sources.secure ? nullptr : sources.environment;
  Loader loader(knobs, origins, problems);
  loader.built_in();
  if (sources.system_file != nullptr) loader.file(sources.system_file, Origin::system_file, false);
  loader.environment(environment, &kKnobs[static_cast<std::size_t>(KnobIndex::config)]);
  if (!knobs.config.empty()) {
    char path[kPathCapacity];
    if (expand_path(knobs.config.text, path, sizeof path) > 0) loader.file(path, Origin::user_file, true);
  }
  loader.environment(environment, nullptr);
}

}  // namespace hearth::config
