/* hearth/trace.h: the schema of a Hearth trace, version 1.
 *
 * A trace is what happened in one profiled iteration: a flat sequence of fixed-size events in the order
 * in which they were logged. The same records are kept in memory while profiling and written to the file
 * that HEARTH_TRACE names, so there is one schema and no conversion. docs/trace-format.md draws the file.
 *
 * Units: bytes, nanoseconds (CLOCK_MONOTONIC). Thread-safety: plain data, none needed. */
#ifndef HEARTH_TRACE_H
#define HEARTH_TRACE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HEARTH_TRACE_VERSION 1u
#define HEARTH_NO_ID 0u /* name, tensor: "none"; real ids start at 1 */

enum hearth_event_type {
  HEARTH_EVENT_LIVE = 1,         /* tensor alive when the iteration began: tensor, bytes, name = op that made it */
  HEARTH_EVENT_ALLOC = 2,        /* tensor, bytes requested; made by the innermost open op of its thread */
  HEARTH_EVENT_FREE = 3,         /* tensor */
  HEARTH_EVENT_OP_BEGIN = 4,     /* name, scope, value = autograd sequence number or -1 */
  HEARTH_EVENT_OP_END = 5,       /* name, scope */
  HEARTH_EVENT_OPERAND = 6,      /* tensor, access, bytes the view spans; of the innermost open op of its thread */
  HEARTH_EVENT_FAULT = 7,        /* tensor, access, page that was touched; of the main thread's innermost open op */
  HEARTH_EVENT_MODULE_ENTER = 8, /* name = module path or type */
  HEARTH_EVENT_MODULE_EXIT = 9,  /* name */
  HEARTH_EVENT_STEP_BEGIN = 10,  /* name = "Optimizer.step#Adam.step", value = optimizer identity or 0 */
  HEARTH_EVENT_STEP_END = 11,    /* same */
  HEARTH_EVENT_GUARD = 12,       /* tensor is watched: access = hearth_watch, page = pages sampled */
  HEARTH_EVENT_SAMPLE = 13       /* perf_event sample: tensor, access, page */
};

enum hearth_access {
  HEARTH_ACCESS_UNKNOWN = 0,
  HEARTH_ACCESS_READ = 1,
  HEARTH_ACCESS_WRITE = 2,
  HEARTH_ACCESS_READ_WRITE = 3
};

enum hearth_watch { HEARTH_WATCH_NONE = 0, HEARTH_WATCH_FIRST_PAGE = 1, HEARTH_WATCH_SAMPLED_PAGES = 2 };

#define HEARTH_EVENT_FLAG_OWN_PAGES 1u /* LIVE, ALLOC: served by Hearth's heap, alone on its pages */
#define HEARTH_EVENT_FLAG_VIEW 2u      /* OPERAND: a view that spans less than its storage */
#define HEARTH_EVENT_FLAG_GATHER 4u /* OPERAND: rows that indices name, anywhere in it; bytes are those of the rows */

/* `tensor` is a serial number, never reused within a process. `thread` numbers the threads of the iteration;
 * 0 is the thread that runs the iterations (it closed the last one). */
typedef struct hearth_event {
  uint64_t time_ns;
  union {
    uint64_t bytes;
    int64_t value;
  };
  uint32_t tensor;
  union {
    uint32_t name; /* index into the name table or HEARTH_NO_ID */
    uint32_t page; /* 4096-byte page index within the tensor, or a number of pages */
  };
  uint8_t type;   /* hearth_event_type */
  uint8_t scope;  /* at::RecordScope for ops, else 0 */
  uint8_t access; /* hearth_access or hearth_watch */
  uint8_t flags;
  uint16_t thread;
  uint16_t reserved; /* 0 */
} hearth_event;

#ifdef __cplusplus
}
static_assert(sizeof(hearth_event) == 32, "hearth_event is a file format");
#endif
#endif
