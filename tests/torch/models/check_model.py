#!/usr/bin/env python3
"""One workload of bench/models under Hearth, small sizes: bit-identical to the plain run, books balanced.

What is at stake: the user's training must come out the same to the last bit, and no tensor may escape the books.
The checks are those of bench/macro/identity.py; all modes are compared with one plain run. Exit status 77 = skipped."""
import argparse
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "bench" / "macro"))
import identity  # noqa: E402
import runs  # noqa: E402

SKIPPED = 77


def missing_module(python, model):
    wanted = ["torch"] + (["sklearn.datasets"] if model in runs.IMAGE_MODELS else [])
    for module in wanted:
        done = subprocess.run([python, "-c", f"import {module}"], capture_output=True, check=False)
        if done.returncode:
            return module
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", required=True)
    parser.add_argument("--library", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--mode", action="append", required=True, choices=runs.PROFILING_MODES)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--timeout", type=int, default=280)
    arguments = parser.parse_args()
    missing = missing_module(arguments.python, arguments.model)
    if missing:
        print(f"skip: {arguments.python} has no {missing}")
        return SKIPPED
    failed = False
    for run, faults in identity.check_model(arguments.model, arguments.python, arguments.library, arguments.mode,
                                            ["--small", "--steps", arguments.steps], arguments.timeout):
        print(f"{run.model}, mode {run.mode}: {'; '.join(faults) or 'identical, books balance'}")
        if faults:
            failed = True
            print(run.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
