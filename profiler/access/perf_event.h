// Which perf_event attributes sample memory with addresses on this processor, and opening them.
// Thread-safety: any thread; no malloc, no libc state.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>

#include "access/perf_sampler.h"

namespace hearth::access {

// The attribute sets to try for an event, best first.
struct PerfRecipes {
  perf_event_attr attributes[2];
  std::uint32_t count;  // 0: this processor has none
};

enum class Vendor : std::uint8_t { intel, amd, other };

Vendor processor_vendor();
// `ibs_type`: number of the ibs_op PMU in /sys/bus/event_source/devices, 0 if there is none.
PerfRecipes recipes(PerfEvent event, const PerfOptions& options, Vendor vendor, std::uint32_t ibs_type);
std::uint32_t ibs_op_type();

// Descriptor >= 0, or -errno.
long open_perf_event(const perf_event_attr& attributes, std::int32_t thread);
PerfStatus status_of_error(PerfEvent event, long error);

}  // namespace hearth::access
