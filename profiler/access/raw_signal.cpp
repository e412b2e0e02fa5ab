#include "access/raw_signal.h"

#ifndef SA_RESTORER
#define SA_RESTORER 0x04000000
#endif

#if defined(__x86_64__)
// x86-64 has no return trampoline of the kernel's. The bytes are those of libc's, by which unwinders and debuggers
// recognise a signal frame.
__asm__(
    ".pushsection .text\n"
    ".balign 16\n"
    "nop\n"
    ".type hearth_restore_rt, @function\n"
    ".hidden hearth_restore_rt\n"
    ".globl hearth_restore_rt\n"
    "hearth_restore_rt:\n"
    "  movq $15, %rax\n"  // SYS_rt_sigreturn
    "  syscall\n"
    ".size hearth_restore_rt, .-hearth_restore_rt\n"
    ".popsection\n");
extern "C" __attribute__((visibility("hidden"))) void hearth_restore_rt();
#endif

namespace hearth::access {

long raw_sigaction(int signo, const KernelAction* action, KernelAction* old) {
  if (action == nullptr) return raw(SYS_rt_sigaction, signo, nullptr, old, sizeof(std::uint64_t));
  KernelAction complete = *action;
#if defined(__x86_64__)
  complete.flags |= SA_RESTORER;
  complete.restorer = reinterpret_cast<std::uintptr_t>(&hearth_restore_rt);
#endif
  return raw(SYS_rt_sigaction, signo, &complete, old, sizeof(std::uint64_t));
}

}  // namespace hearth::access
