"""Starts Python programs that import PyTorch, each as a child of this process, which has imported it already.

To start PyTorch takes longer than most trainings of the tests. A child is forked before the first tensor, which is when
Hearth reads its knobs and begins; from there on it is a process like any other, with the environment, the output and the
exit of its own. What a library preloaded or PyTorch reads as it is loaded is this process's: programs about that start
afresh (runs.py).

A line of input is one program: {"program", "folder", "environment", "timeout"}. Its output goes to FOLDER/stdout and
stderr; at its end, what waitpid gave, or 'timeout', goes into the pipe FOLDER/status. Ends with its input.
"""
import gc
import json
import os
import select
import signal
import sys
import time
import types

import torch

if hasattr(torch, "compile"): import torch._dynamo  # optimizers would, as the first of them is made


def redirect(path, descriptor, flags):
    opened = os.open(path, flags, 0o600)
    os.dup2(opened, descriptor)
    os.close(opened)


def become(wanted):
    """In the child: what its interpreter would have, had it been started for it. Returns the program and its names."""
    redirect(os.devnull, 0, os.O_RDONLY)
    for descriptor, name in ((1, "stdout"), (2, "stderr")):
        redirect(os.path.join(wanted["folder"], name), descriptor, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.environ.clear()
    os.environ.update(wanted["environment"])
    path = wanted["program"]
    sys.argv, sys.path[0] = [path], os.path.dirname(path)
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    main.__file__ = path
    with open(path) as file: return compile(file.read(), path, "exec"), vars(main)


def tell(folder, status):
    pipe = os.open(os.path.join(folder, "status"), os.O_WRONLY)
    os.write(pipe, str(status).encode())
    os.close(pipe)


class Running:
    def __init__(self): self.children = {}  # by a descriptor that tells of its end: process id, folder, end of its time

    def add(self, pid, wanted):
        self.children[os.pidfd_open(pid)] = pid, wanted["folder"], time.monotonic() + wanted["timeout"]

    def wait(self):
        """Until a child has ended, or its time, or there is input: whether there is."""
        left = min((until - time.monotonic() for _, _, until in self.children.values()), default=None)
        ready = select.select([0, *self.children], [], [], left and max(left, 0))[0]
        for ended, (pid, folder, until) in list(self.children.items()):
            late = time.monotonic() >= until
            if ended not in ready and not late: continue
            if ended not in ready: os.kill(pid, signal.SIGKILL)
            status = os.waitpid(pid, 0)[1]
            os.close(ended)
            del self.children[ended]
            tell(folder, status if ended in ready else "timeout")
        return 0 in ready

    def kill(self):
        for pid, _, _ in self.children.values(): os.kill(pid, signal.SIGKILL)


def next_program(running):
    """The next program, in the child that is to run it; None in this process, at the end of the input."""
    text = b""
    while True:
        if not running.wait(): continue
        more = os.read(0, 1 << 16)
        if not more: return None
        *lines, text = (text + more).split(b"\n")
        for wanted in map(json.loads, lines):
            pid = os.fork()
            if pid == 0: return become(wanted)
            running.add(pid, wanted)


gc.freeze()  # or each child's collector would go through all of PyTorch, and so copy it
alive = Running()
program = next_program(alive)
if program is None: alive.kill()
else: exec(*program)
