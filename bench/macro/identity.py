#!/usr/bin/env python3
"""Does Hearth change anything, and does it lose anything?

Runs every workload plainly and under Hearth and checks that losses and resulting parameters are equal bit for bit,
that the plain run's messages are unchanged, that a profile was made, and that the books balance: tensors allocated =
freed + live, and every byte allocated in the profiled iteration either belongs to an op or is named as outside any.
Exit status 0 only if all of it holds."""
import sys

import runs

BEFORE_KEY, OUTSIDE_KEY = "before", "outside"


def identity_faults(plain, hearth):
    """What differs between the two runs; empty if nothing does."""
    faults = []
    if plain.record["data_crc32"] != hearth.record["data_crc32"]:
        faults.append("the two runs read different input data")
    for number, (expected, got) in enumerate(zip(plain.record["losses"], hearth.record["losses"])):
        if expected != got:
            faults.append(f"losses differ from step {number} on: {expected} became {got}")
            break
    if len(plain.record["losses"]) != len(hearth.record["losses"]):
        faults.append("a different number of steps")
    if plain.record["result_crc32"] != hearth.record["result_crc32"]:
        faults.append("the trained parameters differ")
    return faults


def attribution_faults(profile):
    """Adds up the tensors themselves, so that the report's own sums are checked rather than believed."""
    attribution, tensors = profile["attribution"], profile["tensors"]
    if tensors["omitted"]["tensors"]:
        return []  # the sums below would be short of what was left out
    column = {name: i for i, name in enumerate(tensors["columns"])}
    special = profile["special_op_indices"]
    inside = outside = 0
    for row in tensors["rows"]:
        born, size = row[column["born_op"]], row[column["bytes"]]
        if born == special[OUTSIDE_KEY]:
            outside += size
        elif born != special[BEFORE_KEY]:
            inside += size
    faults = []
    for name, sum_of_tensors in (("in_ops_bytes", inside), ("outside_ops_bytes", outside),
                                 ("total_bytes", inside + outside)):
        if attribution[name] != sum_of_tensors:
            faults.append(f"attribution.{name} is {attribution[name]}, the tensors add up to {sum_of_tensors}")
    if attribution["total_bytes"] == 0:
        faults.append("the profiled iteration allocated nothing")
    return faults


def profile_faults(report, mode):
    faults = []
    profiled, profile = report.get("profiled_iteration"), report.get("profile")
    if not profiled or not profile:
        return [f"no iteration was profiled; {report['iterations']['closed']} iterations were recognised"]
    if profiled["mode"] != mode:
        faults.append(f"profiled in mode {profiled['mode']} instead of {mode}")
    if not profile["complete"]:
        faults.append(f"the profile is incomplete: {profile['anomalies']}")
    return faults + attribution_faults(profile)


def accounting_faults(hearth):
    report = hearth.report
    if not report:
        return ["Hearth wrote no report"]
    faults, counters = [], report["counters"]
    if report["state"] == "disabled":
        faults.append("Hearth stood aside: " + "; ".join(f"{d['what']}: {d['cause']}" for d in report["degradations"]))
    if not report["process"]["adapter"]["file"]:
        faults.append("no op was seen, the adapter is absent: " + report["process"]["adapter"]["absent_because"])
    elif report["iterations"]["ends_found_by"] != "optimizer":
        faults.append(f"iterations ended by {report['iterations']['ends_found_by']} instead of the optimizer's step")
    if counters["allocations"] == 0:
        faults.append("Hearth saw no tensor")
    if counters["allocations"] != counters["frees"] + counters["live_tensors"]:
        faults.append(f"{counters['allocations']} allocations, but {counters['frees']} frees + "
                      f"{counters['live_tensors']} live")
    if counters["untracked"]:
        faults.append(f"{counters['untracked']} tensors were not tracked")
    if hearth.mode in runs.PROFILING_MODES:
        faults += profile_faults(report, hearth.mode)
    return faults


def message_faults(plain, hearth):
    """Hearth may say one line of its own about a degradation; it must not change what the program says."""
    own = set(runs.hearth_lines(hearth.stderr))
    if [line for line in hearth.stderr.splitlines() if line not in own] != plain.stderr.splitlines():
        return ["the program's own messages changed: " + runs.last_line(hearth.stderr)]
    return []


def compare(plain, hearth):
    """All that is wrong with one run under Hearth."""
    if plain.error:
        return [f"the plain run failed: {plain.error}"]
    if hearth.error:
        return [hearth.error]
    return identity_faults(plain, hearth) + message_faults(plain, hearth) + accounting_faults(hearth)


def check_model(model, python, library, modes, options, timeout, settings=()):
    """Yields (run under Hearth, faults) for every mode; all share one plain run."""
    plain = runs.run(model, "plain", python, library, options, timeout)
    for mode in modes:
        hearth = runs.run(model, mode, python, library, options, timeout, settings)
        yield hearth, compare(plain, hearth)


def outcome_row(version, run, faults):
    counters = run.report.get("counters", {})
    attribution = (run.report.get("profile") or {}).get("attribution", {})
    iterations = run.report.get("iterations", {})
    return {"torch": version, "model": run.model, "mode": run.mode, "faults": faults,
            "allocations": counters.get("allocations"), "frees": counters.get("frees"),
            "live": counters.get("live_tensors"), "in_ops_bytes": attribution.get("in_ops_bytes"),
            "outside_ops_bytes": attribution.get("outside_ops_bytes"), "iterations": iterations.get("closed"),
            "ends_found_by": iterations.get("ends_found_by"), "messages": runs.hearth_lines(run.stderr)}


def table(rows):
    columns = ("PyTorch", "model", "mode", "bit-identical, books balance", "allocations", "frees", "live",
               "bytes in ops", "bytes outside", "iterations", "ends found by")
    return runs.markdown(columns, [
        (row["torch"], row["model"], row["mode"], "yes" if not row["faults"] else "**NO**", row["allocations"],
         row["frees"], row["live"], row["in_ops_bytes"], row["outside_ops_bytes"], row["iterations"],
         row["ends_found_by"]) for row in rows])


def main():
    parser = runs.parser(__doc__)
    parser.add_argument("--mode", action="append", choices=[m for m in runs.MODES if m not in ("plain", "disabled")],
                        help="how Hearth runs; repeatable (default: ops, faults, pages)")
    parser.add_argument("--steps", type=int, help="training steps (default 12, dlrm 30)")
    parser.add_argument("--full", action="store_true", help="full sizes instead of --small ones")
    arguments = parser.parse_args()
    versions = runs.check(arguments)
    rows = []
    for python, version in versions.items():
        for model in arguments.model:
            runs.progress(f"{model} on PyTorch {version}")
            options = runs.step_options(model, arguments.steps, arguments.threads, not arguments.full)
            for run, faults in check_model(model, python, arguments.library, arguments.mode or runs.PROFILING_MODES,
                                           options, arguments.timeout, arguments.set):
                rows.append(outcome_row(version, run, faults))
                for fault in faults:
                    runs.progress(f"  {run.mode}: {fault}")
    print(table(rows))
    runs.save(arguments.json, rows)
    return 1 if any(row["faults"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
