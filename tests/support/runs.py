"""Whole programs with and without Hearth, for the Python tests."""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

LIBRARY = os.environ.get("HEARTH_TEST_LIBRARY", "")
PYTHON = os.environ.get("HEARTH_TEST_PYTHON", sys.executable)


def clean_environment():
    """The caller's environment without anything of Hearth's."""
    return {k: v for k, v in os.environ.items() if not k.startswith("HEARTH_") and k != "LD_PRELOAD"}


def run(command, preload=None, timeout=120, **variables):
    """Runs `command`; `preload` is a list of libraries (None: plain). Returns the finished process, text captured.

    Plans are not judged by what steps take, unless asked for: beside other tests they take now this, now that."""
    environment = clean_environment()
    if preload:
        environment["LD_PRELOAD"] = ":".join(preload)
        environment["HEARTH_TRIALS"] = "0"
    environment.update({k: str(v) for k, v in variables.items()})
    return subprocess.run(command, env=environment, timeout=timeout, text=True, errors="replace",
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)


def run_python(script, preload=None, timeout=300, python=None, **variables):
    """Runs Python source text in a file of its own (spawned workers import it again)."""
    with tempfile.TemporaryDirectory(prefix="hearth-test-") as folder:
        path = Path(folder) / "program.py"
        path.write_text(script)
        return run([python or PYTHON, str(path)], preload=preload, timeout=timeout, **variables)


def once(pairs):
    """Of a JSON object's members; a name that stands there twice hides one of the two from most readers."""
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError(f"a name stands twice among {[name for name, _ in pairs]}")
    return members


def run_with_report(script, timeout=300, **variables):
    """Runs Python source text under Hearth; returns the finished process and the report as a dict (None: none written)."""
    with tempfile.TemporaryDirectory(prefix="hearth-test-") as folder:
        path = Path(folder) / "report.json"
        done = run_python(script, preload=[LIBRARY], timeout=timeout, HEARTH_REPORT=path, **variables)
        return done, json.loads(path.read_text(), object_pairs_hook=once) if path.exists() else None
