// The public C API (include/hearth/hearth.h): forwards to the runtime.
#include "hearth/hearth.h"

#include "runtime/facts.h"
#include "runtime/marks.h"
#include "runtime/query.h"

#define HEARTH_PUBLIC __attribute__((visibility("default")))
#define HEARTH_TEXT_OF(x) #x
#define HEARTH_TEXT(x) HEARTH_TEXT_OF(x)

extern "C" {

HEARTH_PUBLIC const char* hearth_version(void) {
  return HEARTH_TEXT(HEARTH_VERSION_MAJOR) "." HEARTH_TEXT(HEARTH_VERSION_MINOR) "." HEARTH_TEXT(HEARTH_VERSION_PATCH);
}

HEARTH_PUBLIC int hearth_get_state(void) { return hearth::runtime::public_state(); }

HEARTH_PUBLIC void hearth_iteration_begin(void) { hearth::runtime::mark_begin(); }
HEARTH_PUBLIC void hearth_iteration_end(void) { hearth::runtime::mark_end(); }

HEARTH_PUBLIC int hearth_write_report(const char* path) { return hearth::runtime::write_report(path); }

HEARTH_PUBLIC int hearth_find_tensor(const void* address, hearth_tensor_info* info) {
  return hearth::runtime::find_tensor(address, info);
}

HEARTH_PUBLIC void hearth_get_counters(hearth_counters* counters) { hearth::runtime::get_counters(counters); }
}
