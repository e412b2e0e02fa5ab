"""A plan file with tiers in a loop of two optimizers: followed once both have made their state, and to the letter."""
import json
import os
import tempfile
import unittest
from pathlib import Path

from runs import LIBRARY, run, run_python, run_with_report
from tiers_test import MACHINE

TOOL = os.environ.get("HEARTH_TEST_TOOL", "")
GAN = '''
import torch, torch.nn as nn
torch.set_num_threads(1)
torch.manual_seed(0)
maker = nn.Sequential(nn.Linear(64, 384), nn.ReLU(), nn.Linear(384, 512))
judge = nn.Sequential(nn.Linear(512, 384), nn.LeakyReLU(0.2), nn.Linear(384, 1))
makes, judges = torch.optim.Adam(maker.parameters()), torch.optim.Adam(judge.parameters())
loss = nn.BCEWithLogitsLoss()
for i in range(20):
    real, ones, zeros = torch.randn(128, 512), torch.ones(128, 1), torch.zeros(128, 1)
    judges.zero_grad()
    fake = maker(torch.randn(128, 64))
    judged = loss(judge(real), ones) + loss(judge(fake.detach()), zeros)
    judged.backward()
    judges.step()
    makes.zero_grad()
    made = loss(judge(fake), ones)
    made.backward()
    makes.step()
    print(judged.item().hex(), made.item().hex())
'''


class PlanOfTiers(unittest.TestCase):
    def test_followed_from_the_first_whole_iterations_on(self):
        with tempfile.TemporaryDirectory(prefix="hearth-test-") as place:
            machine, trace, plan = (Path(place, name) for name in ("machine.json", "gan.trace", "plan.json"))
            machine.write_text(json.dumps(MACHINE))
            traced = run_python(GAN, preload=[LIBRARY], HEARTH_TRACE=trace)
            made = run([TOOL, "plan", str(trace), "--fast", "30%", "--machine", str(machine), "-o", str(plan), "--json"])
            self.assertEqual((traced.returncode, made.returncode), (0, 0), traced.stderr + made.stderr)
            capacity = json.loads(made.stdout)["tiers"]["fast_capacity_bytes"]
            done, report = run_with_report(GAN, HEARTH_PLAN=plan, HEARTH_TIERS="emulated", HEARTH_FAST_CAPACITY=capacity,
                                           HEARTH_MACHINE=machine, HEARTH_LOG="info")
        self.assertEqual((done.returncode, done.stdout), (0, traced.stdout), done.stderr)
        followed = report["plan"]
        self.assertEqual((report["state"], followed["from_file"]), ("managed", True), followed)
        self.assertGreaterEqual(followed["iterations"], 15, followed)
        self.assertEqual((followed["iterations_off"], followed["blocked"], followed["moved"]), (0, 0, 0), followed)
        self.assertNotIn("are not there", done.stderr)
        self.assertLessEqual(report["tiers"]["fast_peak_bytes"], capacity)


if __name__ == "__main__":
    unittest.main()
