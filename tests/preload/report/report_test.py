"""hearth report and hearth trace from outside. Arguments: the tool, tests/data."""

import csv
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOL, DATA = (os.path.abspath(path) for path in sys.argv[1:3])
del sys.argv[1:3]
TRACE = os.path.join(DATA, "small.trace")


def tool(*arguments, **variables):
    environment = {**os.environ, "COLUMNS": "100", "LC_ALL": "C.UTF-8", **variables}
    return subprocess.run(
        [TOOL, *map(str, arguments)], env=environment, capture_output=True, text=True, timeout=120, encoding="utf-8"
    )


class ReportTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hearth-report-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def ok(self, *arguments, **variables):
        result = tool(*arguments, **variables)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout

    def refused(self, *arguments):
        result = tool(*arguments)
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        return result.stderr

    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def test_text_has_every_section_and_keeps_its_width(self):
        text = self.ok("report", TRACE)
        for part in (
            'python train.py --name "café"', "number 3, mode faults", "99.1 % inside ops", "Classes", "Largest tensors",
            "Accesses against lifetime", "Memory over time", "peak 18.0 KiB in aten::mm", "7 tensors watched",
            "precision 100.0 %, recall 90.0 %", "private to one op", "Not seen, and why", "engine: AddmmBackward0",
        ):  # fmt: skip
            self.assertIn(part, text)
        self.assertNotIn("\033", text, "no colour where nobody looks")
        self.assertIn("█", text)
        for line in text.splitlines():
            if "precision" not in line:
                self.assertLessEqual(len(line), 100, line)

    def test_text_tells_what_is_missing_only_where_it_is(self):
        self.assertNotIn("HEARTH_MODULES=1", self.ok("report", TRACE))
        self.assertNotIn("(0 tensors", self.ok("report", TRACE))

    def test_text_follows_the_locale_and_top(self):
        text = self.ok("report", TRACE, "--top", "2", LC_ALL="C")
        self.assertNotIn("█", text)
        self.assertIn("####", text)
        self.assertIn("8.00 KiB  persistent", text)
        self.assertNotIn("engine: AddmmBackward0", text)

    def test_top_is_at_least_one(self):
        for value in ("-1", "0", "x"):
            result = tool("report", TRACE, "--top", value)
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assertIn("expected a number of at least 1, not " + value, result.stderr)

    def test_json_has_names_instead_of_indices(self):
        report = json.loads(self.ok("report", TRACE, "--json"))
        profile = report["profile"]
        weight = profile["tensors"][0]
        self.assertEqual((weight["serial"], weight["born"], weight["dies"]), (1, "before the iteration", "after it"))
        self.assertEqual(weight["accesses"][1]["operand"], 1)
        self.assertEqual(profile["ops"][7]["name"], "aten::mm")
        self.assertEqual(profile["ops"][7]["module"], "a")
        self.assertEqual(profile["timeline"][0], {"time_ns": 0, "live_bytes": 13312})
        self.assertNotIn("names", profile)
        self.assertIn("name the report itself", self.refused("report", self.file("n.json", json.dumps(report))))

    def test_csv_is_one_line_per_tensor(self):
        rows = list(csv.DictReader(io.StringIO(self.ok("report", TRACE, "--csv"), newline="")))
        self.assertEqual([row["serial"] for row in rows], ["1", "2", "3", "5", "4", "6", "8", "7"])
        self.assertEqual(rows[4]["lifetime"], "activation")
        self.assertEqual(rows[6]["born"], "outside any op")

    def test_accesses_are_counted_as_in_the_classes(self):
        profile = json.loads(self.ok("report", TRACE, "--json"))["profile"]
        covered = 4
        flags = [access["flags"] for tensor in profile["tensors"] for access in tensor["accesses"]]
        self.assertTrue(any(each & covered for each in flags), "or this shows nothing")
        rows = csv.DictReader(io.StringIO(self.ok("report", TRACE, "--csv"), newline=""))
        counted = sum(int(row["accesses"]) for row in rows)
        self.assertEqual(counted, sum(each["accesses"] for each in profile["classes"]))
        self.assertEqual(counted, sum(not each & covered for each in flags))

    def test_trace_counts_and_dumps_events(self):
        text = self.ok("trace", TRACE)
        self.assertIn("71, 0 dropped", text)
        self.assertRegex(text, r"OPERAND +12\n")
        rows = list(csv.DictReader(io.StringIO(self.ok("trace", TRACE, "--dump"), newline="")))
        self.assertEqual(len(rows), 71)
        self.assertEqual((rows[11]["type"], rows[11]["name"], rows[11]["value"]), ("OP_BEGIN", "aten::linear", "5"))
        self.assertEqual((rows[1]["type"], rows[1]["access"]), ("GUARD", "first_page"))

    def test_the_golden_trace_is_what_its_script_writes(self):
        shutil.copy(os.path.join(DATA, "make_trace.py"), self.folder)
        subprocess.run([sys.executable, self.folder / "make_trace.py"], check=True, capture_output=True)
        self.assertEqual((self.folder / "small.trace").read_bytes(), pathlib.Path(TRACE).read_bytes())

    def test_what_is_no_report_is_told_so_in_one_line(self):
        whole = pathlib.Path(TRACE).read_bytes()
        flipped = whole[:200] + bytes([whole[200] ^ 1]) + whole[201:]
        report = '{"generator": {"name": "hearth"}, "schema_version": %d}'
        for content, reason in (
            ("hello", "neither a Hearth report"), ("", "neither"), ('{"a": 1', "neither"), ("[1]", "not a Hearth report"),
            ('{"a": 1}', "not a Hearth report"), ('{"generator": 7}', "not a Hearth report"),
            (report % 2, "schema_version 2"), (report % 1, "damaged"), (whole[:1000], "truncated"),
            (whole[:20], "truncated"), (flipped, "damaged"), (whole + b"x", "too many"),
        ):  # fmt: skip
            with self.subTest(reason=reason):
                path = self.file("f", content)
                message = self.refused("report", path)
                self.assertIn(reason, message)
                self.assertIn(str(path), message)
        self.assertIn("No such file", self.refused("report", self.folder / "none"))
        self.assertIn("is a directory", self.refused("report", self.folder))
        self.assertIn("not a Hearth trace", self.refused("trace", self.file("f", "hello")))


if __name__ == "__main__":
    unittest.main()
