/* Stands in for libhearth.so: the C API of hearth.h with answers that a test knows, so that what the Python module and
 * the tool make of them is checked apart from what the runtime finds. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "hearth/hearth.h"

#define EXPORTED __attribute__((visibility("default")))

static uint64_t begun;
static uint64_t ended;
static char known[4096];

EXPORTED const char* hearth_version(void) { return "9.8.7"; }

EXPORTED int hearth_get_state(void) {
  const char* state = getenv("FAKE_STATE");
  return state != NULL ? atoi(state) : HEARTH_STATE_OBSERVE;
}

EXPORTED void hearth_iteration_begin(void) { ++begun; }
EXPORTED void hearth_iteration_end(void) { ++ended; }

EXPORTED int hearth_write_report(const char* path) {
  if (path == NULL) return ENOENT;
  return strcmp(path, "/full") == 0 ? ENOSPC : 0;
}

/* An address that hearth_find_tensor knows. */
EXPORTED void* fake_tensor(void) { return known; }

EXPORTED int hearth_find_tensor(const void* address, hearth_tensor_info* info) {
  const char* byte = (const char*)address;
  if (byte < known || byte >= known + sizeof known || info->struct_size != sizeof *info) return 0;
  info->serial = 42;
  info->address = known;
  info->bytes = sizeof known;
  info->iteration = 7;
  info->op = "aten::empty";
  info->own_pages = 1;
  return 1;
}

EXPORTED void hearth_get_counters(hearth_counters* counters) {
  if (counters->struct_size != sizeof *counters) return;
  counters->state = (uint32_t)hearth_get_state();
  counters->allocations = begun;
  counters->frees = ended;
  counters->live_tensors = 3;
  counters->live_bytes = 4;
  counters->peak_bytes = 5;
  counters->iterations = 6;
  counters->profiled = 7;
  counters->page_faults_caught = 8;
}
