"""Hundreds of moves fail at random, each for another reason, and the losses stay what they are to the last bit.

Emulated tiers, so any machine will do; tests/numa does the same with real nodes. tests/support/failing_moves.cpp has what
is preloaded.
"""
import json
import os
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from runs import LIBRARY, run_python
from tiers_test import NETWORK

FAILING = os.environ.get("HEARTH_TEST_FAILING_MOVES", "")
CAUSES = ("busy", "no_memory", "forbidden", "absent_node", "other")
FEWEST = 200
STEPS = 40
TRAINING = NETWORK + f'''
more = nn.ModuleList([nn.Linear(512, 512) for _ in range(6)])
optimizer = torch.optim.Adam([*net.parameters(), *more.parameters()], 1e-3)
for i in range({STEPS}):
    x, y = batch()
    optimizer.zero_grad()
    h = net[:-1](x)
    for layer in more: h = h + torch.tanh(layer(h))
    loss = F.cross_entropy(net[-1](h), y)
    loss.backward()
    optimizer.step()
    print("loss", loss.item().hex())
for p in [*net.parameters(), *more.parameters()]: print("weights", p.detach().double().sum().item().hex())
'''
# So slow that moves pay in a training as small as this, with copies that are done in time.
MACHINE = {"schema_version": 1, "measured": None, "machine": {
    "name": "crawling", "cores": 1, "gemm": 1e11, "fault_ns": 500, "outstanding": 10, "interference": 0.02, "scale": 1,
    "fast": {"read": 1.5e9, "write": 1e9, "latency_ns": 100, "bytes": 0},
    "slow": {"read": 3e8, "write": 1.5e8, "latency_ns": 1000, "bytes": 0},
    "move_to_fast": 2e9, "move_to_slow": 2e9}}


@unittest.skipUnless(FAILING, "HEARTH_TEST_FAILING_MOVES names no library")
class Faults(unittest.TestCase):
    POLICIES = ("sentinel", "tier-queue", "lru")

    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory(prefix="hearth-test-") as place, ThreadPoolExecutor(4) as lanes:  # they mostly wait
            cls.place = Path(place)
            (cls.place / "machine.json").write_text(json.dumps(MACHINE))
            without = lanes.submit(run_python, TRAINING)
            cls.outcomes = dict(zip(cls.POLICIES, lanes.map(cls.run_failing, cls.POLICIES)))
            cls.plain = without.result()
        assert (cls.plain.returncode, cls.plain.stdout.count("loss")) == (0, STEPS), cls.plain.stderr

    @classmethod
    def run_failing(cls, policy):
        report, told = cls.place / f"{policy}.json", cls.place / f"{policy}.told"
        done = run_python(TRAINING, preload=[LIBRARY, FAILING], FAILING_MOVES_TOLD=told, HEARTH_REPORT=report,
                          HEARTH_TIERS="emulated", HEARTH_POLICY=policy, HEARTH_FAST_CAPACITY="6M",
                          HEARTH_MACHINE=cls.place / "machine.json")
        return done, json.loads(report.read_text()), dict(zip(("calls", "pages"), map(int, told.read_text().split()[1::2])))

    def test_losses_are_equal(self):
        for policy, (done, report, _) in self.outcomes.items():
            with self.subTest(policy=policy):
                self.assertEqual((done.returncode, done.stdout, done.stderr), (0, self.plain.stdout, ""))
                self.assertEqual(report["state"], "managed")

    def test_every_fault_is_counted_by_its_cause(self):
        for policy, (_, report, told) in self.outcomes.items():
            with self.subTest(policy=policy):
                stayed = report["tiers"]["not_moved"]
                self.assertGreaterEqual(told["calls"], FEWEST)
                self.assertEqual(sum(stayed[cause] for cause in CAUSES), told["calls"], stayed)
                for cause in CAUSES: self.assertGreater(stayed[cause], 0, stayed)
                self.assertGreater(stayed["bytes"], told["calls"] * 4096)

    def test_the_books_hold(self):
        for policy, (_, report, _) in self.outcomes.items():
            with self.subTest(policy=policy):
                tiers = report["tiers"]
                self.assertLessEqual(tiers["fast_peak_bytes"], tiers["fast_capacity_bytes"], tiers)
                for way in ("to_fast", "to_slow"): self.assertGreater(tiers[way]["bytes"], 0, "some do move")


if __name__ == "__main__":
    unittest.main(verbosity=2)
