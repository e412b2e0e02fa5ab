// Memory of another process whose pages are shut, as those of tensors are in an iteration that is profiled there.
//
// The kernel raises no fault in a process that it only looks into: process_vm_readv and process_vm_writev fail with
// EFAULT at such a page, or move a part. /proc/PID/mem asks for the same rights over that process and is not stopped by
// the protection. Thread-safety: any thread, async-signal-safe, no malloc; errno preserved.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>

namespace hearth::os {

struct Parts {
  const iovec* first;
  unsigned long count;
};

std::size_t bytes_of(Parts parts);

// Goes on where `done` bytes have been moved already, from `theirs` to `ours` or the other way round. All that has been
// moved then; less than asked for where there is no such memory, or no such right.
std::size_t read_peer(pid_t peer, Parts ours, Parts theirs, std::size_t done);
std::size_t write_peer(pid_t peer, Parts ours, Parts theirs, std::size_t done);

}  // namespace hearth::os
