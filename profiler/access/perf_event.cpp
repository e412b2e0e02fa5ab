#include "access/perf_event.h"

#include <time.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <cerrno>
#include <cstring>

#include "access/raw_syscall.h"
#include "platform/os_files.h"

namespace hearth::access {

namespace {

// Intel SDM volume 3, PEBS data address events; the same encodings since Skylake.
constexpr std::uint64_t kLoadLatency = 0x1cd;  // MEM_TRANS_RETIRED.LOAD_LATENCY, threshold in config1
constexpr std::uint64_t kLoadThreshold = 3;    // cycles: the smallest the hardware takes, i.e. every load
constexpr std::uint64_t kAllLoads = 0x81d0;    // MEM_INST_RETIRED.ALL_LOADS
constexpr std::uint64_t kAllStores = 0x82d0;   // MEM_INST_RETIRED.ALL_STORES
// AMD: IBS op counts dispatched ops (bit 19 of the control register) in this config of the ibs_op PMU.
constexpr std::uint64_t kIbsCountDispatched = std::uint64_t{1} << 19;

perf_event_attr base_attributes() {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  // Order in the record: tid, time, addr, then data_src where asked for.
  attributes.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  attributes.use_clockid = 1;
  attributes.clockid = CLOCK_MONOTONIC;
  return attributes;
}

perf_event_attr page_fault_attributes() {
  perf_event_attr attributes = base_attributes();
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_PAGE_FAULTS;
  attributes.sample_period = 1;
  return attributes;
}

perf_event_attr memory_attributes(std::uint32_t type, std::uint64_t config, std::uint32_t period) {
  perf_event_attr attributes = base_attributes();
  attributes.type = type;
  attributes.config = config;
  attributes.sample_period = period;
  attributes.sample_type |= PERF_SAMPLE_DATA_SRC;
  attributes.precise_ip = 2;
  return attributes;
}

}  // namespace

Vendor processor_vendor() {
#if defined(__x86_64__)
  unsigned highest = 0;
  unsigned name[3] = {};
  if (__get_cpuid(0, &highest, &name[0], &name[2], &name[1]) != 0) {
    if (std::memcmp(name, "GenuineIntel", sizeof name) == 0) return Vendor::intel;
    if (std::memcmp(name, "AuthenticAMD", sizeof name) == 0) return Vendor::amd;
  }
#endif
  return Vendor::other;
}

std::uint32_t ibs_op_type() {
  char content[32];
  std::size_t length = 0;
  if (os::read_file("/sys/bus/event_source/devices/ibs_op/type", content, sizeof content, &length) != 0) return 0;
  std::uint32_t type = 0;
  for (std::size_t i = 0; i < length && content[i] >= '0' && content[i] <= '9'; ++i) {
    type = type * 10 + static_cast<std::uint32_t>(content[i] - '0');
  }
  return type;
}

PerfRecipes recipes(PerfEvent event, const PerfOptions& options, Vendor vendor, std::uint32_t ibs_type) {
  const std::uint32_t period = options.memory_period;
  if (event == PerfEvent::page_faults) return {{page_fault_attributes(), {}}, 1};
  if (vendor == Vendor::intel && event == PerfEvent::loads) {
    PerfRecipes both{
        {memory_attributes(PERF_TYPE_RAW, kLoadLatency, period), memory_attributes(PERF_TYPE_RAW, kAllLoads, period)},
        2};
    both.attributes[0].config1 = kLoadThreshold;
    return both;
  }
  if (vendor == Vendor::intel) return {{memory_attributes(PERF_TYPE_RAW, kAllStores, period), {}}, 1};
  if (vendor == Vendor::amd && ibs_type != 0 && event == PerfEvent::loads) {
    PerfRecipes both{{memory_attributes(ibs_type, kIbsCountDispatched, period),
                      memory_attributes(ibs_type, kIbsCountDispatched, period)},
                     2};
    for (perf_event_attr& attributes : both.attributes) {
      attributes.precise_ip = 0;                        // IBS is precise by nature
      attributes.sample_period &= ~std::uint64_t{0xf};  // the hardware counts in sixteens
    }
    // Kernels before 6.2 filter no privilege level for IBS; without the filter the event needs more permission.
    both.attributes[1].exclude_kernel = 0;
    both.attributes[1].exclude_hv = 0;
    return both;
  }
  return {{}, 0};
}

long open_perf_event(const perf_event_attr& attributes, std::int32_t thread) {
  constexpr int kAnyProcessor = -1;
  constexpr int kNoGroup = -1;
  return raw(SYS_perf_event_open, &attributes, thread, kAnyProcessor, kNoGroup, PERF_FLAG_FD_CLOEXEC);
}

PerfStatus status_of_error(PerfEvent event, long error) {
  switch (-error) {
    case EPERM:
    case EACCES:
      return PerfStatus::not_permitted;
    case ENOSYS:
      return PerfStatus::not_in_kernel;
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
      return event == PerfEvent::page_faults ? PerfStatus::unsupported : PerfStatus::no_pmu;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case ENOSPC:
      return PerfStatus::no_resources;
    default:
      return PerfStatus::unsupported;
  }
}

const char* explain(PerfStatus status) {
  switch (status) {
    case PerfStatus::off:
    case PerfStatus::ok:
      return "";
    case PerfStatus::no_pmu:
      return "no memory-sampling PMU here (a virtual machine, or a processor without PEBS or IBS); going on without";
    case PerfStatus::not_permitted:
      return "perf_event_open: not permitted; lower kernel.perf_event_paranoid to 2 or grant CAP_PERFMON; going on "
             "without";
    case PerfStatus::not_in_kernel:
      return "perf_event_open: not in this kernel, or hidden by a sandbox; going on without";
    case PerfStatus::unsupported:
      return "perf_event_open: this kernel does not take the event; going on without";
    case PerfStatus::no_resources:
      return "perf_event_open: out of descriptors or of locked memory for its buffers (raise `ulimit -n` or `ulimit "
             "-l`); going on without";
  }
  return "";
}

}  // namespace hearth::access
