// The SIGSEGV handler: opens guarded pages, passes everything else on to the program.
//
// All signals are blocked while it runs, so that no handler of the program can meet a page which this thread holds; a
// fault of our own in here ends the process instead of recursing. It uses no libc state, not even errno.
#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cerrno>

#include "access/dispositions.h"
#include "access/guard_state.h"

namespace hearth::access {

namespace {

// What the processor was doing; execute is never a matter of tensors.
enum class Touch : std::uint8_t { unknown, read, write, execute };

#if defined(__x86_64__)
Touch touch_of(const ucontext_t& context) {
  constexpr unsigned long kWrite = 1u << 1;  // page-fault error code of the processor
  constexpr unsigned long kFetch = 1u << 4;
  const auto code = static_cast<unsigned long>(context.uc_mcontext.gregs[REG_ERR]);
  if ((code & kFetch) != 0) return Touch::execute;
  return (code & kWrite) != 0 ? Touch::write : Touch::read;
}
#elif defined(__aarch64__)
Touch touch_of(const ucontext_t& context) {
  // The syndrome register is one of the tagged records that the kernel appends to the signal frame.
  constexpr std::uint32_t kEsrMagic = 0x45535201;
  constexpr std::uint64_t kWriteNotRead = 1u << 6;
  constexpr std::uint64_t kInstructionAbort = 0x20;
  struct Tag {
    std::uint32_t magic, size;
  };
  const char* at = reinterpret_cast<const char*>(&context.uc_mcontext.__reserved);
  const char* end = at + sizeof context.uc_mcontext.__reserved;
  while (at + sizeof(Tag) + sizeof(std::uint64_t) <= end) {
    const Tag& tag = *reinterpret_cast<const Tag*>(at);
    if (tag.magic == 0 || tag.size == 0) break;
    if (tag.magic == kEsrMagic) {
      const auto syndrome = *reinterpret_cast<const std::uint64_t*>(at + sizeof(Tag));
      if ((syndrome >> 26 & 0x3e) == kInstructionAbort) return Touch::execute;
      return (syndrome & kWriteNotRead) != 0 ? Touch::write : Touch::read;
    }
    at += tag.size;
  }
  return Touch::unknown;
}
#endif

hearth_access access_of(Touch touch) {
  if (touch == Touch::unknown) return HEARTH_ACCESS_UNKNOWN;
  return touch == Touch::write ? HEARTH_ACCESS_WRITE : HEARTH_ACCESS_READ;
}

// Would the access succeed now? Asks the kernel without changing anything: it reads a signal set from there, or ORs
// zero into a word.
bool accessible(std::uintptr_t address, hearth_access access) {
  if (access == HEARTH_ACCESS_READ) {
    constexpr int kNoSuchOperation = -1;
    return raw(SYS_rt_sigprocmask, kNoSuchOperation, address & ~std::uintptr_t{7}, 0, sizeof(std::uint64_t)) != -EFAULT;
  }
  std::uint32_t nobody_waits_here = 0;
  const int or_zero = FUTEX_OP(FUTEX_OP_OR, 0, FUTEX_OP_CMP_LT, 0);
  return raw(SYS_futex, &nobody_waits_here, FUTEX_WAKE_OP_PRIVATE, 0, 0, address & ~std::uintptr_t{3}, or_zero) !=
         -EFAULT;
}

// No room to split the mapping around the page: opening all of the tensor's pages splits nothing.
void open_whole_tensor(std::uint32_t header) {
  count(g_guard.protect_failures);
  open_range(header, 0, UINTPTR_MAX, Until::stopped, HEARTH_ACCESS_UNKNOWN);
}

enum class Found : std::uint8_t { shut, open, not_guarded };  // against this access; `shut` has been opened

Found open_page(std::uint32_t header, TensorSlot slot, std::uintptr_t page, hearth_access access) {
  PagePool& pool = g_guard.pool;
  const std::uint32_t index = find_page(header, page);
  if (index == 0) return Found::not_guarded;
  Word& word = pool.at(index);
  bool waited = false;
  const std::uint64_t before = lock(word, &waited);
  if (waited) count(g_guard.raced);
  const State state = state_of(before);
  if (state == State::dead) return Found::not_guarded;
  if (state == State::open || (state == State::readable && access == HEARTH_ACCESS_READ)) {
    // Asked while the word is ours: at the next mark the answer would be no.
    const bool open = accessible(page, access);
    unlock(word, before);
    return open ? Found::open : Found::not_guarded;
  }
  const bool for_reading = access == HEARTH_ACCESS_READ;
  if (protect(page, kPageBytes, for_reading ? PROT_READ : PROT_READ | PROT_WRITE) != 0) {
    unlock(word, before);
    open_whole_tensor(header);
    report(slot, page, access);
    return Found::shut;
  }
  report(slot, page, access);
  unlock(word, with_state(before | kListed, for_reading ? State::readable : State::open));
  if ((before & kListed) == 0) pool.list(index);
  return Found::shut;
}

bool ours(std::uintptr_t address, hearth_access access) {
  GuardState& g = g_guard;
  const std::uintptr_t page = address & ~(kPageBytes - 1);
  if (page == g.calibration_page.load(std::memory_order_relaxed)) {
    return protect(page, kPageBytes, PROT_READ | PROT_WRITE) == 0;
  }
  registry::Registry* registry = g.registry.load(std::memory_order_acquire);
  if (registry == nullptr) return false;
  // By the page's first byte: a vectorised loop may read beyond the tensor's last one, within its last page.
  const auto* first_byte = reinterpret_cast<const void*>(page);
  const auto header_of = [&](TensorSlot slot) {
    return slot ? registry->at(slot).watch.load(std::memory_order_acquire) : 0;
  };
  for (;;) {
    const TensorSlot slot = registry->find(first_byte);
    const std::uint32_t header = header_of(slot);
    const Found found = header != 0 ? open_page(header, slot, page, access) : Found::not_guarded;
    if (found == Found::shut) count(g.faults);
    // Accessible though not guarded: opened for good between the fault and now, by stop or forget.
    if (found != Found::not_guarded || accessible(address, access)) return true;
    // Unless the page has got a new tenant meanwhile, this fault is the program's own.
    if (header_of(registry->find(first_byte)) == header) return false;
  }
}

}  // namespace

void on_fault(int signo, siginfo_t* info, void* context) {
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  if (info->si_code == SEGV_ACCERR) {
    const Touch touch = touch_of(*static_cast<const ucontext_t*>(context));
    if (touch != Touch::execute && ours(address, access_of(touch))) return;
  }
  count(g_guard.foreign);
  dispositions::pass_on(signo, info, context);
}

bool install_fault_handler() {
  if (dispositions::taken(SIGSEGV)) {  // by an earlier run
    if (dispositions::still_ours(SIGSEGV)) return true;
    dispositions::give_back(SIGSEGV);  // somebody else's by now: that is what faults are passed on to
  }
  return dispositions::take(SIGSEGV, on_fault, SA_ONSTACK, dispositions::Policy::record);
}

}  // namespace hearth::access
