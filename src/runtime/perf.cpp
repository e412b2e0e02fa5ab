#include "runtime/perf.h"

#include "access/perf_sampler.h"
#include "base/log.h"
#include "runtime/facts.h"
#include "runtime/state.h"

namespace hearth::runtime::perf {
namespace {

constexpr std::uint64_t kPage = 4096;
constinit access::PerfSampler sampler{};
constinit bool sampling = false;

void log_sample(const access::PerfSample& sample, void*) {
  const auto* address = reinterpret_cast<const void*>(sample.address);
  const TensorSlot slot = g.registry.find(address);
  if (!slot) return;
  const registry::Tensor& tensor = g.registry.at(slot);
  const std::uintptr_t begin = tensor.address.load(std::memory_order_acquire);
  if (begin == 0 || sample.address < begin) return;
  hearth_event event{};
  event.type = HEARTH_EVENT_SAMPLE;
  event.time_ns = sample.time_ns;
  event.tensor = tensor.serial.value;
  event.page = static_cast<std::uint32_t>(sample.address / kPage - begin / kPage);
  event.access = static_cast<std::uint8_t>(sample.access);
  ++g.perf_samples;
  g.log.append(event);
}

// What is missing goes into the report; on stderr only when the user asked for just that.
void tell(access::PerfEvent event, const char* what, bool asked_for) {
  const char* cause = access::explain(sampler.stats().status[static_cast<std::size_t>(event)]);
  if (cause[0] == '\0') return;
  // A machine without the hardware is no news where nothing particular was asked for; perf_status says it.
  if (!asked_for && sampler.stats().status[static_cast<std::size_t>(event)] == access::PerfStatus::no_pmu) return;
  degrade(what, cause, "HEARTH_PERF=off does without them");
  if (asked_for) log::warn("HEARTH_PERF: ", what, ": ", cause);
}

const char* status_text() {
  const auto& status = sampler.stats().status;
  const bool faults = status[static_cast<std::size_t>(access::PerfEvent::page_faults)] == access::PerfStatus::ok;
  const bool loads = status[static_cast<std::size_t>(access::PerfEvent::loads)] == access::PerfStatus::ok;
  if (faults && loads) return "page faults and precise memory accesses";
  if (loads) return "precise memory accesses";
  return faults ? "page faults" : "refused, see degradations";
}

}  // namespace

void open() {
  using config::PerfMode;
  if (g.knobs.perf == PerfMode::off) return;
  access::PerfOptions options{};
  options.page_faults = g.knobs.perf != PerfMode::precise;
  options.precise = g.knobs.perf != PerfMode::faults;
  const bool first = g.profile.attempts <= 1;
  sampling = sampler.open(options);
  g.perf_status = status_text();
  if (!first) return;
  if (options.page_faults) tell(access::PerfEvent::page_faults, "page-fault samples", g.knobs.perf == PerfMode::faults);
  if (options.precise) tell(access::PerfEvent::loads, "precise memory samples", g.knobs.perf == PerfMode::precise);
}

void drain() {
  if (sampling) sampler.poll(log_sample, nullptr);
}

void close() {
  if (!sampling) return;
  drain();
  sampler.close();
  sampling = false;
}

void abandon() {
  sampling = false;
  sampler.abandon();
}

}  // namespace hearth::runtime::perf
