"""What of a large table is charged to the emulated slow tier."""
import json
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from runs import run_python, run_with_report
from tiers_test import MACHINE


class Rows(unittest.TestCase):
    """A table of which each step uses a few rows is charged for these, and for what its sparse update writes."""
    TABLE, USED = (1 << 16) * 64 * 4, 256 * 64 * 4
    PROGRAM = '''
import torch
torch.manual_seed(0)
torch.set_num_threads(1)
table = torch.nn.Embedding.from_pretrained(torch.zeros(1 << 16, 64), freeze=False, sparse=True)
for i in range(10):
    loss = (table(torch.randint(1 << 16, (256,))) - 1).square().sum()
    loss.backward()
    with torch.no_grad(): table.weight.add_(table.weight.grad, alpha=-0.5)   # as SGD does
    table.weight.grad = None
    print("loss", loss.item().hex())
'''

    def test_rows_are_charged_and_not_the_table(self):
        with tempfile.TemporaryDirectory(prefix="hearth-test-") as place:
            machine = Path(place, "machine.json")
            machine.write_text(json.dumps(MACHINE))
            with ThreadPoolExecutor(1) as other:
                without = other.submit(run_python, self.PROGRAM)
                done, report = run_with_report(self.PROGRAM, HEARTH_TIERS="emulated", HEARTH_POLICY="all-slow",
                                               HEARTH_MACHINE=machine, HEARTH_PROFILE="off")
                without = without.result()
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, without.stdout, without.stderr))
        used = report["tiers"]["emulation"]["slow_bytes_used"]
        # Filled once; then read by one op, and read and written by another, in each step.
        self.assertGreaterEqual(used, self.TABLE + 10 * 3 * self.USED)
        self.assertLess(used, 5 * self.TABLE, "the whole table in each step would be ten")


if __name__ == "__main__":
    unittest.main(verbosity=2)
