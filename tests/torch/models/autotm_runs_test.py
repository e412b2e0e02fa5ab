"""bench/macro/autotm_runs.py without PyTorch: its tables on known figures."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "bench" / "macro"))
import autotm_runs  # noqa: E402

POINT = {"step_ns": {"all-slow": 300, "first-touch": 250, "static": 180, "synchronous": None, "asynchronous": 110, "sentinel": 120},
         "simulated": {"static": 1.75, "synchronous": 1.5, "asynchronous": 1.08, "sentinel": 1.19}}
RESULTS = {"seconds": 5, "ratios": ["4:1"], "problems": ["gpt2, synchronous at 4:1: no end after 3 s"],
           "models": [{"model": "vit", "all_fast_ns": 100, "points": {"4:1": POINT}},
                      {"model": "gpt2", "all_fast_ns": 400, "points": {"4:1": POINT}}]}


class Tables(unittest.TestCase):
    def test_measured_beside_simulated(self):
        lines = autotm_runs.table(RESULTS, "4:1")
        self.assertIn("| `vit` | 3.00 | 2.50 | 1.80 (1.75) | - | 1.10 (1.08) | 1.20 (1.19) |", lines)
        self.assertIn("| geometric mean | 1.50 | 1.25 | 0.90 | - | 0.55 | 0.60 |", lines)
        self.assertEqual(len({line.count("|") for line in lines}), 1)

    def test_what_went_wrong_is_told(self):
        text = autotm_runs.markdown(RESULTS)
        self.assertIn("Slow to fast memory 4:1", text)
        self.assertIn("**gpt2, synchronous at 4:1: no end after 3 s**", text)


if __name__ == "__main__":
    unittest.main()
