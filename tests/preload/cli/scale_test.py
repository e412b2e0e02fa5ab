"""`hearth scale` from outside. Arguments: the tool, tests/data/small.trace. What it reckons: tests/unit/scale."""
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

TOOL, TRACE = (os.path.abspath(path) for path in sys.argv[1:3])
del sys.argv[1:3]


LIVE, ALLOC, FREE, BEGIN, END, OPERAND = range(1, 7)
NAMES = ["linear", "backward", "step"]


def layered_trace(path, depth):
    """The trace of a step of so many layers: forward, backward, and the optimizer's loop (docs/trace-format.md)."""
    events, clock = [], 1_000_000

    def event(kind, tensor=0, value=0, name=0, access=0):
        nonlocal clock
        clock += 100
        events.append(struct.pack("<QqIIBBBBHH", clock, value, tensor, name, kind, 0, access, 0, 0, 0))

    def op(name, reads, makes=None, frees=()):
        event(BEGIN, value=-1, name=name)
        for tensor, size in reads: event(OPERAND, tensor, size, access=1)
        if makes: event(ALLOC, makes, 4096)
        for tensor in frees: event(FREE, tensor)
        event(END, name=name)

    for layer in range(depth): event(LIVE, 1 + layer, 8192)
    made = [100 + layer for layer in range(depth)]
    for layer in range(depth): op(1, [(1 + layer, 8192)] + [(made[layer - 1], 4096)] * (layer > 0), made[layer])
    for layer in reversed(range(depth)): op(2, [(1 + layer, 8192)], 200 + layer, [made[layer]])
    for layer in range(depth): op(3, [(1 + layer, 8192), (200 + layer, 4096)], None, [200 + layer])

    def text(value): return struct.pack("<I", len(value)) + value.encode()
    def padded(raw): return raw + b"\0" * (-len(raw) % 8)
    info = padded(text("mode") + text("ops") + struct.pack("<I", 0))
    names = padded(b"".join(map(text, NAMES)))
    body = info + names + b"".join(events)
    header = struct.pack("<8sIIQQQQIII", b"HEARTHTR", 1, 0x01020304, 64 + len(body) + 8, len(events), 0, len(names),
                         len(NAMES), 32, len(info))
    path.write_bytes(header + struct.pack("<I", zlib.crc32(header)) + body + struct.pack("<II", zlib.crc32(body), 0x01020304))
    return path


class Scale(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hearth-scale-")
        self.addCleanup(folder.cleanup)
        self.out = pathlib.Path(folder.name, "out.trace")

    def tool(self, *arguments):
        return subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True, timeout=60)

    def scaled(self, *options):
        result = self.tool("scale", f"2={TRACE}", f"4={TRACE}", "--to", "8.5", "-o", self.out, *options)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout

    def events(self, path):
        return self.tool("trace", "--dump", path).stdout

    def test_what_does_not_grow_stays_and_the_table_tells_so(self):
        text = self.scaled()
        for words in ("2 and 4, extrapolated to 8.5: nothing of that was measured", "events ", "0 of them grow", "peak "):
            self.assertIn(words, text)
        figures = json.loads(self.scaled("--json"))
        self.assertEqual(figures["sizes"], [2, 4, 8.5])
        self.assertEqual(len(set(figures["peak_bytes"])), 1)
        self.assertGreater(figures["peak_bytes"][0], 0)
        self.assertEqual((figures["events_alone"], figures["tensors_growing"]), (0, 0))

        def without_times(text): return [line.split(",", 2)[::2] for line in text.splitlines()]

        self.assertEqual(without_times(self.events(self.out)), without_times(self.events(TRACE)))

    def test_every_reader_tells_that_it_is_no_measurement(self):
        self.scaled()
        words = "EXTRAPOLATED from sizes 2 and 4 to 8.5"
        for command in (("trace",), ("plan", "--min-size", "256"), ("plan", "--min-size", "256", "--fast", "50%"),
                        ("sweep", "--min-size", "256", "--points", "1")):
            self.assertIn(words, self.tool(command[0], self.out, *command[1:]).stdout, command)
            self.assertNotIn("EXTRAPOLATED", self.tool(command[0], TRACE, *command[1:]).stdout, command)
        for command in ("plan", "sweep"):
            told = [json.loads(self.tool(command, path, "--min-size", "256", "--json").stdout)["extrapolated"]
                    for path in (self.out, TRACE)]
            self.assertEqual(told, ["from sizes 2 and 4 to 8.5", None])
        self.assertIn("made from an extrapolated trace", self.tool("report", self.out, "--json").stdout)
        again = self.tool("scale", f"2={TRACE}", f"4={self.out}", "--to", "8", "-o", self.out)
        self.assertEqual(again.returncode, 1)
        self.assertIn("extrapolated itself", again.stderr)

    def test_nonsense_is_refused_in_a_sentence(self):
        for status, words, *arguments in (
                (2, "not SIZE=TRACE", TRACE, f"4={TRACE}", "--to", "8"),
                (2, "not SIZE=TRACE", f"x={TRACE}", f"4={TRACE}", "--to", "8"),
                (2, "not SIZE=TRACE", f"0={TRACE}", f"4={TRACE}", "--to", "8"),
                (2, "different sizes", f"4={TRACE}", f"4={TRACE}", "--to", "8"),
                (2, "larger than both", f"4={TRACE}", f"2={TRACE}", "--to", "4"),
                (2, "--to: expected a number", f"2={TRACE}", f"4={TRACE}", "--to", "nan"),
                (2, "--to: expected a number", f"2={TRACE}", f"4={TRACE}", "--to", "1e30"),
                (1, "no-such.trace", "2=no-such.trace", f"4={TRACE}", "--to", "8")):
            result = self.tool("scale", *arguments, "-o", self.out)
            self.assertEqual(result.returncode, status, result.stderr)
            self.assertIn(words, result.stderr)
            self.assertFalse(self.out.exists())
        result = self.tool("scale", f"2={TRACE}", f"4={TRACE}", "--to", "8", "-o", "/no/such/folder/x.trace")
        self.assertEqual((result.returncode, "its directory does not exist" in result.stderr), (2, True), result.stderr)

    def depths(self, small, large, target, *options):
        paths = [layered_trace(self.out.with_name(f"{depth}.trace"), depth) for depth in (small, large)]
        return self.tool("scale", f"{small}={paths[0]}", f"{large}={paths[1]}", "--to", target, "--depth", "-o", self.out, *options)

    def test_layers_are_added_and_the_table_tells_so(self):
        result = self.depths(4, 5, 40)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        for words in ("an extrapolation to 40: nothing of that was measured", "1 layer: ", " 3 ops, 3 tensors", "35 units"):
            self.assertIn(words, result.stdout)
        figures = json.loads(self.depths(4, 5, 40, "--json").stdout)
        self.assertEqual((figures["depths"], figures["units_added"], figures["events_alone"]), ([4, 5, 40], 35, 0))
        self.assertEqual(figures["peak_bytes"], [depth * (8192 + 4096) + 4096 for depth in (4, 5, 40)])
        self.assertIn("EXTRAPOLATED from depths 4 and 5 to 40", self.tool("trace", self.out).stdout)

        def ops(path): return [line.split(",")[4] for line in self.events(path).splitlines() if ",OP_BEGIN," in line]

        self.assertEqual(ops(self.out), ops(layered_trace(self.out.with_name("40.trace"), 40)))

    def test_depths_that_lead_nowhere_are_refused_in_a_sentence(self):
        for words, *depths in (("whole numbers", 4, 5, 7.5), ("two depths that have more", 1, 2, 8)):
            result = self.depths(*depths)
            self.assertEqual(result.returncode, 1)
            self.assertIn(words, result.stderr)
            self.assertFalse(self.out.exists())
        same = self.tool("scale", f"2={TRACE}", f"4={TRACE}", "--to", "8", "--depth", "-o", self.out)
        self.assertEqual(same.returncode, 1)
        self.assertIn("no layer more", same.stderr)


if __name__ == "__main__":
    unittest.main()
