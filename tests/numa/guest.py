"""Boots of scripts/vm for the tests of this folder: jobs in, results out."""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
VM = HERE.parents[1] / "scripts" / "vm"
SKIP = 77  # what CTest is told to take for a skip
GUEST_PYTHON = "/usr/bin/python3"


@dataclass
class Job:
    name: str
    command: list
    environment: dict = field(default_factory=dict)
    timeout: float = 200
    where: list = field(default_factory=list)
    alone: bool = False  # after all others, whatever at_once


def skip(reason):
    print(f"skip: {reason}")
    sys.exit(SKIP)


def arguments(description, *more):
    """The options that every test has; `more` are (name, options) for argparse."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--kernel", required=True)
    parser.add_argument("--nodes", required=True)
    for name, options in more:
        parser.add_argument(name, **options)
    return parser.parse_args()


def skip_unless_possible(kernel):
    if os.environ.get("HEARTH_TEST_VM") == "off":
        skip("HEARTH_TEST_VM=off, which scripts/test --no-vm sets: no guests")
    check = subprocess.run([VM, "--check", "--kernel", kernel], capture_output=True, text=True, check=False)
    if check.returncode == SKIP:
        skip(check.stderr.strip())
    if check.returncode != 0:
        sys.exit(f"scripts/vm --check ended with {check.returncode}: {check.stderr}")


def clean_environment():
    """Nothing of Hearth's but where the guests come from, one thread: a guest has few CPUs and none to spare."""
    kept = {name: value for name, value in os.environ.items()
            if (not name.startswith("HEARTH_") or name == "HEARTH_VM_CACHE") and name != "LD_PRELOAD"}
    return {**kept, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}


def run(jobs, kernel, nodes, cpus=1, timeout=400, folder=None, at_once=1):
    """Runs the jobs in one boot and returns their results by name. A job that was never reached is not among them."""
    skip_unless_possible(kernel)
    with tempfile.TemporaryDirectory(prefix="hearth-numa.") as temporary:
        folder = Path(folder or temporary)
        (folder / "jobs.json").write_text(json.dumps([vars(job) for job in jobs]))
        guest = subprocess.run([VM, "--kernel", kernel, "--nodes", nodes, "--cpus", str(cpus), "--timeout", str(timeout),
                                "--writable", folder, "--", GUEST_PYTHON, HERE / "guest_jobs.py", folder, str(at_once)],
                               env=clean_environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
        print(guest.stdout, end="", flush=True)
        written = folder / "results.json"
        results = json.loads(written.read_text()) if written.exists() else {}
    if guest.returncode != 0 and len(results) == len(jobs):
        sys.exit(f"the guest ended with status {guest.returncode} after its last job")
    return results


def problems_of(jobs, results):
    """Every job must have been reached and have ended well."""
    for job in jobs:
        result = results.get(job.name)
        if result is None:
            yield f"{job.name}: the guest never got to it"
        elif result["status"] != 0:
            why = "was stopped, out of time" if result["timed_out"] else f"ended with {result['status']}"
            yield f"{job.name} {why}:\n{result['stdout'][-3000:]}{result['stderr'][-3000:]}"


def end(problems, success):
    """Prints what is wrong, if anything, and ends the test."""
    problems = list(problems)
    if problems:
        print("\n".join(problems))
        print(f"{len(problems)} problems")
        sys.exit(1)
    print(success)
