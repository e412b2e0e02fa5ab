#!/usr/bin/env python3
"""`hearth scale` on real trainings: traces at batches 2 and 4, extrapolated to 8, against a trace at batch 8. Every tensor's
bytes, and the peak, must be those of the real one to 1 %. Exit status 77 = skipped."""
import argparse
import csv
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "bench" / "macro"))
import runs  # noqa: E402
from check_model import SKIPPED, missing_module  # noqa: E402

TOLERANCE = 0.01


def trace(arguments, batch, path):
    options = [*runs.step_options(arguments.model, 0, 1, small=True), "--batch", batch]
    done = runs.run(arguments.model, "ops", arguments.python, arguments.library, options, settings=(f"HEARTH_TRACE={path}",))
    if done.error or not path.is_file():
        sys.exit(f"{arguments.model}, batch {batch}: {done.error or 'no trace was written'}\n{done.stderr}")


def tensors_of(tool, path):
    """Bytes of the tensors that were there before, in no order; those of the iteration's own, in theirs; the peak."""
    dumped = subprocess.run([tool, "trace", "--dump", str(path)], capture_output=True, text=True, check=True).stdout
    before, born, alive, live, peak = [], [], {}, 0, 0
    for event in csv.DictReader(dumped.splitlines()):
        if event["type"] in ("LIVE", "ALLOC"):
            alive[event["tensor"]] = bytes_ = int(event["value"])
            (before if event["type"] == "LIVE" else born).append(bytes_)
            live += bytes_
            peak = max(peak, live)
        elif event["type"] == "FREE":
            live -= alive.pop(event["tensor"])
    return sorted(before), born, peak


def differences(made, real):
    if len(made) != len(real):
        return [f"{len(made)} instead of {len(real)}"]
    return [f"{a} instead of {b} bytes" for a, b in zip(made, real) if abs(a - b) > TOLERANCE * b]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("--python", "--library", "--tool", "--model"): parser.add_argument(name, required=True)
    arguments = parser.parse_args()
    missing = missing_module(arguments.python, arguments.model)
    if missing:
        print(f"skip: {arguments.python} has no {missing}")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="hearth-scale-") as folder:
        paths = {batch: pathlib.Path(folder, f"{batch}.trace") for batch in (2, 4, 8)}
        for batch, path in paths.items(): trace(arguments, batch, path)
        made = pathlib.Path(folder, "made.trace")
        done = subprocess.run([arguments.tool, "scale", f"2={paths[2]}", f"4={paths[4]}", "--to", "8", "-o", made, "--json"],
                              capture_output=True, text=True, check=False)
        if done.returncode: sys.exit(done.stderr)
        figures = json.loads(done.stdout)
        before, born, peak = tensors_of(arguments.tool, made)
        real_before, real_born, real_peak = tensors_of(arguments.tool, paths[8])
    wrong = differences(before, real_before) + differences(born, real_born) + differences([peak], [real_peak])
    if figures["tensors_growing"] == 0 or peak <= figures["peak_bytes"][1]: wrong.append("nothing grows")
    print(f"{arguments.model}: {len(before)} and {len(born)} tensors, peak {peak} for {real_peak}, {figures}")
    for sentence in wrong[:20]: print(f"wrong: {sentence}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
