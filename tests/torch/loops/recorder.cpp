// Records what the iteration detector would see of a PyTorch program: a stand-in for libhearth.so that loads the real
// adapter and writes every op mark, optimizer step, tensor allocation and free of the main thread to a file.
//
//   g++ -std=c++20 -O2 -shared -fPIC -I include -I src tests/torch/loops/recorder.cpp -o recorder.so
//   LD_PRELOAD=recorder.so RECORD_ADAPTER=libhearth_torch-2.13-abi1.so RECORD_TO=raw.txt python plain.py
//   python tests/torch/loops/compact.py raw.txt tests/data/loops/plain-2.13.txt
//
// A tool for developers, never loaded by users: it may allocate, lock and use stdio. One event a line:
//   N name     the next number, from 1, stands for this name
//   o number   an outermost op begins          n   a nested op begins
//   a bytes    a tensor is allocated           f   one is freed
//   S number optimizer / E number optimizer    a step begins / ends; optimizers are numbered from 1, 0 = unknown
#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "base/bridge_abi.h"

namespace {

using AllocFn = void* (*)(std::size_t);
using FreeFn = void (*)(void*);

AllocFn g_alloc = nullptr;
FreeFn g_free = nullptr;
std::FILE* g_out = nullptr;
thread_local bool t_is_main = false;
std::uint32_t g_depth = 0;

bool recording() { return t_is_main && g_out != nullptr; }

std::uint32_t intern(const char* text, std::uint64_t length) {
  static auto& ids = *new std::map<std::string, std::uint32_t>;
  const auto [place, added] = ids.try_emplace(std::string(text, length), static_cast<std::uint32_t>(ids.size() + 1));
  if (added) std::fprintf(g_out, "N %s\n", place->first.c_str());
  return place->second;
}

std::uint32_t optimizer_number(std::uint64_t identity) {
  static auto& numbers = *new std::map<std::uint64_t, std::uint32_t>{{0, 0}};
  return numbers.try_emplace(identity, static_cast<std::uint32_t>(numbers.size())).first->second;
}

void op_begin(std::uint32_t name, std::uint32_t, std::int64_t) {
  if (!recording()) return;
  if (g_depth++ == 0) {
    std::fprintf(g_out, "o %u\n", name);
  } else {
    std::fputs("n\n", g_out);
  }
}
void op_end() {
  if (recording()) --g_depth;
}
void operand(const void*, std::uint64_t, std::uint64_t, std::uint32_t) {}
void gather(const void*, std::uint64_t, std::uint64_t, std::uint64_t, std::uint32_t) {}
void step_begin(std::uint32_t name, std::uint64_t optimizer) {
  if (recording()) std::fprintf(g_out, "S %u %u\n", name, optimizer_number(optimizer));
}
void step_end(std::uint32_t name, std::uint64_t optimizer) {
  if (recording()) std::fprintf(g_out, "E %u %u\n", name, optimizer_number(optimizer));
}
void module_event(std::uint32_t) {}
void* allocate(std::uint64_t bytes) { return g_alloc(bytes); }
void release(void* pointer) { g_free(pointer); }
void log_line(std::uint32_t, const char* message) { std::fprintf(stderr, "recorder: %s\n", message); }

constexpr hearth_bridge kBridge{
    HEARTH_BRIDGE_VERSION, sizeof(hearth_bridge), intern,   op_begin, op_end,   operand, step_begin, step_end,
    module_event,          module_event,          allocate, release,  log_line, gather};
hearth_adapter g_adapter{};

int find_c10(dl_phdr_info* info, std::size_t, void* name) {
  if (std::strstr(info->dlpi_name, "/libc10.so") == nullptr) return 0;
  *static_cast<std::string*>(name) = info->dlpi_name;
  return 1;
}

void start() {
  std::string c10;
  dl_iterate_phdr(find_c10, &c10);
  void* library = dlopen(c10.c_str(), RTLD_NOLOAD | RTLD_LAZY);
  g_alloc = reinterpret_cast<AllocFn>(dlsym(library, "_ZN3c109alloc_cpuEm"));
  g_free = reinterpret_cast<FreeFn>(dlsym(library, "_ZN3c108free_cpuEPv"));
  g_out = std::fopen(std::getenv("RECORD_TO"), "w");
  t_is_main = true;
  void* adapter = dlopen(std::getenv("RECORD_ADAPTER"), RTLD_NOW | RTLD_LOCAL);
  if (adapter == nullptr) return log_line(0, dlerror());
  g_adapter.version = HEARTH_BRIDGE_VERSION;
  g_adapter.size = sizeof g_adapter;
  const auto attach = reinterpret_cast<hearth_torch_attach_fn>(dlsym(adapter, HEARTH_TORCH_ATTACH));
  if (attach(&kBridge, &g_adapter) != 0 || g_adapter.set_level(HEARTH_LEVEL_MARKS) != 0) log_line(0, "not attached");
}

}  // namespace

namespace c10 {

__attribute__((visibility("default"))) void* alloc_cpu(std::size_t bytes) {
  if (g_alloc == nullptr) start();
  if (recording() && bytes != 0) std::fprintf(g_out, "a %zu\n", bytes);
  return g_alloc(bytes);
}

__attribute__((visibility("default"))) void free_cpu(void* pointer) {
  if (recording() && pointer != nullptr) std::fputs("f\n", g_out);
  g_free(pointer);
}

}  // namespace c10
