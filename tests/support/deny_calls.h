// Makes system calls fail from here on, as a container would that forbids them: in this thread, in the threads and
// processes that it starts, and for good.
//
// A seccomp filter, set by prctl alone and without privileges: nothing but libc is needed, so it works in a bare guest
// too. Plain C types, since it is linked into programs built for any PyTorch.
#pragma once

enum deny_result { deny_done = 0, deny_bad_words = 64, deny_no_filter = 71 };

// `calls`: names joined by commas, of mbind, move_pages, get_mempolicy, set_mempolicy, perf_event_open, userfaultfd;
// `error`: EPERM or ENOSYS.
extern "C" deny_result deny_calls(const char* calls, const char* error);
