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
    wanted = ["torch"] + (["sklearn"] if model in runs.IMAGE_MODELS else [])
    # Finding a module takes a fraction of the time that importing PyTorch does.
    find = f"import importlib.util as u; print(*(m for m in {wanted} if u.find_spec(m) is None))"
    return subprocess.run([python, "-c", find], capture_output=True, text=True, check=True).stdout.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", required=True)
    parser.add_argument("--library", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--mode", action="append", required=True, choices=runs.PROFILING_MODES)
    parser.add_argument("--timeout", type=int, default=280)
    arguments = parser.parse_args()
    missing = missing_module(arguments.python, arguments.model)
    if missing:
        print(f"skip: {arguments.python} has no {missing}")
        return SKIPPED
    failed = False
    for run, faults in identity.check_model(arguments.model, arguments.python, arguments.library, arguments.mode,
                                            runs.step_options(arguments.model, 0, 2, small=True), arguments.timeout):
        print(f"{run.model}, mode {run.mode}: {'; '.join(faults) or 'identical, books balance'}")
        if faults:
            failed = True
            print(run.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
