#include "attach.h"

#include <ATen/Version.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "allocator.h"
#include "callbacks.h"
#include "module_hooks.h"
#include "operators.h"
#include "torch_compat.h"

namespace hearth::adapter {

const hearth_bridge* g_bridge = nullptr;

void log(LogLevel level, const char* message) { g_bridge->log(static_cast<unsigned>(level), message); }

namespace {

// Wheels name their libraries alike in every version, so the loader lets a wrong pair pass.
bool versions_match() {
  constexpr char kKey[] = "TORCH_VERSION=";
  const std::string config = at::show_config();
  const std::size_t found = config.find(kKey);
  if (found == std::string::npos) return true;  // a distributor's build may not tell
  const std::string built = TORCH_VERSION;
  const std::string line = built.substr(0, built.find('.', built.find('.') + 1) + 1);  // "2.13."
  return config.compare(found + sizeof kKey - 1, line.size(), line) == 0;
}

int attach(const hearth_bridge* bridge, hearth_adapter* adapter) {
  if (bridge == nullptr || adapter == nullptr) return EINVAL;
  if (bridge->version == 0 || bridge->size < HEARTH_BRIDGE_SIZE_V1 || adapter->size < sizeof *adapter) return EPROTO;
  if (g_bridge != nullptr) return EALREADY;
  g_bridge = bridge;
  if (!versions_match()) {
    log(LogLevel::warning, "this adapter was built for PyTorch " TORCH_VERSION
                           ", another version is loaded; "
                           "run scripts/setup again with the interpreter in use");
    return ENOEXEC;
  }
  if (!layout_matches()) {
    log(LogLevel::warning, "PyTorch's RecordFunction is not laid out as in the headers of " TORCH_VERSION
                           "; rebuild the adapter against the headers of the PyTorch in use");
    return ENOEXEC;
  }
  watch_operator_registrations();
  adapter->version = HEARTH_BRIDGE_VERSION;
  adapter->size = sizeof *adapter;
  adapter->torch_version = TORCH_VERSION;
  adapter->cxx11_abi = _GLIBCXX_USE_CXX11_ABI;
  adapter->set_level = [](std::uint32_t level) noexcept { return set_level(level); };
  adapter->watch_modules = [](int on) noexcept { return watch_modules(on != 0); };
  adapter->touch_allocator = []() noexcept { return touch_allocator(); };
  adapter->install_allocator = []() noexcept { return install_allocator(); };
  return 0;
}

}  // namespace
}  // namespace hearth::adapter

extern "C" __attribute__((visibility("default"))) int hearth_torch_attach(const hearth_bridge* bridge,
                                                                          hearth_adapter* adapter) {
  try {
    return hearth::adapter::attach(bridge, adapter);
  } catch (...) {
    return EIO;
  }
}
