// process_vm_readv and process_vm_writev: PyTorch's RPC (TensorPipe) and MPI hand tensors over by them between
// processes of one machine. The other process may be in its profiled iteration with the tensor's pages shut; it would
// not notice, and the transfer would fail.
//
// Here, on the side of the caller, the rest goes another way: a caller that runs under Hearth too, as the processes of
// one training do. What concerns our own tensors is held open while the call runs, as in io_hooks.cpp.
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

#include "access/io_guard.h"
#include "platform/os_peer_memory.h"
#include "preload/real.h"

namespace guard = hearth::access;
namespace os = hearth::os;
namespace real = hearth::real;

#define HEARTH_EXPORTED __attribute__((visibility("default"), used))

namespace {

using Move = std::size_t (*)(pid_t, os::Parts, os::Parts, std::size_t);

ssize_t completed(ssize_t moved, pid_t peer, os::Parts ours, os::Parts theirs, Move move) {
  if ((moved < 0 && errno != EFAULT) || peer == getpid()) return moved;
  const std::size_t done = moved < 0 ? 0 : static_cast<std::size_t>(moved);
  if (moved >= 0 && (done == os::bytes_of(ours) || done == os::bytes_of(theirs))) return moved;
  const std::size_t all = move(peer, ours, theirs, done);
  return all == 0 ? moved : static_cast<ssize_t>(all);
}

}  // namespace

extern "C" HEARTH_EXPORTED ssize_t hearth_hook_process_vm_readv(pid_t pid, const iovec* to, unsigned long n,
                                                                const iovec* from, unsigned long m,
                                                                unsigned long flags) __asm__("process_vm_readv");
ssize_t hearth_hook_process_vm_readv(pid_t pid, const iovec* to, unsigned long n, const iovec* from, unsigned long m,
                                     unsigned long flags) {
  guard::IoGuard io;
  if (guard::active()) {
    io.fills(to, n);
    if (pid == getpid()) io.drains(from, m);
  }
  return completed(real::process_vm_readv(pid, to, n, from, m, flags), pid, {to, n}, {from, m}, os::read_peer);
}

extern "C" HEARTH_EXPORTED ssize_t hearth_hook_process_vm_writev(pid_t pid, const iovec* from, unsigned long n,
                                                                 const iovec* to, unsigned long m,
                                                                 unsigned long flags) __asm__("process_vm_writev");
ssize_t hearth_hook_process_vm_writev(pid_t pid, const iovec* from, unsigned long n, const iovec* to, unsigned long m,
                                      unsigned long flags) {
  guard::IoGuard io;
  if (guard::active()) {
    io.drains(from, n);
    if (pid == getpid()) io.fills(to, m);
  }
  return completed(real::process_vm_writev(pid, from, n, to, m, flags), pid, {from, n}, {to, m}, os::write_peer);
}
