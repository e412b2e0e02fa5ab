"""`hearth scale` from outside. Arguments: the tool, tests/data/small.trace. What it reckons: tests/unit/scale."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL, TRACE = (os.path.abspath(path) for path in sys.argv[1:3])
del sys.argv[1:3]


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
        self.assertEqual(result.returncode, 1)


if __name__ == "__main__":
    unittest.main()
