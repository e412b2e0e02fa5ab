#!/usr/bin/env python3
"""`hearth scale --depth` on real trainings: traces of 3 and 4 layers, extrapolated to 8, against a trace of 8. Event by event they
must be the same: ops, bytes, accesses, and which tensor is meant; so must what is alive before, and the peak. Exit
status 77 = skipped."""
import argparse
import collections
import csv
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "bench" / "macro"))
import runs  # noqa: E402
from check_model import SKIPPED, missing_module  # noqa: E402

SMALL, LARGE, TARGET = 3, 4, 8
UNORDERED = ("FAULT", "GUARD", "SAMPLE")


def trace(arguments, layers, path):
    options = [*runs.step_options(arguments.model, 0, 1, small=True), "--layers", layers]
    done = runs.run(arguments.model, arguments.mode, arguments.python, arguments.library, options,
                    settings=(f"HEARTH_TRACE={path}", "HEARTH_MODULES=1"))
    if done.error or not path.is_file():
        sys.exit(f"{arguments.model}, {layers} layers: {done.error or 'no trace was written'}\n{done.stderr}")


def told_by(tool, path):
    """The events, with tensors and sequence numbers in the order in which they first come; what was there before; the peak."""
    dumped = subprocess.run([tool, "trace", "--dump", str(path)], capture_output=True, text=True, check=True).stdout
    events, before, tensors, sequences = [], collections.Counter(), {}, {}
    alive, live, peak = {}, 0, 0
    for event in csv.DictReader(dumped.splitlines()):
        kind, value = event["type"], event["value"]
        if kind in ("LIVE", "ALLOC"):
            alive[event["tensor"]] = int(value)
            live += int(value)
            peak = max(peak, live)
        elif kind == "FREE":
            live -= alive.pop(event["tensor"])
        if kind == "LIVE":
            before[event["name"], value] += 1
        elif kind not in UNORDERED:
            tensor = tensors.setdefault(event["tensor"], len(tensors)) if event["tensor"] not in ("", "0") else None
            if kind == "OP_BEGIN" and value != "-1": value = sequences.setdefault(value, len(sequences))
            elif kind not in ("ALLOC", "OPERAND"): value = None
            events.append((kind, event["name"], event["scope"], value, event["access"], tensor))
    return events, before, peak


def differences(made, real):
    if len(made) != len(real): return [f"{len(made)} events instead of {len(real)}"]
    return [f"event {i} is {a}, not {b}" for i, (a, b) in enumerate(zip(made, real)) if a != b]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("--python", "--library", "--tool", "--model"): parser.add_argument(name, required=True)
    parser.add_argument("--mode", default="ops")
    arguments = parser.parse_args()
    missing = missing_module(arguments.python, arguments.model)
    if missing:
        print(f"skip: {arguments.python} has no {missing}")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="hearth-depth-") as folder:
        paths = {layers: pathlib.Path(folder, f"{layers}.trace") for layers in (SMALL, LARGE, TARGET)}
        for layers, path in paths.items(): trace(arguments, layers, path)
        made = pathlib.Path(folder, "made.trace")
        done = subprocess.run([arguments.tool, "scale", f"{SMALL}={paths[SMALL]}", f"{LARGE}={paths[LARGE]}", "--to", str(TARGET),
                               "--depth", "-o", made, "--json"], capture_output=True, text=True, check=False)
        if done.returncode: sys.exit(done.stderr)
        figures = json.loads(done.stdout)
        events, before, peak = told_by(arguments.tool, made)
        real_events, real_before, real_peak = told_by(arguments.tool, paths[TARGET])
    wrong = differences(events, real_events)
    if before != real_before: wrong.append(f"alive before: {before - real_before} more, {real_before - before} less")
    if peak != real_peak or peak != figures["peak_bytes"][2]: wrong.append(f"peak {peak} instead of {real_peak}")
    if figures["units_added"] != TARGET - LARGE or figures["unit_layers"] != 1: wrong.append("a unit is not a layer")
    print(f"{arguments.model}: {len(events)} events, peak {peak} for {real_peak}, {figures}")
    for sentence in wrong[:20]: print(f"wrong: {sentence}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
