#include "runtime/torch_locator.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <initializer_list>
#include <string_view>

#include "base/text.h"
#include "platform/os_files.h"
#include "platform/os_process.h"

namespace hearth::runtime {
namespace {

constexpr std::string_view kC10 = "/libc10.so";

// substr that clamps instead of throwing.
constexpr std::string_view part(std::string_view text, std::size_t from, std::size_t count = std::string_view::npos) {
  text.remove_prefix(from < text.size() ? from : text.size());
  if (count < text.size()) text.remove_suffix(text.size() - count);
  return text;
}

constexpr std::string_view folder_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view{} : part(path, 0, slash);
}

int find_c10(dl_phdr_info* info, std::size_t, void* out) {
  const std::string_view path = info->dlpi_name != nullptr ? info->dlpi_name : "";
  const std::size_t at = path.rfind('/');
  if (at == std::string_view::npos || !part(path, at).starts_with(kC10)) return 0;
  auto& found = *static_cast<TorchFound*>(out);
  if (path.size() >= sizeof found.c10_path) return 0;
  std::memcpy(found.c10_path, path.data(), path.size());
  found.c10_path[path.size()] = '\0';
  found.loaded = true;
  return 1;
}

template <std::size_t N>
void copy_text(char (&out)[N], std::string_view text) {
  const std::size_t length = text.size() < N ? text.size() : N - 1;
  std::memcpy(out, text.data(), length);
  out[length] = '\0';
}

// "2.13.0+cpu" -> "2.13"; "" if it does not look like a version.
std::string_view major_minor(std::string_view version) {
  std::size_t dots = 0, i = 0;
  for (; i < version.size(); ++i) {
    if (version[i] == '.') {
      if (++dots == 2) break;
    } else if (version[i] < '0' || version[i] > '9') {
      break;
    }
  }
  return dots >= 1 ? part(version, 0, i) : std::string_view{};
}

void take_version(TorchFound& found, std::string_view text) {
  const std::string_view version = major_minor(text);
  if (version.empty()) return;
  copy_text(found.version, version);
  copy_text(found.full_version, text);
}

template <std::size_t N>
std::string_view read_text(const char* path, char (&buffer)[N]) {
  std::size_t length = 0;
  const int error = os::read_file(path, buffer, N, &length);
  return error == 0 || error == EFBIG ? std::string_view(buffer, length) : std::string_view{};
}

// The wheel's torch/version.py and the zip distribution's build-version lie one folder above lib/.
void version_from_files(TorchFound& found) {
  const std::string_view folder = folder_of(folder_of(found.c10_path));
  char content_buffer[1024];
  text::Buffer<600> path;
  path << folder << "/version.py";
  std::string_view content = read_text(path.c_str(), content_buffer);
  if (const std::size_t at = content.find("\n__version__"); at != std::string_view::npos) {
    const std::size_t open = content.find_first_of("'\"", at);
    const std::size_t close = open == std::string_view::npos ? open : content.find(content[open], open + 1);
    if (close != std::string_view::npos) take_version(found, part(content, open + 1, close - open - 1));
  }
  if (found.version[0] != '\0') return;
  path.clear();
  path << folder << "/build-version";
  content = read_text(path.c_str(), content_buffer);
  take_version(found, part(content, 0, content.find('\n')));
}

// Debian: libc10.so.1.13.
void version_from_soname(TorchFound& found) {
  const std::string_view path = found.c10_path;
  const std::string_view name = part(path, path.rfind('/') + kC10.size());
  if (name.starts_with('.')) take_version(found, part(name, 1));
}

const bool* find_flag(void* library, const char* plain, const char* gflags) {
  const void* symbol = dlsym(library, plain);              // PyTorch's own flags (wheels)
  if (symbol == nullptr) symbol = dlsym(library, gflags);  // built with gflags (Debian)
  return static_cast<const bool*>(symbol);
}

bool wants_huge_pages(void* library) {
  // c10_compute_alignment marks the versions that read THP_MEM_ALLOC_ENABLE (2.x); 1.13 ignores it, and so must we.
  const char* value = os::environment("THP_MEM_ALLOC_ENABLE");
  return value != nullptr && std::strcmp(value, "1") == 0 &&
         dlsym(library, "_ZN3c1021c10_compute_alignmentEm") != nullptr;
}

hearth_torch_attach_fn try_open(const char* path, char* why, std::size_t why_capacity) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    text::Writer(why, why_capacity) << (reason != nullptr ? reason : "cannot be opened");
    return nullptr;
  }
  return reinterpret_cast<hearth_torch_attach_fn>(dlsym(library, HEARTH_TORCH_ATTACH));
}

struct Search {
  const char* mangled;
  void* function;
};

bool is_ours(const void* address) {
  Dl_info theirs{}, ours{};
  return dladdr(address, &theirs) != 0 && dladdr(reinterpret_cast<const void*>(&locate_torch), &ours) != 0 &&
         theirs.dli_fbase == ours.dli_fbase;
}

int search_object(dl_phdr_info* info, std::size_t, void* out) {
  auto& search = *static_cast<Search*>(out);
  void* library = dlopen(info->dlpi_name, RTLD_NOLOAD | RTLD_LAZY);
  void* function = library != nullptr ? dlsym(library, search.mangled) : nullptr;
  if (function == nullptr || is_ours(function)) return 0;
  search.function = function;
  return 1;
}

}  // namespace

// The loader's record of it, made as the library was loaded: a relative name in LD_PRELOAD means something else once
// the program has changed its directory.
std::string_view own_folder() {
  static constinit char folder[PATH_MAX];
  Dl_info info{};
  void* library = nullptr;
  if (dladdr1(reinterpret_cast<const void*>(&locate_torch), &info, &library, RTLD_DL_LINKMAP) == 0) return {};
  return dlinfo(library, RTLD_DI_ORIGIN, folder) == 0 ? std::string_view(folder) : std::string_view{};
}

TorchFound locate_torch() {
  TorchFound found;
  dl_iterate_phdr(find_c10, &found);
  if (!found.loaded) return found;
  version_from_files(found);
  if (found.version[0] == '\0') version_from_soname(found);
  return found;
}

bool resolve_allocator(const TorchFound& found, TorchAllocator& out) {
  if (!found.loaded) return false;
  // RTLD_NEXT does not see it: Python loads libtorch outside the global scope. The handle is kept: we need it for life.
  void* library = dlopen(found.c10_path, RTLD_NOLOAD | RTLD_LAZY);
  if (library == nullptr) return false;
  out.zero_fill = find_flag(library, "FLAGS_caffe2_cpu_allocator_do_zero_fill",
                            "_ZN3fLB39FLAGS_caffe2_cpu_allocator_do_zero_fillE");
  out.junk_fill = find_flag(library, "FLAGS_caffe2_cpu_allocator_do_junk_fill",
                            "_ZN3fLB39FLAGS_caffe2_cpu_allocator_do_junk_fillE");
  out.numa = find_flag(library, "FLAGS_caffe2_cpu_numa_enabled", "_ZN3fLB29FLAGS_caffe2_cpu_numa_enabledE");
  out.huge_pages = wants_huge_pages(library);
  out.release = reinterpret_cast<void (*)(void*)>(dlsym(library, "_ZN3c108free_cpuEPv"));
  out.allocate = reinterpret_cast<void* (*)(std::size_t)>(dlsym(library, "_ZN3c109alloc_cpuEm"));
  return out.allocate != nullptr && out.release != nullptr;
}

void* find_function(const TorchFound& found, const char* mangled) {
  void* library = found.loaded ? dlopen(found.c10_path, RTLD_NOLOAD | RTLD_LAZY) : nullptr;
  void* function = library != nullptr ? dlsym(library, mangled) : nullptr;
  if (function != nullptr) return function;
  // A PyTorch linked into one library of another name: whoever defines it, except ourselves.
  Search search{mangled, nullptr};
  dl_iterate_phdr(search_object, &search);
  return search.function;
}

hearth_torch_attach_fn open_adapter(const TorchFound& found, const char* override_path, char* path_out,
                                    std::size_t path_capacity, char* why, std::size_t why_capacity) {
  why[0] = '\0';
  path_out[0] = '\0';
  if (override_path[0] != '\0') {
    text::Writer(path_out, path_capacity) << override_path;
    return try_open(override_path, why, why_capacity);
  }
  if (found.version[0] == '\0') {
    text::Writer(why, why_capacity) << "the version of this PyTorch is unknown";
    return nullptr;
  }
  for (const char* abi : {"1", "0"}) {
    text::Buffer<768> path;
    path << own_folder() << "/libhearth_torch-" << found.version << "-abi" << abi << ".so";
    if (::access(path.c_str(), R_OK) != 0) continue;
    text::Writer(path_out, path_capacity) << path.view();
    if (const auto attach = try_open(path.c_str(), why, why_capacity); attach != nullptr) return attach;
  }
  if (why[0] == '\0') text::Writer(why, why_capacity) << "no adapter was built for this PyTorch";
  return nullptr;
}

}  // namespace hearth::runtime
