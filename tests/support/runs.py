"""Whole programs with and without Hearth, for the Python tests."""
import atexit
import functools
import json
import os
import select
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

LIBRARY = os.environ.get("HEARTH_TEST_LIBRARY", "")
PYTHON = os.environ.get("HEARTH_TEST_PYTHON", sys.executable)


def clean_environment():
    """The caller's environment without anything of Hearth's."""
    return {k: v for k, v in os.environ.items() if not k.startswith("HEARTH_") and k != "LD_PRELOAD"}


def environment_of(preload, variables):
    """Plans are not judged by what steps take, unless asked for: beside other tests they take now this, now that."""
    environment = clean_environment()
    if preload:
        environment["LD_PRELOAD"] = ":".join(preload)
        environment["HEARTH_TRIALS"] = "0"
    environment.update({k: str(v) for k, v in variables.items()})
    return environment


def run(command, preload=None, timeout=120, **variables):
    """Runs `command`; `preload` is a list of libraries (None: plain). Returns the finished process, text captured."""
    return subprocess.run(command, env=environment_of(preload, variables), timeout=timeout, text=True, errors="replace",
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)


class Nursery:
    """A process that has PyTorch loaded, with or without Hearth, and forks programs (nursery.py)."""

    def __init__(self, preload):
        command = [PYTHON, str(Path(__file__).with_name("nursery.py"))]
        self.process = subprocess.Popen(command, env=environment_of(preload, {"PYTHONHASHSEED": 0}),
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lock = threading.Lock()
        atexit.register(self.process.communicate)  # the end of its input is its own

    def run(self, program, folder, timeout, environment):
        os.mkfifo(folder / "status")
        pipe = os.open(folder / "status", os.O_RDONLY | os.O_NONBLOCK)
        wanted = {"program": str(program), "folder": str(folder), "timeout": timeout, "environment": environment}
        with self.lock:
            self.process.stdin.write(json.dumps(wanted) + "\n")
            self.process.stdin.flush()
        ready = select.select([pipe, self.process.stdout], [], [])[0]
        if pipe not in ready: raise RuntimeError("the nursery has ended")  # it prints nothing itself
        status = os.read(pipe, 100).decode()
        os.close(pipe)
        if status == "timeout": raise subprocess.TimeoutExpired(program, timeout)
        output, errors = ((folder / name).read_text(errors="replace") for name in ("stdout", "stderr"))
        return subprocess.CompletedProcess([PYTHON, str(program)], os.waitstatus_to_exitcode(int(status)),
                                           output, errors)


@functools.cache
def nursery_of(preload):
    return Nursery(preload)


making = threading.Lock()


def run_python(script, preload=None, timeout=300, fresh=False, **variables):
    """Runs Python source text in a file of its own (spawned workers import it again). `fresh`: in an interpreter started
    for it, as is every one with other libraries than Hearth's."""
    with tempfile.TemporaryDirectory(prefix="hearth-test-") as folder:
        path = Path(folder) / "program.py"
        path.write_text(script)
        if fresh or preload not in (None, [LIBRARY]):
            return run([PYTHON, str(path)], preload=preload, timeout=timeout, **variables)
        with making: nursery = nursery_of(tuple(preload or ()))
        return nursery.run(path, Path(folder), timeout, environment_of(preload, variables))


def once(pairs):
    """Of a JSON object's members; a name that stands there twice hides one of the two from most readers."""
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError(f"a name stands twice among {[name for name, _ in pairs]}")
    return members


def run_with_report(script, timeout=300, fresh=False, **variables):
    """Runs Python source text under Hearth; returns the finished process and the report as a dict (None: none written)."""
    with tempfile.TemporaryDirectory(prefix="hearth-test-") as folder:
        path = Path(folder) / "report.json"
        done = run_python(script, preload=[LIBRARY], timeout=timeout, fresh=fresh, HEARTH_REPORT=path, **variables)
        return done, json.loads(path.read_text(), object_pairs_hook=once) if path.exists() else None
