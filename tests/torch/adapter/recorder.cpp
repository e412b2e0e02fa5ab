// A runtime for the adapter's tests: implements hearth_bridge by writing every call down, and drives the adapter's
// table. Loaded by the Python tests with ctypes (recorder.py); one line of text per event, see record().
#include <dlfcn.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/bridge_abi.h"

namespace {

std::mutex g_mutex;
std::vector<std::string> g_lines;
std::map<std::string, std::uint32_t> g_ids;
std::atomic<std::uint64_t> g_events{0};
std::atomic<bool> g_silent{false};  // count only: what is measured is the adapter
std::atomic<std::uint64_t> g_allocations{0};
std::atomic<std::uint64_t> g_releases{0};
std::atomic<std::uint32_t> g_threads{0};
thread_local std::uint32_t t_thread = 0;
hearth_adapter g_adapter{};
std::string g_text;

// What to do at the next event of a kind: change the level from inside the callback.
struct Trigger {
  std::atomic<char> kind{0};
  std::uint32_t level = 0;
  std::atomic<int> status{-1};
} g_trigger;

// Before record(): its variable arguments alone would cost as much as what is measured.
inline bool silent() {
  if (!g_silent.load(std::memory_order_relaxed)) return false;
  g_events.store(g_events.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  return true;
}

// "<kind> <thread> <numbers...>"
void record(char kind, const char* format, ...) {
  if (t_thread == 0) t_thread = ++g_threads;
  char text[160];
  const int length = std::snprintf(text, sizeof text, "%c %u ", kind, t_thread);
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text + length, sizeof text - static_cast<std::size_t>(length), format, arguments);
  va_end(arguments);
  {
    const std::lock_guard<std::mutex> lock(g_mutex);
    g_lines.emplace_back(text);
  }
  char expected = kind;
  if (g_trigger.kind.compare_exchange_strong(expected, 0)) g_trigger.status = g_adapter.set_level(g_trigger.level);
}

std::uint32_t intern(const char* text, std::uint64_t length) {
  const std::lock_guard<std::mutex> lock(g_mutex);
  const auto next = static_cast<std::uint32_t>(g_ids.size() + 1);
  return g_ids.try_emplace(std::string(text, length), next).first->second;
}
void op_begin(std::uint32_t name, std::uint32_t scope, std::int64_t sequence) {
  if (silent()) return;
  record('B', "%u %u %lld", name, scope, static_cast<long long>(sequence));
}
void op_end() {
  if (silent()) return;
  record('E', "%d", 0);
}
void operand(const void* storage, std::uint64_t bytes, std::uint64_t view, std::uint32_t access) {
  if (silent()) return;
  record('O', "%llu %llu %llu %u", static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(storage)),
         static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(view), access);
}
void gather(const void* storage, std::uint64_t bytes, std::uint64_t rows, std::uint64_t row, std::uint32_t access) {
  if (silent()) return;
  record('G', "%llu %llu %llu %llu %u", static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(storage)),
         static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(rows),
         static_cast<unsigned long long>(row), access);
}
void step_begin(std::uint32_t name, std::uint64_t optimizer) {
  record('S', "%u %llu", name, static_cast<unsigned long long>(optimizer));
}
void step_end(std::uint32_t name, std::uint64_t optimizer) {
  record('s', "%u %llu", name, static_cast<unsigned long long>(optimizer));
}
void module_enter(std::uint32_t name) { record('M', "%u", name); }
void module_exit(std::uint32_t name) { record('m', "%u", name); }
void* allocate(std::uint64_t bytes) {
  g_allocations.fetch_add(1);
  void* memory = nullptr;
  return posix_memalign(&memory, 64, bytes) == 0 ? memory : nullptr;
}
void release(void* pointer) {
  if (pointer == nullptr) return;
  g_releases.fetch_add(1);
  std::free(pointer);
}
void log_line(std::uint32_t level, const char* message) { std::fprintf(stderr, "recorder %u: %s\n", level, message); }

hearth_bridge g_bridge = {
    HEARTH_BRIDGE_VERSION, sizeof(hearth_bridge), intern,   op_begin, op_end,   operand, step_begin, step_end,
    module_enter,          module_exit,           allocate, release,  log_line, gather};

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

// `version` and `size` say how old or new this runtime pretends to be.
EXPORT int recorder_attach(const char* adapter, std::uint32_t version, std::uint32_t size) {
  void* library = dlopen(adapter, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return -1;
  }
  hearth_torch_attach_fn attach = nullptr;
  void* symbol = dlsym(library, HEARTH_TORCH_ATTACH);
  std::memcpy(&attach, &symbol, sizeof symbol);
  if (attach == nullptr) return -1;
  g_adapter.version = HEARTH_BRIDGE_VERSION;
  g_adapter.size = sizeof g_adapter;
  g_bridge.version = version;
  g_bridge.size = size;
  if (size < sizeof g_bridge) g_bridge.gather = nullptr;
  return attach(&g_bridge, &g_adapter);
}
EXPORT std::uint32_t recorder_bridge_version() { return HEARTH_BRIDGE_VERSION; }
EXPORT std::uint32_t recorder_bridge_size(std::uint32_t version) {
  return version == 1 ? HEARTH_BRIDGE_SIZE_V1 : sizeof(hearth_bridge);
}
EXPORT int recorder_level(std::uint32_t level) { return g_adapter.set_level(level); }
EXPORT int recorder_modules(int on) { return g_adapter.watch_modules(on); }
EXPORT int recorder_touch() { return g_adapter.touch_allocator(); }
EXPORT int recorder_install() { return g_adapter.install_allocator(); }
EXPORT const char* recorder_version() { return g_adapter.torch_version; }
EXPORT void recorder_silent(int on) { g_silent = on != 0; }
EXPORT std::uint64_t recorder_events() { return g_events; }
EXPORT std::uint64_t recorder_allocations() { return g_allocations; }
EXPORT std::uint64_t recorder_releases() { return g_releases; }
EXPORT void recorder_level_at(char kind, std::uint32_t level) {
  g_trigger.status = -1;
  g_trigger.level = level;
  g_trigger.kind = kind;
}
EXPORT int recorder_level_status() { return g_trigger.status; }

// Everything recorded since the last call, a line "names", then the names ("<id>\t<text>"); valid until the next call.
EXPORT const char* recorder_take() {
  const std::lock_guard<std::mutex> lock(g_mutex);
  g_text.clear();
  for (const std::string& line : g_lines) g_text += line + '\n';
  g_text += "names\n";
  for (const auto& [text, id] : g_ids) g_text += std::to_string(id) + '\t' + text + '\n';
  g_lines.clear();
  return g_text.c_str();
}
