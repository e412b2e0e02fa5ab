// The versioned plain-C table between libhearth.so (the runtime) and libhearth_torch-*.so (the adapter).
//
// The two libraries share no C++ types: the adapter is built against one PyTorch (version, C++ ABI), the runtime
// against none. The runtime dlopens the adapter at the first tensor allocation, looks up `hearth_torch_attach` and
// hands it `hearth_bridge`; the adapter fills `hearth_adapter`. Both begin with version and size. Members are appended
// and keep their meaning; each time the version goes up by one. So a side works with any version of the other one whose
// size covers the members it cannot do without: more are ignored, and what is not covered is not called.
//
// Contract of the runtime's functions: callable from any thread, never throw, never allocate through malloc, cost tens
// of nanoseconds. Contract of the adapter's functions: called by the runtime from a PyTorch thread with no Hearth state
// held; never throw.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HEARTH_BRIDGE_VERSION 2u

// How much the adapter reports; each level includes the ones before it.
enum hearth_bridge_level {
  HEARTH_LEVEL_OFF = 0,      // no callback registered at all
  HEARTH_LEVEL_STEPS = 1,    // optimizer steps only (USER_SCOPE callback)
  HEARTH_LEVEL_MARKS = 2,    // every op's begin and end
  HEARTH_LEVEL_OPERANDS = 3  // and its operands
};

typedef struct hearth_bridge {
  uint32_t version;
  uint32_t size;
  // Interns `text` (need not be terminated) and returns its id > 0; the same text always gives the same id.
  // 0 when the table is full. The adapter caches ids by the address of stable strings.
  uint32_t (*intern)(const char* text, uint64_t length);
  // An op begins on the calling thread. `scope` is at::RecordScope, `sequence` the autograd number or -1.
  void (*op_begin)(uint32_t name, uint32_t scope, int64_t sequence);
  // The innermost op of the calling thread ends. Calls pair per thread.
  void (*op_end)(void);
  // An operand of the innermost op: `storage` is the storage's first byte, `view_bytes` the bytes that the view spans
  // (<= storage_bytes), `access` a hearth_access. Inputs are announced after op_begin, outputs before op_end.
  void (*operand)(const void* storage, uint64_t storage_bytes, uint64_t view_bytes, uint32_t access);
  // An optimizer's step begins / ends. `optimizer` identifies the object (its address), 0 if unknown.
  void (*step_begin)(uint32_t name, uint64_t optimizer);
  void (*step_end)(uint32_t name, uint64_t optimizer);
  // nn.Module forward; `name` is the dotted path where known, else the type.
  void (*module_enter)(uint32_t name);
  void (*module_exit)(uint32_t name);
  // Memory by the contract of c10::alloc_cpu / free_cpu; used only by the fallback c10::Allocator.
  void* (*allocate)(uint64_t bytes);
  void (*release)(void* pointer);
  // One line for the user; level 0 error, 1 warning, 2 info, 3 debug.
  void (*log)(uint32_t level, const char* message);
  // Since version 2. As operand(), for one of which only some rows are touched, wherever they lie: `rows` of
  // `row_bytes` bytes each, by the op's indices (repeated ones count each time). Less than the storage; else operand()
  // is called.
  void (*gather)(const void* storage, uint64_t storage_bytes, uint64_t rows, uint64_t row_bytes, uint32_t access);
} hearth_bridge;

// What no adapter can do without: everything of version 1.
#define HEARTH_BRIDGE_SIZE_V1 offsetof(hearth_bridge, gather)

static inline int hearth_bridge_gathers(const hearth_bridge* bridge) { return bridge->size > HEARTH_BRIDGE_SIZE_V1; }

typedef struct hearth_adapter {
  uint32_t version;
  uint32_t size;
  const char* torch_version;  // built against, e.g. "2.13.0"; static storage
  uint32_t cxx11_abi;         // 0 or 1
  // Changes the level; 0 on success. May be called from inside op_begin/op_end/step_end.
  int (*set_level)(uint32_t level);
  // Registers global nn.Module hooks (Python programs only). 0 on success.
  int (*watch_modules)(int on);
  // Allocates and frees one small tensor through PyTorch, for the start-up self-test. 0 on success.
  int (*touch_allocator)(void);
  // Registers a c10::Allocator that calls bridge->allocate/release. 0 on success.
  int (*install_allocator)(void);
} hearth_adapter;

// Exported by the adapter. `bridge` outlives the process. Returns 0 on success, else the adapter must not be used.
typedef int (*hearth_torch_attach_fn)(const hearth_bridge* bridge, hearth_adapter* adapter);
#define HEARTH_TORCH_ATTACH "hearth_torch_attach"

#ifdef __cplusplus
}
#endif
