"""Knobs in a real process: silent by default, one line for a mistake, strict on request, off means off."""
import json
import os
import tempfile
import unittest
from pathlib import Path

from runs import LIBRARY, PYTHON, run, run_python, run_with_report
from training import TRAINING

SCRIPT = TRAINING + "print(train(8))"


class Settings(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.plain = run_python(SCRIPT)
        assert cls.plain.returncode == 0, cls.plain.stderr

    def check(self, lines, fresh=False, **variables):
        done = run_python(SCRIPT, preload=[LIBRARY], fresh=fresh, **variables)
        self.assertEqual((done.returncode, done.stdout), (0, self.plain.stdout), done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), lines, done.stderr)
        return done.stderr

    def test_silent_by_default(self):
        self.check(0, fresh=True)

    def test_empty_values_are_no_values(self):
        self.check(0, HEARTH_PROFILE="", HEARTH_MIN_SIZE="", HEARTH_REPORT="")

    def test_off(self):
        self.check(0, fresh=True, HEARTH_ENABLE="off")
        done, report = run_with_report(SCRIPT, fresh=True, HEARTH_ENABLE=0)
        self.assertEqual((done.stdout, done.stderr, report), (self.plain.stdout, "", None))

    def test_bad_value_and_unknown_name(self):
        self.assertIn("HEARTH_MIN_SIZE", self.check(1, HEARTH_MIN_SIZE="12Q"))
        self.assertIn("HEARTH_PROFILE", self.check(1, HEARTH_PROFIL="ops"))

    def test_strict(self):
        done = run_python(SCRIPT, preload=[LIBRARY], fresh=True, HEARTH_STRICT=1, HEARTH_MIN_SIZE="12Q")
        self.assertEqual((done.returncode, done.stdout), (78, ""))

    def test_report_that_cannot_be_written(self):
        self.check(1, HEARTH_REPORT="/nowhere/at/all/report.json")

    def test_adapter_that_cannot_be_opened(self):
        self.assertIn("adapter", self.check(1, fresh=True, HEARTH_ADAPTER="/nowhere/adapter.so").lower())

    def test_a_relative_name_and_a_program_that_changes_its_directory(self):
        script = "import os\nos.chdir('/')\n" + SCRIPT
        folder, name = os.path.split(LIBRARY)
        with tempfile.TemporaryDirectory() as place:
            program, report = Path(place) / "program.py", Path(place) / "report.json"
            program.write_text(script)
            done = run(["sh", "-c", f"cd '{folder}' && LD_PRELOAD=./{name} exec '{PYTHON}' '{program}'"],
                       HEARTH_REPORT=report)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, self.plain.stdout, ""))
            adapter = json.loads(report.read_text())["process"]["adapter"]["file"]
            self.assertEqual(os.path.dirname(os.path.realpath(adapter)), os.path.realpath(folder))

    def test_every_mode(self):
        for mode in ("off", "ops", "faults", "pages"):
            with self.subTest(mode=mode):
                self.check(0, HEARTH_PROFILE=mode, HEARTH_MIN_SIZE="4K", HEARTH_PAGES_MIN="64K")

    def test_modules(self):
        done, report = run_with_report(SCRIPT, HEARTH_MODULES=1)
        self.assertEqual(done.stdout, self.plain.stdout, done.stderr)
        names = report["profile"]["names"]
        self.assertTrue({"0", "2", "4"} & set(names) or any("Linear" in n for n in names), names)


if __name__ == "__main__":
    unittest.main(verbosity=2)
