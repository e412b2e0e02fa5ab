/* hearth/hearth.h: the public C API of libhearth.so.
 *
 * For programs whose iterations Hearth cannot see by itself (custom loops), and for tools that ask where a tensor is.
 * The functions are exported by the preloaded library; look them up with dlsym(RTLD_DEFAULT, "hearth_...") or declare
 * them weak, so that the program also runs without Hearth. The Python module `hearth` does exactly that.
 *
 * Thread-safety: every function may be called from any thread at any time, also before PyTorch is loaded and in forked
 * children (where they do nothing and report HEARTH_STATE_FORWARDING). None of them throws or ends the process. */
#ifndef HEARTH_HEARTH_H
#define HEARTH_HEARTH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HEARTH_VERSION_MAJOR 0
#define HEARTH_VERSION_MINOR 1
#define HEARTH_VERSION_PATCH 0

enum hearth_state {
  HEARTH_STATE_BOOTSTRAP = 0, /* no tensor has been allocated yet */
  HEARTH_STATE_OBSERVE = 1,   /* tensors are registered, iterations looked for */
  HEARTH_STATE_PROFILE = 2,   /* this iteration is being profiled */
  HEARTH_STATE_PLAN = 3,      /* a plan is being made from the profile */
  HEARTH_STATE_MANAGED = 4,   /* tensors are placed by plan */
  HEARTH_STATE_DISABLED = 5,  /* switched off, or stood aside after a problem (one line on stderr told which) */
  HEARTH_STATE_FORWARDING = 6 /* a forked child: everything goes to PyTorch's own allocator */
};

/* "0.1.0". Never null. */
const char* hearth_version(void);

/* One of hearth_state. */
int hearth_get_state(void);

/* Marks one iteration of the calling thread's loop. Marks win over the optimizer's step and over periodicity from the
 * first one on. Nested or unbalanced calls are counted and otherwise ignored. */
void hearth_iteration_begin(void);
void hearth_iteration_end(void);

/* Writes the JSON report to `path` (null: where HEARTH_REPORT says). 0 on success, else an errno value. */
int hearth_write_report(const char* path);

typedef struct hearth_tensor_info {
  uint32_t struct_size; /* set by the caller to sizeof(hearth_tensor_info) */
  uint32_t serial;      /* the tensor's serial number, > 0 */
  const void* address;  /* first byte */
  uint64_t bytes;       /* as requested */
  uint64_t iteration;   /* in which it was allocated, from 0 */
  const char* op;       /* innermost op that allocated it, or "" */
  int own_pages;        /* 1: alone on its pages, in Hearth's heap */
} hearth_tensor_info;

/* Finds the tensor storage that `address` points into (interior pointers too). 1 if found, else 0. */
int hearth_find_tensor(const void* address, hearth_tensor_info* info);

typedef struct hearth_counters {
  uint32_t struct_size; /* set by the caller */
  uint32_t state;       /* hearth_state */
  uint64_t allocations; /* non-empty tensor allocations since start */
  uint64_t frees;
  uint64_t live_tensors;
  uint64_t live_bytes;
  uint64_t peak_bytes;
  uint64_t iterations; /* closed so far */
  uint64_t profiled;   /* iterations profiled so far */
  uint64_t page_faults_caught;
} hearth_counters;

/* Fills at most info->struct_size bytes. */
void hearth_get_counters(hearth_counters* counters);

#ifdef __cplusplus
}
#endif
#endif
