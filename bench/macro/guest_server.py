"""Trainings in the guest of scripts/vm, one after the other: what largest_batch.py and kernel_tiering.py share.

`boot` starts a guest that runs the same program again, with --in-guest; everything else is for there. The trainings are
children of hearth_serve (tests/numa/serve.cpp), which has PyTorch loaded. It and Python lie on the slow node, where there
is room, so that the fast node is left to the trainings."""
import argparse
import ctypes
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, field

import runs

PROJECT = runs.PROJECT
FAST, SLOW = 0, 1
MIB = 1 << 20
PAGE = 4096
SET_MEMPOLICY = 238  # x86-64's number of the system call
MPOL_DEFAULT, MPOL_PREFERRED, MPOL_BIND = 0, 1, 2
# Beside the tensors in the books: page tables, small tensors, what the kernel keeps free.
RESERVE = 20 * MIB


# --- outside --------------------------------------------------------------------------------------------------------

def options(description):
    """A parser with what both programs take."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=pathlib.Path, default=PROJECT / "build" / "lib" / "libhearth.so")
    parser.add_argument("--server", type=pathlib.Path, help="default bin/hearth_serve beside the library's folder")
    parser.add_argument("--json", metavar="OUT")
    parser.add_argument("--markdown", metavar="OUT")
    parser.add_argument("--in-guest", metavar="FOLDER", help=argparse.SUPPRESS)
    return parser


def parsed(parser):
    arguments = parser.parse_args()
    arguments.library = arguments.library.resolve()
    arguments.server = arguments.server or arguments.library.parent.parent / "bin" / "hearth_serve"
    return arguments


def tell(arguments, text, document, found):
    """Prints and writes what came of it. The exit status: 1 if problems were found."""
    print(text)
    if arguments.markdown:
        pathlib.Path(arguments.markdown).write_text(text + "\n", encoding="utf-8")
    runs.save(arguments.json, document)
    for each in found:
        runs.progress(each)
    return 1 if found else 0


def boot(program, task, kernel, nodes, memory, timeout):
    """Runs `program --in-guest FOLDER`, which finds FOLDER/task.json and writes FOLDER/results.json, and returns these."""
    environment = {name: value for name, value in os.environ.items()
                   if (not name.startswith("HEARTH_") or name == "HEARTH_VM_CACHE") and name != "LD_PRELOAD"}
    environment |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    with tempfile.TemporaryDirectory(prefix="hearth-guest.") as folder:
        pathlib.Path(folder, "task.json").write_text(json.dumps(task), encoding="utf-8")
        done = subprocess.run([PROJECT / "scripts" / "vm", "--kernel", kernel, "--nodes", nodes, "--memory", memory,
                               "--timeout", str(timeout), "--writable", folder, "--", "/usr/bin/python3",
                               pathlib.Path(program).resolve(), "--in-guest", folder],
                              env=environment, stdin=subprocess.DEVNULL, stdout=sys.stderr, check=False)
        written = pathlib.Path(folder, "results.json")
        if done.returncode or not written.exists():
            sys.exit(done.returncode or f"the guest wrote no {written.name}")
        return json.loads(written.read_text(encoding="utf-8"))


# --- in the guest ---------------------------------------------------------------------------------------------------

def in_guest(folder, work):
    """Does the work and leaves its results for `boot`."""
    prefer_slow()
    task = json.loads(pathlib.Path(folder, "task.json").read_text(encoding="utf-8"))
    pathlib.Path(folder, "results.json").write_text(json.dumps(work(task, folder)), encoding="utf-8")


def set_policy(mode, node=None):
    """Where this process gets its pages from now on, and those it starts."""
    mask = ctypes.byref(ctypes.c_ulong(1 << node)) if node is not None else None
    if ctypes.CDLL(None).syscall(SET_MEMPOLICY, mode, mask, 64 if mask else 0):
        sys.exit("set_mempolicy failed: has the guest two nodes?")


def prefer_slow():
    set_policy(MPOL_PREFERRED, SLOW)


def node_bytes(node, entry):
    for line in pathlib.Path(f"/sys/devices/system/node/node{node}/meminfo").read_text(encoding="ascii").splitlines():
        words = line.split()
        if words[2] == f"{entry}:":
            return int(words[3]) * 1024
    raise KeyError(entry)


def free_bytes(node):
    """What is free once the kernel has dropped what it need not keep."""
    pathlib.Path("/proc/sys/vm/drop_caches").write_text("3\n", encoding="ascii")
    return node_bytes(node, "MemFree")


def counters():
    lines = (line.split() for line in pathlib.Path("/proc/vmstat").read_text(encoding="ascii").splitlines())
    return {name: int(value) for name, value in lines}


def anonymous_bytes(pid):
    """[on the fast node, on the slow node]: what the process has allocated and touched."""
    pages = [0, 0]
    for line in pathlib.Path(f"/proc/{pid}/numa_maps").read_text(encoding="utf-8", errors="replace").splitlines():
        words = dict(word.partition("=")[::2] for word in line.split()[2:])
        if "anon" in words and "file" not in words:
            for node in (FAST, SLOW):
                pages[node] += int(words.get(f"N{node}", 0))
    return [count * PAGE for count in pages]


@dataclass
class Training:
    """What came of one: what `look` returned before it began, and for each step after the forward pass and at the end."""
    batch: int
    begin: object = None
    losses: list = field(default_factory=list)
    steps: list = field(default_factory=list)
    status: int = 0
    out_of_memory: bool = False  # the kernel ended it
    out_of_time: bool = False
    report: dict = field(default_factory=dict)

    def finished(self, steps):
        return self.status == 0 and len(self.losses) == steps


class Server:
    """hearth_serve with some variables; trains what it is told."""

    def __init__(self, program, environment, folder):
        self._folder = pathlib.Path(folder)
        self._process = subprocess.Popen([program], env={**os.environ, **environment}, stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, text=True)

    def close(self):
        self._process.stdin.close()
        self._process.wait()

    def _say(self, line):
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def train(self, batch, steps, node="-", settings=(), look=lambda pid, when: None, timeout=300):
        training, before = Training(batch), counters()["oom_kill"]
        report = self._folder / "report.json"
        report.unlink(missing_ok=True)
        self._say(" ".join([str(batch), str(steps), str(node), f"HEARTH_REPORT={report}", *settings]))
        pid, watch = 0, None
        for line in self._process.stdout:
            word, _, value = line.strip().partition(" ")
            if word == "status":
                training.status = int(value)
                break
            if word == "begin":
                pid = int(value)
                watch = threading.Timer(timeout, os.kill, (pid, signal.SIGKILL))
                watch.start()
                training.begin = look(pid, word)
            elif word == "forward":
                training.steps.append([look(pid, word)])
            elif word == "loss":
                training.losses.append(value)
                training.steps[-1].append(look(pid, word))
            self._say("")
        if watch:
            training.out_of_time = watch.finished.is_set()
            watch.cancel()
        training.out_of_memory = counters()["oom_kill"] > before
        if report.exists():
            training.report = json.loads(report.read_text(encoding="utf-8"))
        return training
