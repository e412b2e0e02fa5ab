"""Storage that bypasses the hook: the self-test notices, the adapter registers a c10::Allocator, the report says so."""
import json
import os
import tempfile
import unittest
from pathlib import Path

from runs import LIBRARY, run_python
from training import TRAINING

OTHER = os.environ["HEARTH_TEST_OTHER_ALLOCATOR"]


class Fallback(unittest.TestCase):
    def test_registered_allocator_takes_over(self):
        script = TRAINING + "print(train(12))"
        plain = run_python(script)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "report.json"
            done = run_python(script, preload=[OTHER, LIBRARY], HEARTH_REPORT=path)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, plain.stdout, ""))
            report = json.loads(path.read_text())
        self.assertIn("registered", report["counters"]["hook_self_test"])
        self.assertGreater(report["counters"]["allocations"], 100)
        self.assertEqual(report["iterations"]["profiled"], 1)
        self.assertTrue(any("alloc_cpu" in d["cause"] for d in report["degradations"]), report["degradations"])

    def test_switched_off_it_stays_away(self):
        script = TRAINING + "print(train(4))"
        plain = run_python(script)
        done = run_python(script, preload=[OTHER, LIBRARY], HEARTH_ENABLE=0)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, plain.stdout, ""))


if __name__ == "__main__":
    unittest.main(verbosity=2)
