/* A page guard to drive from a test program: C names, so that Python reaches them through ctypes. */
#pragma once

#include <stddef.h>
#include <stdint.h>

extern "C" {

/* Memory alone on its pages, registered as a tensor; never freed unless given to probe_free. */
char* probe_tensor(size_t bytes);
void probe_free(char* tensor); /* forgets it; the memory stays mapped, for its next tenant */
/* pages != 0: pages mode, every page of a tensor up to 128. 1 on success. */
int probe_start(int pages);
int probe_watch(char* tensor);
void probe_rearm(void);
void probe_stop(void);
void probe_child(void);
int probe_active(void);
uint64_t probe_faults(void);
uint64_t probe_kernel_io(void);
uint64_t probe_foreign(void);
int probe_stolen(void);
uint64_t probe_fault_ns(void);
/* Reported so far for the tensor: 0 none, 1 read, 2 write, 3 both. */
int probe_seen(char* tensor);
int probe_own_signal(int signo, void (*handler)(int));
void probe_disown_signal(int signo);
void probe_die_of(int signo);
}
