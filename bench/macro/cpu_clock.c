/* Preloaded beside Hearth, on a machine with other load: what a trace is stamped with is the CPU time of the process, so
 * that its ops take what they computed, not what they waited for a processor. For trainings with one thread.
 * perf_event's own stamps do not follow: HEARTH_PERF=off. */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec* now) {
  return (int)syscall(SYS_clock_gettime, clock == CLOCK_MONOTONIC ? CLOCK_PROCESS_CPUTIME_ID : clock, now);
}
