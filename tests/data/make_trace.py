#!/usr/bin/env python3
"""Writes small.trace, the golden trace of the unit tests: one training step of two linear layers, by hand.

It is an implementation of docs/trace-format.md of its own (struct and zlib only), so that the C++ reader is held to the
document and not to the C++ writer. Run without arguments; the output is the same every time.

What happens, with the expectations that tests/unit/profile/golden_test.cpp checks:

  serial  bytes  what it is
  1       4096   weight of layer a, alive before and after: read by addmm (forward), written by sgd
  2       8192   weight of layer b, likewise, but only named by operands in forward
  3       1024   gradient left from the last step, freed by zero_grad
  4       2048   output of a: born in addmm, read in b's addmm and again in backward: activation
  5       512    oneDNN-like scratch inside a's addmm: allocated and freed in it, seen by faults only
  6       256    output of b: born in addmm of b, dies in the loss: short
  7       4096   gradient of a's weight: born in backward, alive at the end: persistent
  8       64     allocated and freed outside any op
"""
import pathlib
import struct
import zlib

LIVE, ALLOC, FREE, OP_BEGIN, OP_END, OPERAND, FAULT, ENTER, EXIT, STEP_BEGIN, STEP_END, GUARD, SAMPLE = range(1, 14)
READ, WRITE, READ_WRITE = 1, 2, 3
FUNCTION, BACKWARD, USER = 0, 1, 7
OWN_PAGES, VIEW = 1, 2

names = [""]
events = []
clock = 1_000_000_000


def name(text):
    if text not in names:
        names.append(text)
    return names.index(text)


def event(kind, *, value=0, tensor=0, name_or_page=0, scope=0, access=0, flags=0, thread=0, after=100):
    global clock
    clock += after
    events.append(struct.pack("<QqIIBBBBHH", clock, value, tensor, name_or_page, kind, scope, access, flags, thread, 0))


def begin(text, scope=FUNCTION, sequence=-1, **more):
    event(OP_BEGIN, name_or_page=name(text), scope=scope, value=sequence, **more)


def end(text, scope=FUNCTION, **more):
    event(OP_END, name_or_page=name(text), scope=scope, **more)


def operand(tensor, access, size, flags=0):
    event(OPERAND, tensor=tensor, access=access, value=size, flags=flags)


def fault(tensor, access, thread=0):
    event(FAULT, tensor=tensor, access=access, thread=thread)


def alloc(tensor, size, flags=OWN_PAGES):
    event(ALLOC, tensor=tensor, value=size, flags=flags)
    if flags & OWN_PAGES:
        event(GUARD, tensor=tensor, access=1)


def live(tensor, size, op):
    event(LIVE, tensor=tensor, value=size, name_or_page=name(op), flags=OWN_PAGES, after=0)
    event(GUARD, tensor=tensor, access=1, after=0)


live(1, 4096, "aten::empty")
live(2, 8192, "aten::empty")
live(3, 1024, "aten::mm")

# The step scope in which the last iteration was closed.
end("Optimizer.step#SGD.step", USER)

begin("Optimizer.zero_grad#SGD.zero_grad", USER)
event(FREE, tensor=3)
end("Optimizer.zero_grad#SGD.zero_grad", USER)

event(ENTER, name_or_page=name("a"))
begin("aten::linear", sequence=5)                    # op 1: announces what its child touches
operand(1, READ, 4096)
begin("aten::addmm", sequence=5)                     # op 2
operand(1, READ, 4096)
alloc(5, 512)
fault(5, WRITE)
fault(5, READ, thread=1)                             # an OpenMP worker
fault(1, READ)
alloc(4, 2048)
fault(4, WRITE)
event(FREE, tensor=5)
operand(4, WRITE, 2048)
end("aten::addmm", after=1000)
operand(4, WRITE, 2048)
end("aten::linear")
event(EXIT, name_or_page=name("a"))

event(ENTER, name_or_page=name("b"))
begin("aten::addmm", sequence=6)                     # op 3
operand(4, READ, 2048)
operand(2, READ, 4096, VIEW)                         # half of it, past the first page
fault(4, READ)
alloc(6, 256)
fault(6, WRITE)
operand(6, WRITE, 256)
end("aten::addmm", after=500)
event(EXIT, name_or_page=name("b"))

begin("aten::mse_loss", sequence=7)                  # op 4
operand(6, READ, 256)
fault(6, READ)
event(FREE, tensor=6)
end("aten::mse_loss")

event(ALLOC, tensor=8, value=64, flags=0)            # by Python, outside any op
event(FREE, tensor=8)

begin("autograd::engine::evaluate_function: AddmmBackward0")  # op 5, the turn
begin("AddmmBackward0", BACKWARD, sequence=5)        # op 6: belongs to module a
begin("aten::mm")                                    # op 7
operand(4, READ, 2048)
fault(4, READ)
alloc(7, 4096)
fault(7, WRITE)
operand(7, WRITE, 4096)
end("aten::mm", after=700)
end("AddmmBackward0", BACKWARD)
event(FREE, tensor=4)
end("autograd::engine::evaluate_function: AddmmBackward0")

event(STEP_BEGIN, name_or_page=name("Optimizer.step#SGD.step"), value=42)
begin("Optimizer.step#SGD.step", USER)               # op 8
begin("aten::add_")                                  # op 9
operand(1, READ_WRITE, 4096)
operand(7, READ, 4096)
fault(1, READ)
fault(1, WRITE)
fault(7, READ)
end("aten::add_", after=300)
event(FREE, tensor=99)                               # never announced
event(STEP_END, name_or_page=name("Optimizer.step#SGD.step"), value=42)


def text(value):
    raw = value.encode()
    return struct.pack("<I", len(raw)) + raw


def padded(raw):
    return raw + b"\0" * (-len(raw) % 8)


info = {"hearth_version": "0.1.0", "torch_version": "2.13.0", "command": "python train.py --name \"caf\u00e9\"",
        "host": "golden", "mode": "faults", "pid": "4711", "unix_ns": "1700000000000000000", "iteration": "3",
        "short_ops": "64", "frequency_base": "2", "frequency_buckets": "4", "a_key_of_a_later_version": "ignored"}
info_section = padded(b"".join(text(key) + text(value) for key, value in info.items()) + struct.pack("<I", 0))
names_section = padded(b"".join(text(each) for each in names[1:]))
body = info_section + names_section + b"".join(events)
header = struct.pack("<8sIIQQQQIII", b"HEARTHTR", 1, 0x01020304, 64 + len(body) + 8, len(events), 0,
                     len(names_section), len(names) - 1, 32, len(info_section))
header += struct.pack("<I", zlib.crc32(header))
trailer = struct.pack("<II", zlib.crc32(body), 0x01020304)
target = pathlib.Path(__file__).resolve().parent / "small.trace"
target.write_bytes(header + body + trailer)
print(f"{target}: {len(events)} events, {len(names) - 1} names, {64 + len(body) + 8} bytes")
