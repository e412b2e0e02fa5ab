"""Python's side of recorder.cpp: attaches the adapter under test and turns what it recorded into a tree of ops.

HEARTH_TEST_RECORDER and HEARTH_TEST_ADAPTER name the two libraries; HEARTH_TEST_BRIDGE is the version of the bridge that
the recorder claims to have, by default the newest.
"""
import contextlib
import ctypes
import errno
import os
import unittest

import torch

OFF, STEPS, MARKS, OPERANDS = range(4)
UNKNOWN, READ, WRITE, READ_WRITE = range(4)
FUNCTION, BACKWARD_FUNCTION, TORCHSCRIPT_FUNCTION = 0, 1, 2
TORCH = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])

lib = ctypes.CDLL(os.environ["HEARTH_TEST_RECORDER"])
lib.recorder_take.restype = ctypes.c_char_p
lib.recorder_version.restype = ctypes.c_char_p
lib.recorder_level_at.argtypes = [ctypes.c_char, ctypes.c_uint32]
for counter in ("events", "allocations", "releases"):
    getattr(lib, "recorder_" + counter).restype = ctypes.c_uint64
bridge = int(os.environ.get("HEARTH_TEST_BRIDGE", lib.recorder_bridge_version()))
refused = lib.recorder_attach(os.environ["HEARTH_TEST_ADAPTER"].encode(), bridge, lib.recorder_bridge_size(bridge))
if refused:
    raise RuntimeError(f"the adapter refused to attach: {errno.errorcode.get(refused, refused)}")


class Op:
    """One op: name, scope, what it announced and what ran inside it, in order."""

    def __init__(self, name, scope, sequence):
        self.name, self.scope, self.sequence = name, scope, sequence
        self.operands, self.inner, self.ended = [], [], False  # of operands: storage, its bytes, bytes spanned, access
        self.gathers = []  # those of which only rows are touched: storage, rows, bytes of a row, access

    def walk(self):
        yield self
        for op in self.inner:
            yield from op.walk()


class Recording:
    """Events of all threads; .threads maps a thread to its outermost ops."""

    def __init__(self, text):
        events, names = ("\n" + text).split("\nnames\n", 1)
        self.names = {0: ""}
        for line in names.splitlines():
            number, name = line.split("\t", 1)
            self.names[int(number)] = name
        self.events = [line.split() for line in events.splitlines() if line]
        self.steps = []  # ("begin" or "end", name, optimizer, ops open around it)
        self.modules = []  # ("enter" or "exit", name)
        self.threads = {}
        self.unmatched_ends = 0
        self.stray_operands = 0
        self._open = {}
        for kind, thread, *numbers in self.events:
            self._add(kind, thread, [int(number) for number in numbers])

    def _add(self, kind, thread, numbers):
        stack = self._open.setdefault(thread, [])
        outermost = self.threads.setdefault(thread, [])
        if kind == "B":
            op = Op(self.names[numbers[0]], numbers[1], numbers[2])
            (stack[-1].inner if stack else outermost).append(op)
            stack.append(op)
        elif kind == "E":
            if stack:
                stack.pop().ended = True
            else:
                self.unmatched_ends += 1
        elif kind == "O":
            if stack:
                stack[-1].operands.append(tuple(numbers))
            else:
                self.stray_operands += 1
        elif kind == "G":
            storage, of, rows, row, access = numbers
            stack[-1].operands.append((storage, of, rows * row, access))
            stack[-1].gathers.append((storage, rows, row, access))
        elif kind in "Ss":
            self.steps.append(("begin" if kind == "S" else "end", self.names[numbers[0]], numbers[1], len(stack)))
        else:
            self.modules.append(("enter" if kind == "M" else "exit", self.names[numbers[0]]))

    def ops(self):
        for outermost in self.threads.values():
            for op in outermost:
                yield from op.walk()

    def named(self, name):
        return [op for op in self.ops() if op.name == name]

    def open_ops(self):
        return [op.name for op in self.ops() if not op.ended]

    def accesses(self, name, tensor):
        """Accesses to the tensor's storage announced by ops of this name."""
        address = storage_address(tensor)
        return [operand[3] for op in self.named(name) for operand in op.operands if operand[0] == address]

    def gathers(self, name, tensor):
        """(rows, bytes of a row, access) of the tensor's storage, as announced by ops of this name."""
        address = storage_address(tensor)
        return [gather[1:] for op in self.named(name) for gather in op.gathers if gather[0] == address]


def storage_address(tensor):
    """First byte of the storage, computed so that a copy-on-write storage stays shared."""
    if tensor.storage_offset() == 0 and hasattr(torch._C, "_data_address"):
        return torch._C._data_address(tensor)
    return tensor.data_ptr() - tensor.storage_offset() * tensor.element_size()


def storage_bytes(tensor):
    return (tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()).nbytes()


@contextlib.contextmanager
def recording(level):
    """Yields a list that holds the Recording after the block."""
    lib.recorder_take()
    result = []
    assert lib.recorder_level(level) == 0
    try:
        yield result
    finally:
        assert lib.recorder_level(OFF) == 0
        result.append(Recording(lib.recorder_take().decode()))


class AdapterTest(unittest.TestCase):
    def record(self, action, level=OPERANDS):
        with recording(level) as result:
            action()
        self.assert_paired(result[0])
        return result[0]

    def assert_paired(self, record):
        self.assertEqual(record.open_ops(), [])
        self.assertEqual(record.unmatched_ends, 0)
        self.assertEqual(record.stray_operands, 0)
        begun = [step[1:3] for step in record.steps if step[0] == "begin"]
        ended = [step[1:3] for step in record.steps if step[0] == "end"]
        self.assertEqual(sorted(begun), sorted(ended))
