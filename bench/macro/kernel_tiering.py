#!/usr/bin/env python3
"""Where do other tiering systems leave a training's memory, and how many pages do they move for it?

In a guest with a fast and a slow node (scripts/vm), whose fast node has a fifth of the training's peak free, the same
training runs
  - on the kernel's own placement: new pages are fast while there is room, and stay
  - under the kernel's tiering: numa_balancing=2 and demotion
  - under memkind's libmemtier, with the same fifth as its ratio, by either of its policies
  - under Hearth's policies, with that fifth as the capacity
and prints, as Markdown, the bytes on each node after the forward pass, where most is live, and the kernel's counters of
moved pages for each step. Losses must be the same, bit for bit. No times: the guest is emulated.

docs/benchmarks.md explains the columns."""
import json
import mmap
import os
import pathlib
import sys
from statistics import mean

import guest_server as guests
import runs

SCHEMA_VERSION = 1
NODES, MEMORY = "two", "128M,896M"
STEPS, BATCH, PERCENT = 9, 4096, 20
# What else of the fast node is taken, or kept free by the kernel: so new pages find the wanted fifth and no more.
KEPT = 9 * guests.MIB
SETTLED = 6  # steps after which Hearth's plan is followed and its first moves are made; only later ones count
BOOT_TIMEOUT = 900
MAP_LOCKED = 0x2000
SWITCHES = {"/proc/sys/kernel/numa_balancing": ("0", "2"), "/sys/kernel/mm/numa/demotion_enabled": ("0", "1")}
# optane-100 scaled to what the guest computes, about 0.27 GFLOP/s, by the rule of docs/machine.md.
MACHINE = {"schema_version": 1, "measured": None, "machine": {
    "name": "optane-100 as slow as the guest", "cores": 1, "gemm": 2.7e8, "fault_ns": 500, "outstanding": 12,
    "interference": 0.13, "scale": 1e-4,
    "fast": {"read": 1.05e7, "write": 6.4e6, "latency_ns": 101, "bytes": 0},
    "slow": {"read": 3.94e6, "write": 1.39e6, "latency_ns": 305, "bytes": 0},
    "move_to_fast": 1.6e6, "move_to_slow": 1.2e6}}
MEMTIER = "libmemtier.so.0"


def memtier(policy, percent):
    return {"LD_PRELOAD": MEMTIER, "MEMKIND_DAX_KMEM_NODES": str(guests.SLOW), "MEMKIND_MEM_TIERS":
            f"KIND:DRAM,RATIO:{percent};KIND:KMEM_DAX,RATIO:{100 - percent};POLICY:{policy}"}


# --- in the guest ---------------------------------------------------------------------------------------------------

def fill_fast_node(spare):
    """Locks so much of the fast node that `spare` bytes of it are free. It lasts as long as what is returned."""
    taken = guests.free_bytes(guests.FAST) - spare
    if taken <= 0:
        sys.exit(f"the fast node has less than {spare} bytes free")
    guests.set_policy(guests.MPOL_BIND, guests.FAST)
    ballast = mmap.mmap(-1, taken, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE | MAP_LOCKED)
    guests.prefer_slow()
    return ballast


def switch(on):
    for path, values in SWITCHES.items():
        pathlib.Path(path).write_text(values[on], encoding="ascii")


def look(pid, _when):
    return {"bytes": guests.anonymous_bytes(pid), "vmstat": guests.counters()}


def moved(before, after, *names):
    return guests.PAGE * sum(after[name] - before[name] for name in names)


def figures(training):
    """Bytes: on both nodes after forward passes, since the training began; moved in a step."""
    settled = training.steps[SETTLED:]
    places = [[max(0, forward["bytes"][node] - training.begin["bytes"][node]) for forward, _ in settled]
              for node in (guests.FAST, guests.SLOW)]
    ends = [end["vmstat"] for _, end in training.steps[SETTLED - 1:]]
    pairs = list(zip(ends, ends[1:]))
    demotions = [name for name in ends[0] if name.startswith("pgdemote_")]
    per_step = {name: mean(moved(*pair, *entries) for pair in pairs) for name, entries in (
        ("migrated", ["pgmigrate_success"]), ("promoted", ["pgpromote_success"]), ("demoted", demotions))}
    faults = mean(after["numa_hint_faults"] - before["numa_hint_faults"] for before, after in pairs)
    return {"fast": mean(places[0]), "slow": mean(places[1]), **per_step, "hint_faults": faults,
            "by_step": [[forward["bytes"], end["bytes"]] for forward, end in training.steps]}


def run_ways(task, folder):
    batch, steps, percent = task["batch"], task["steps"], task["percent"]
    results = {}

    def take(name, server, settings=()):
        training = server.train(batch, steps, "-", settings, look)
        trained = training.finished(steps)
        tiers = training.report.get("tiers", {})
        results[name] = {"trained": trained, "status": training.status, "losses": training.losses,
                         "figures": figures(training) if trained else None,
                         "hearth": {key: tiers.get(key) for key in (
                             "backend", "policy", "fast_capacity_bytes", "fast_peak_bytes", "pages_checked",
                             "pages_as_booked", "to_fast", "to_slow")} if tiers else None,
                         "planned_steps": training.report.get("plan", {}).get("iterations")}
        runs.progress(f"{name}: {results[name]['figures'] or training.status}"[:300])
        return results[name]["figures"]

    server = guests.Server(task["server"], {}, folder)
    plenty = server.train(batch, 2, "-", look=look)
    peak = max(sum(forward["bytes"]) - sum(plenty.begin["bytes"]) for forward, _ in plenty.steps)
    capacity = peak * percent // 100
    ballast = fill_fast_node(capacity + task["kept"])
    take("kernel, first touch", server)
    switch(True)
    take("kernel, numa_balancing=2 with demotion", server)
    switch(False)
    server.close()
    for policy in ("STATIC_RATIO", "DYNAMIC_THRESHOLD"):
        server = guests.Server(task["server"], memtier(policy, percent), folder)
        take(f"libmemtier, {policy}", server)
        server.close()
    pathlib.Path(folder, "machine.json").write_text(json.dumps(MACHINE), encoding="utf-8")
    server = guests.Server(task["server"], {"LD_PRELOAD": task["library"]}, folder)
    for policy in ("first-touch", "lru", "sentinel"):
        take(f"Hearth, {policy}", server, ["HEARTH_TIERS=numa", f"HEARTH_FAST_CAPACITY={capacity}",
                                           f"HEARTH_POLICY={policy}", f"HEARTH_MACHINE={folder}/machine.json"])
    server.close()
    ballast.close()
    return {"peak": peak, "capacity": capacity, "ways": results}


def tiers_of_kernel():
    """Which nodes are in which of the kernel's memory tiers: it demotes from one to the next only."""
    folder = pathlib.Path("/sys/devices/virtual/memory_tiering")
    return {path.parent.name: path.read_text(encoding="ascii").strip() for path in folder.glob("*/nodelist")}


def demote_some(task, _folder):
    """Does this kernel demote here? Asks a cgroup of a process of 64 MiB on the fast node to give back half of it."""
    switch(True)
    group = pathlib.Path("/sys/fs/cgroup/asked")
    if not pathlib.Path("/sys/fs/cgroup/cgroup.procs").exists():
        os.system("mount -t cgroup2 none /sys/fs/cgroup")
    pathlib.Path("/sys/fs/cgroup/cgroup.subtree_control").write_text("+memory", encoding="ascii")
    group.mkdir()
    (group / "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")
    guests.set_policy(guests.MPOL_DEFAULT)
    area = mmap.mmap(-1, 64 * guests.MIB, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE)
    before = guests.counters()
    refused = ""
    try:
        (group / "memory.reclaim").write_text("32M", encoding="ascii")
    except OSError as error:
        refused = str(error)
    after = guests.counters()
    area.close()
    return {"tiers": tiers_of_kernel(), "refused": refused,
            "demoted": moved(before, after, *[name for name in before if name.startswith("pgdemote_")])}


def work(task, folder):
    return demote_some(task, folder) if task["do"] == "demote" else run_ways(task, folder)


# --- outside --------------------------------------------------------------------------------------------------------

def mib(count):
    return f"{count / guests.MIB:.1f}"


def table(results):
    reference = next(iter(results["ways"].values()))["losses"]
    rows = []
    for name, way in results["ways"].items():
        if not way["trained"]:
            rows.append([name, f"did not train: status {way['status']}"] + [""] * 5)
            continue
        found = way["figures"]
        rows.append([name, mib(found["fast"]), mib(found["slow"]), mib(found["migrated"]), mib(found["promoted"]),
                     mib(found["demoted"]), "the same" if way["losses"] == reference else "**others**"])
    return runs.markdown(["", "fast node, MiB", "slow node, MiB", "migrated a step, MiB", "of it promoted by the kernel",
                          "demoted by the kernel", "losses"], rows)


def demotion_table(found):
    return runs.markdown(["guest", "kernel's tiers", "32 MiB asked back: demoted, MiB"],
                         [[name, "; ".join(f"{tier}: node {nodes}" for tier, nodes in sorted(each["tiers"].items())),
                           mib(each["demoted"])] for name, each in found.items()])


def problems(results):
    reference = next(iter(results["ways"].values()))["losses"]
    for name, way in results["ways"].items():
        if not way["trained"]:
            yield f"{name}: status {way['status']}"
        elif way["losses"] != reference:
            yield f"{name}: other losses: {way['losses']}"
        elif name.startswith("Hearth"):
            tiers = way["hearth"] or {}
            if tiers.get("backend") != "numa" or not 0 < tiers["fast_peak_bytes"] <= tiers["fast_capacity_bytes"]:
                yield f"{name}: {tiers}"
    if float.fromhex(reference[-1]) >= float.fromhex(reference[0]):
        yield f"the loss does not fall: {reference}"


def options():
    parser = guests.options(__doc__)
    parser.add_argument("--batch", type=int, default=BATCH)
    parser.add_argument("--steps", type=int, default=STEPS, help=f"of each training, more than {SETTLED}")
    parser.add_argument("--percent", type=int, default=PERCENT, help="of the peak that is free on the fast node")
    parser.add_argument("--demotion", action="store_true",
                        help="instead: in which guests the kernel demotes at all, kernels and nodes")
    arguments = guests.parsed(parser)
    if arguments.steps <= SETTLED:
        parser.error(f"--steps: more than {SETTLED}")
    return arguments


def main():
    arguments = options()
    if arguments.in_guest:
        guests.in_guest(arguments.in_guest, work)
        return 0
    if arguments.demotion:
        results = {f"{nodes}, Linux {kernel}": guests.boot(__file__, {"do": "demote"}, kernel, nodes, "512M,512M", 120)
                   for nodes in ("two", "optane") for kernel in ("6.12", "6.1")}
        text, found = demotion_table(results), []
    else:
        task = {"do": "train", "server": str(arguments.server), "library": str(arguments.library),
                "batch": arguments.batch, "steps": arguments.steps, "percent": arguments.percent,
                "kept": KEPT}
        results = guests.boot(__file__, task, "6.12", NODES, MEMORY, BOOT_TIMEOUT)
        text = (f"Peak {mib(results['peak'])} MiB, fast node {mib(results['capacity'])} MiB for tensors\n\n"
                f"{table(results)}")
        found = list(problems(results))
    return guests.tell(arguments, text, {"schema_version": SCHEMA_VERSION, "memory": MEMORY, "results": results}, found)


if __name__ == "__main__":
    sys.exit(main())
