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
# Until the first optimizer step, the time steps look like the iterations.
STEPS = '''
import torch, torch.nn as nn, torch.nn.functional as F
torch.set_num_threads(1)
torch.manual_seed(0)
cell, head = nn.LSTMCell(32, 64), nn.Linear(64, 32)
optimizer = torch.optim.Adam([*cell.parameters(), *head.parameters()])
for i in range(24):
    x, state, loss = torch.randn(90, 64, 32), None, 0
    for t in range(89):
        state = cell(x[t], state)
        loss = loss + F.mse_loss(head(state[0]), x[t + 1])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item().hex())
'''


class PlanOfTimeSteps(unittest.TestCase):
    def test_what_was_taken_for_the_loop_is_forgotten_but_for_the_file(self):
        with tempfile.TemporaryDirectory(prefix="hearth-test-") as place:
            trace, plan, report = (Path(place, name) for name in ("steps.trace", "plan.json", "report.json"))
            traced = run_python(STEPS, preload=[LIBRARY], HEARTH_TRACE=trace, HEARTH_REPORT=report, HEARTH_TRIALS=1)
            made = run([TOOL, "plan", str(trace), "-o", str(plan)])
            self.assertEqual((traced.returncode, made.returncode), (0, 0), traced.stderr + made.stderr)
            without = json.loads(report.read_text())
            done, with_file = run_with_report(STEPS, HEARTH_PLAN=plan)
        self.assertGreater(without["iterations"]["closed"], 60)  # the time steps did look like that
        rows = [row for row in without["trials"]["measured"] if row["step_ns"]]
        self.assertGreater(len(rows), 0, without["trials"])
        for row in rows:  # of whole steps
            self.assertGreater(row["step_ns"], without["profiled_iteration"]["median_unprofiled_ns"] / 4, rows)
        self.assertEqual((without["state"], without["plan"]["plans"]), ("managed", 1), without["plan"])
        self.assertEqual((done.returncode, done.stdout), (0, traced.stdout), done.stderr)
        followed = with_file["plan"]
        self.assertEqual((with_file["state"], followed["from_file"], followed["left"]), ("managed", True, 0), followed)
        self.assertEqual([each["cause"] for each in with_file["degradations"]], ["the plan is from a file"])


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
