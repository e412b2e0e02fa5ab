#!/usr/bin/env python3
"""How large a batch trains where fast memory is small?

In a guest with a small fast node and a larger slow one (scripts/vm): without Hearth the program may allocate on the fast
node only (MPOL_BIND, what numactl --membind asks for) and the kernel ends it where that is full. With Hearth tensors take
what the fast node has free, and no more, and the rest is slow. The largest batch of each is found by doubling and
bisection to an eighth, and must then have the losses of a plain run in a guest with plenty of memory, bit for bit.

docs/benchmarks.md says what of this is emulated."""
import os
import sys

import guest_server as guests
import runs

SCHEMA_VERSION = 1
KERNEL, NODES = "6.12", "two"
SMALL, PLENTY = "128M,768M", "2G,2G"
STEPS = 6   # the plan is followed from the fifth on
FIRST = 8192
BOOT_TIMEOUT = 900
# In the guest. Where hardly any memory is left the kernel drops code and reads it again for very long before it gives up.
TRY_TIMEOUT = 120
WAYS = {"bound to the fast node": False, "under Hearth": True}


# --- in the guest ---------------------------------------------------------------------------------------------------

def largest(try_batch, first):
    """The largest batch that trains, to an eighth: 0 if none does."""
    low, high, batch = 0, None, first
    while batch > 0:
        if try_batch(batch):
            low = batch
        else:
            high = batch
        if high is None:
            batch = 2 * low
        elif high - low > low // 8 and high - low > 1:
            batch = (low + high) // 2
        else:
            break
    return low


def peak(training):
    """[on the fast node, on the slow one] where it took most of both."""
    return max((moment for step in training.steps for moment in step if moment), key=sum, default=[0, 0])


def search(task, folder, with_hearth, first):
    server = guests.Server(task["server"], {"LD_PRELOAD": task["library"]} if with_hearth else {}, folder)
    tried = []

    def try_batch(batch):
        free = guests.free_bytes(guests.FAST)
        capacity = max(guests.MIB, free - guests.RESERVE)
        settings = ["HEARTH_TIERS=numa", f"HEARTH_FAST_CAPACITY={capacity}"] if with_hearth else []
        training = server.train(batch, task["steps"], "-" if with_hearth else guests.FAST, settings,
                                lambda pid, when: guests.anonymous_bytes(pid), TRY_TIMEOUT)
        trained = training.finished(task["steps"])
        tiers = training.report.get("tiers", {})
        tried.append({"batch": batch, "trained": trained, "out_of_memory": training.out_of_memory,
                      "out_of_time": training.out_of_time, "status": training.status, "free": free,
                      "losses": training.losses, "peak": peak(training),
                      **({"capacity": capacity, "fast_peak": tiers.get("fast_peak_bytes"),
                          "backend": tiers.get("backend"), "planned_steps": training.report.get("plan", {}).get("iterations"),
                          "pages_as_booked": tiers.get("pages_as_booked"), "pages_checked": tiers.get("pages_checked"),
                          "moved": [tiers.get(way, {}).get("bytes") for way in ("to_fast", "to_slow")]}
                         if with_hearth else {})})
        runs.progress(f"{'Hearth' if with_hearth else 'bound'}, batch {batch}: "
                      f"{'trains' if trained else 'dies'} (status {training.status}), {peak(training)} bytes")
        return trained

    best = largest(try_batch, first)
    server.close()
    return {"largest": best, "tried": tried}


def work(task, folder):
    if task["do"] == "reference":
        server = guests.Server(task["server"], {}, folder)
        losses = {batch: server.train(batch, task["steps"]).losses for batch in task["batches"]}
        server.close()
        return losses
    results, first = {}, task["first"]
    for way, with_hearth in WAYS.items():
        results[way] = search(task, folder, with_hearth, first)
        first = results[way]["largest"] or first
    return results


# --- outside --------------------------------------------------------------------------------------------------------

def trained_at_largest(result):
    return next((each for each in result["tried"] if each["batch"] == result["largest"]), None)


def why_larger_fail(result):
    failed = [each for each in result["tried"] if not each["trained"]]
    causes = {"out of memory" if each["out_of_memory"] else "out of time" if each["out_of_time"]
              else f"status {each['status']}" for each in failed}
    smallest = min((each["batch"] for each in failed), default=None)
    return f"{smallest}: {', '.join(sorted(causes))}" if failed else "none failed"


def problems(results, reference, steps):
    for way, result in results.items():
        best = trained_at_largest(result)
        if best is None:
            yield f"{way}: nothing trained"
            continue
        plenty = reference[str(best["batch"])]
        if len(plenty) != steps or best["losses"] != plenty:
            yield f"{way}: batch {best['batch']} has the losses {best['losses']}, not {plenty}"
        elif float.fromhex(plenty[-1]) >= float.fromhex(plenty[0]):
            yield f"{way}: the loss does not fall: {plenty}"
        if any(not (each["trained"] or each["out_of_memory"] or each["out_of_time"]) for each in result["tried"]):
            yield f"{way}: a batch ended for another reason than memory"
    hearth = trained_at_largest(results["under Hearth"])
    if hearth and not (hearth["backend"] == "numa" and 0 < hearth["fast_peak"] <= hearth["capacity"]):
        yield f"under Hearth: {hearth['fast_peak']} bytes were fast of {hearth['capacity']}"


def mib(count):
    return f"{count / guests.MIB:.0f} MiB"


def table(results, reference):
    rows = []
    for way, result in results.items():
        best = trained_at_largest(result)
        if best is None:
            rows.append([way, "0", "", "", why_larger_fail(result), ""])
            continue
        same = best["losses"] == reference[str(best["batch"])]
        budget = mib(best["capacity"] if "capacity" in best else best["free"])
        rows.append([way, best["batch"], budget, f"{mib(best['peak'][0])}, {mib(best['peak'][1])}",
                     why_larger_fail(result), "the same" if same else "**others**"])
    return runs.markdown(["", "largest batch", "fast memory it may take", "memory at its peak: fast, slow node",
                          "smallest that fails", "losses against plenty of memory"], rows)


def options():
    parser = guests.options(__doc__)
    parser.add_argument("--memory", default=SMALL, help="of the fast node and the slow one (default %(default)s)")
    parser.add_argument("--first", type=int, default=FIRST, help="batch to begin with (default %(default)s)")
    parser.add_argument("--steps", type=int, default=STEPS, help="of each training (default %(default)s)")
    return guests.parsed(parser)


def main():
    arguments = options()
    if arguments.in_guest:
        guests.in_guest(arguments.in_guest, work)
        return 0
    task = {"do": "search", "server": str(arguments.server), "library": str(arguments.library),
            "steps": arguments.steps, "first": arguments.first}
    results = guests.boot(__file__, task, KERNEL, NODES, arguments.memory, BOOT_TIMEOUT)
    batches = sorted({result["largest"] for result in results.values()} - {0})
    reference = guests.boot(__file__, {**task, "do": "reference", "batches": batches}, KERNEL, NODES, PLENTY,
                            BOOT_TIMEOUT)
    text = table(results, reference)
    document = {"schema_version": SCHEMA_VERSION, "kernel": KERNEL, "memory": arguments.memory,
                "plenty": PLENTY, "steps": arguments.steps, "cpus_here": os.cpu_count(),
                "results": results, "reference": reference}
    return guests.tell(arguments, text, document, list(problems(results, reference, arguments.steps)))


if __name__ == "__main__":
    sys.exit(main())
