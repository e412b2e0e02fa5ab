// The one table of knobs. To add a knob, add a row: the member of Knobs, parsing, docs/knobs.md, `hearth info` and the
// hints for misspelt names all expand from it. Defaults are checked against kind and range by the compiler (knobs.cpp).
#pragma once

#include "base/log.h"
#include "config/knob_types.h"

// X(field, NAME, Type, default, range or choices, help)
// The words of a choice stand in the order of its enum. Those of a path stand for something else than a file.
#define HEARTH_KNOBS(X)                                                                                                \
  X(enable, HEARTH_ENABLE, Bool, "1", "", "0 makes Hearth a pure pass-through, safe to leave in LD_PRELOAD")           \
  X(strict, HEARTH_STRICT, Bool, "0", "",                                                                              \
    "a bad value or an unknown HEARTH_ name ends the program with status 78, instead of a warning")                    \
  X(verbose, HEARTH_VERBOSE, Bool, "0", "", "print every knob in force and where it came from")                        \
  X(log, HEARTH_LOG, Choice<log::Level>, "warn", "error|warn|info|debug", "least important messages to print")         \
  X(log_file, HEARTH_LOG_FILE, Path, "", "", "append messages to this file instead of standard error")                 \
  X(stats, HEARTH_STATS, Bool, "0", "", "print a summary on standard error at exit")                                   \
  X(report, HEARTH_REPORT, Path, "", "", "write the JSON report to this file at exit and on SIGUSR2")                  \
  X(trace, HEARTH_TRACE, Path, "", "", "write the binary trace of the profiled iteration to this file")                \
  X(profile, HEARTH_PROFILE, Choice<ProfileMode>, "faults", "off|ops|faults|pages",                                    \
    "how the profiled iteration sees accesses: ops = operands of ops, faults = also the first page of every tensor, "  \
    "pages = also sampled pages of large tensors")                                                                     \
  X(plan, HEARTH_PLAN, Path, "", "off",                                                                                \
    "follow the plan in this file from the first iteration on; off = never place tensors by plan")                     \
  X(trials, HEARTH_TRIALS, Bool, "1", "",                                                                              \
    "measure plans in real steps and keep the quickest, or none; 0 follows the first one")                             \
  X(autotm, HEARTH_AUTOTM, Integer, "0", "0..86400",                                                                   \
    "seconds for which hearth plan --policy autotm, beside the training and of the lowest priority, may solve for a "  \
    "better plan, which is then tried; 0 = not at all")                                                                \
  X(op_times, HEARTH_OP_TIMES, Path, "", "",                                                                           \
    "the folder of `hearth profile-ops`: follow the plans plan-0.json, plan-1.json ... there in turn, and write when " \
    "the ops of some iterations under each began and ended")                                                           \
  X(profile_at, HEARTH_PROFILE_AT, Integer, "0", "0..1000000000",                                                      \
    "profile this iteration, counted from 0; 0, the default, chooses one that repeats its predecessors")               \
  X(min_size, HEARTH_MIN_SIZE, Size, "16K", "0..1T", "smaller tensors stay with the C library's allocator")            \
  X(pages_min, HEARTH_PAGES_MIN, Size, "1M", "4K..1T",                                                                 \
    "tensors from this size on are sampled by HEARTH_PROFILE=pages")                                                   \
  X(pages_samples, HEARTH_PAGES_SAMPLES, Integer, "128", "1..65536",                                                   \
    "pages sampled per tensor by HEARTH_PROFILE=pages")                                                                \
  X(perf, HEARTH_PERF, Choice<PerfMode>, "auto", "off|auto|faults|precise",                                            \
    "perf_event samples in the profiled iteration: page faults, and precise memory accesses where a PMU exists")       \
  X(modules, HEARTH_MODULES, Bool, "0", "", "name the nn.Module of every op, by global forward hooks")                 \
  X(inherit, HEARTH_INHERIT, Bool, "1", "", "programs started by this one keep Hearth in LD_PRELOAD")                  \
  X(reserve, HEARTH_RESERVE, Size, "0", "0..64T", "address space reserved for tensors; 0 chooses by the machine")      \
  X(events, HEARTH_EVENTS, Count, "4M", "4K..256M",                                                                    \
    "events that the log of the profiled iteration holds, 32 bytes each")                                              \
  X(signatures, HEARTH_SIGNATURES, Integer, "8", "1..64", "different iteration shapes remembered at a time")           \
  X(short_ops, HEARTH_SHORT_OPS, Integer, "64", "1..1000000",                                                          \
    "a tensor that dies within so many outermost ops is short-lived, where modules are unknown")                       \
  X(frequency_buckets, HEARTH_FREQUENCY_BUCKETS, Integer, "4", "1..16", "classes of access frequency")                 \
  X(tiers, HEARTH_TIERS, Choice<TierMode>, "auto", "auto|numa|emulated|single",                                        \
    "the second kind of memory: NUMA nodes, emulated (same pages, honest delays), none; auto = nodes where there are " \
    "two kinds and HEARTH_FAST_CAPACITY, HEARTH_SLOW_NODES or HEARTH_POLICY asks for them")                            \
  X(fast_capacity, HEARTH_FAST_CAPACITY, Share, "0", "0..64T",                                                         \
    "fast memory that tensors may take: bytes, or a percentage of the profiled peak; 0 = no limit")                    \
  X(fast_nodes, HEARTH_FAST_NODES, Text, "", "",                                                                       \
    "the fast NUMA nodes, as numactl writes them (0-1,4); empty chooses by speed")                                     \
  X(slow_nodes, HEARTH_SLOW_NODES, Text, "", "", "the slow NUMA nodes; likewise")                                      \
  X(policy, HEARTH_POLICY, Choice<PolicyName>, "sentinel",                                                             \
    "sentinel|first-touch|interleave|lru|tier-queue|all-fast|all-slow",                                                \
    "what lies where: sentinel = by a plan of what each tensor gains; first-touch = fast until it is full; "           \
    "interleave = by HEARTH_INTERLEAVE; lru = pages move by how they were used, as kernels do it; tier-queue = what "  \
    "the backward pass needs leaves early and comes back in its order")                                                \
  X(interleave, HEARTH_INTERLEAVE, Ratio, "50", "0..100",                                                              \
    "how much of the 2 MiB units HEARTH_POLICY=interleave places fast: per cent, or weights of fast and slow (1:2)")   \
  X(machine, HEARTH_MACHINE, Path, "optane-100", "optane-100|cxl-x8|far-socket|hbm-ddr5",                              \
    "speeds of the emulated tiers: a preset (hearth info --presets) or a machine.json (hearth probe -o)")              \
  X(movers, HEARTH_MOVERS, Integer, "2", "1..8", "threads that move pages between the tiers")                          \
  X(mover_cpus, HEARTH_MOVER_CPUS, Text, "", "", "processors that the movers run on (0-3,8); empty = any")             \
  X(adapter, HEARTH_ADAPTER, Path, "", "", "use this PyTorch adapter instead of the one chosen by version")            \
  X(config, HEARTH_CONFIG, Path, "", "",                                                                               \
    "read knobs from this file, lines of NAME=value; the environment wins over it")                                    \
  X(library, HEARTH_LIBRARY, Path, "", "", "libhearth.so that the hearth command preloads, if not the one beside it")
