"""Two kinds of memory are safe: whatever the policy or the mistake, losses stay the same.

Emulated tiers, so any machine will do; what only real nodes show is for tests/numa.
"""
import json
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from runs import run_python, run_with_report

NETWORK = '''
import time
import torch, torch.nn as nn
F = nn.functional
torch.set_num_threads(1)
torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
                    nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(),
                    nn.Linear(512, 10))
def batch(): return torch.randn(16, 3, 32, 32), torch.randint(0, 10, (16,))
'''

TRAINING = NETWORK + '''
optimizer = torch.optim.Adam(net.parameters(), 1e-3)
a, b, total = torch.full((1 << 20,), 0.5), torch.full((1 << 20,), 0.25), torch.zeros(1 << 20)
for i in range(14):
    x, y = batch()
    begin = time.monotonic()
    optimizer.zero_grad()
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    before = time.monotonic()
    torch.add(a, b, out=total)
    after = time.monotonic()
    optimizer.step()
    print("loss", loss.item().hex())
    print("time", time.monotonic() - begin, after - before)
for p in net.parameters(): print("weights", p.detach().double().sum().item().hex())
print("total", total.double().sum().item().hex())
'''
ADD_READS, ADD_WRITES = 8 << 20, 4 << 20

# Both so slow that every op of some size has to wait, on any host.
FAST_READ, FAST_WRITE = 1.5e9, 1e9
SLOW_READ, SLOW_WRITE = 5e8, 2.5e8
MACHINE = {"schema_version": 1, "measured": None, "machine": {
    "name": "crawling", "cores": 1, "gemm": 1e11, "fault_ns": 500, "outstanding": 10, "interference": 0.02, "scale": 1,
    "fast": {"read": FAST_READ, "write": FAST_WRITE, "latency_ns": 100, "bytes": 0},
    "slow": {"read": SLOW_READ, "write": SLOW_WRITE, "latency_ns": 1000, "bytes": 0},
    "move_to_fast": 1e9, "move_to_slow": 1e9}}

POLICIES = ("sentinel", "first-touch", "interleave", "lru", "tier-queue", "all-fast", "all-slow")
LIMITED = tuple(policy for policy in POLICIES if policy != "all-fast")
CAPACITIES = ("20%", "3M")
CAPACITY_BYTES = 3 << 20


class Outcome:
    """What a case left behind: how it ended, its output, its report (None: none written)."""

    def __init__(self, done, report):
        self.status, self.stderr, self.report = done.returncode, done.stderr, report
        lines = [line.split() for line in done.stdout.splitlines()]
        self.results = [line for line in lines if line[0] != "time"]
        self.steps, self.adds = zip(*[map(float, line[1:]) for line in lines if line[0] == "time"])


def nodes():
    return [path.name for path in Path("/sys/devices/system/node").glob("node[0-9]*")]


EMULATED = {(policy, capacity): dict(HEARTH_TIERS="emulated", HEARTH_POLICY=policy, HEARTH_FAST_CAPACITY=capacity)
            for policy in POLICIES for capacity in CAPACITIES}
MISTAKES = {
    "machine": dict(HEARTH_TIERS="emulated", HEARTH_MACHINE="/nonexistent"),
    "one node": dict(HEARTH_TIERS="numa", HEARTH_FAST_CAPACITY="20%"),
    "absent node": dict(HEARTH_SLOW_NODES="7"),
    "processors": dict(HEARTH_TIERS="emulated", HEARTH_FAST_CAPACITY="20%", HEARTH_MOVER_CPUS="x"),
}


def setUpModule():
    global plain, outcomes
    with tempfile.TemporaryDirectory(prefix="hearth-test-") as place, ThreadPoolExecutor(2) as lanes:
        machine = Path(place, "machine.json")
        machine.write_text(json.dumps(MACHINE))
        without = lanes.submit(run_python, TRAINING)
        cases = {**EMULATED, **MISTAKES}
        found = lanes.map(lambda variables: run_with_report(TRAINING, **{"HEARTH_MACHINE": machine, **variables}),
                          cases.values())
        outcomes = {case: Outcome(*each) for case, each in zip(cases, found)}
        plain = Outcome(without.result(), None)


class Tiers(unittest.TestCase):
    def check_same(self, outcome):
        self.assertEqual(outcome.status, 0, outcome.stderr)
        self.assertEqual(outcome.results, plain.results, outcome.stderr)

    def check_books(self, report):
        self.assertIsNotNone(report)
        plan, counters = report["plan"], report["counters"]
        self.assertEqual(report["state"], "managed", plan)
        self.assertGreater(plan["taken"], 100, plan)
        self.assertEqual(plan["bad_frees"], 0, plan)
        self.assertEqual(counters["allocations"], counters["frees"] + counters["live_tensors"], counters)


class Emulated(Tiers):
    def tiers(self, policy, capacity):
        return outcomes[policy, capacity].report["tiers"]

    def test_losses_are_those_of_the_plain_run(self):
        self.assertEqual(len(plain.results), 14 + 8 + 1)
        for case in EMULATED:
            with self.subTest(case=case):
                self.check_same(outcomes[case])
                self.assertEqual(outcomes[case].stderr, "")
                self.check_books(outcomes[case].report)

    def test_the_report_tells_tiers_and_policy(self):
        for policy, capacity in EMULATED:
            with self.subTest(policy=policy, capacity=capacity):
                tiers = self.tiers(policy, capacity)
                told = (tiers["present"], tiers["backend"], tiers["policy"], tiers["how"])
                self.assertEqual(told, (True, "emulated", policy, "emulated: crawling"))

    def test_the_capacity_is_kept(self):
        for policy in LIMITED:
            for capacity in CAPACITIES:
                with self.subTest(policy=policy, capacity=capacity):
                    tiers = self.tiers(policy, capacity)
                    self.assertGreater(tiers["fast_capacity_bytes"], 0)
                    self.assertLessEqual(tiers["fast_peak_bytes"], tiers["fast_capacity_bytes"], tiers)
                    self.assertLessEqual(tiers["fast_bytes"], tiers["fast_peak_bytes"], tiers)
            self.assertEqual(self.tiers(policy, "3M")["fast_capacity_bytes"], CAPACITY_BYTES)

    def test_room_in_the_fast_tier_is_used(self):
        for policy in ("sentinel", "first-touch", "interleave", "lru", "tier-queue"):
            for capacity in CAPACITIES:
                with self.subTest(policy=policy, capacity=capacity):
                    tiers = self.tiers(policy, capacity)
                    self.assertGreater(tiers["fast_peak_bytes"], 0, tiers)
                    self.assertGreater(tiers["slow_bytes"], 0, tiers)

    def test_what_it_costs_once_the_plan_has_settled(self):
        for policy, capacity in EMULATED:
            with self.subTest(policy=policy, capacity=capacity):
                tiers = self.tiers(policy, capacity)
                steady = tiers["steady"]
                self.assertGreater(steady["iterations"], 3, steady)
                self.assertGreaterEqual(steady["duration_ns"], steady["charged_ns"] + steady["waited_ns"], steady)
                self.assertLessEqual(steady["fast_average_bytes"], tiers["fast_peak_bytes"], tiers)
                self.assertLessEqual(steady["to_fast_bytes"], tiers["to_fast"]["bytes"])
                self.assertEqual(steady["fast_average_bytes"] == 0, policy == "all-slow", tiers)
                self.assertEqual(steady["slow_bytes_used"] == 0, policy == "all-fast", tiers)
                self.assertEqual("foreseen" in tiers, policy in ("sentinel", "tier-queue"), tiers)

    def test_what_was_only_read_since_its_fetch_is_dropped(self):
        """By the plan, which is one of times that were measured: a step in the middle of other work may have no such move."""
        for policy, capacity in EMULATED:
            tiers = self.tiers(policy, capacity)
            moves = tiers.get("account", {}).get("moves", {"columns": ["clean"], "rows": []})
            clean = any(row[moves["columns"].index("clean")] for row in moves["rows"])
            self.assertEqual(tiers["dropped_clean_bytes"] > 0, clean, tiers)
            self.assertTrue(policy == "sentinel" or not clean, tiers)

    def test_pages_move_as_they_are_used(self):
        for policy, capacity in EMULATED:
            self.assertEqual("lists" in self.tiers(policy, capacity), policy == "lru")
        for capacity in CAPACITIES:
            tiers = self.tiers("lru", capacity)
            for way in ("to_fast", "to_slow"):
                self.assertGreater(tiers["steady"][f"{way}_bytes"], 0, tiers)
            for what in ("promotions", "demotions", "activated"):
                self.assertGreater(tiers["lists"][what], 0, tiers)

    def test_all_slow(self):
        for capacity in CAPACITIES:
            tiers = self.tiers("all-slow", capacity)
            self.assertEqual((tiers["fast_bytes"], tiers["fast_peak_bytes"]), (0, 0), tiers)
            emulation = tiers["emulation"]
            waited = 14 - outcomes["all-slow", capacity].report["iterations"]["profiled"]
            self.assertGreaterEqual(emulation["charges"], waited, "one big add a step at the very least")
            self.assertGreaterEqual(emulation["slow_bytes_used"], waited * (ADD_READS + ADD_WRITES), emulation)
            self.assertGreater(emulation["charged_ns"], 0, emulation)

    def test_all_fast(self):
        for capacity in CAPACITIES:
            tiers = self.tiers("all-fast", capacity)
            self.assertEqual(tiers["slow_bytes"], 0, tiers)
            emulation = tiers["emulation"]
            waited = 14 - outcomes["all-fast", capacity].report["iterations"]["profiled"]
            self.assertGreaterEqual(emulation["charges"], waited, "one big add a step at the very least")
            self.assertGreater(emulation["charged_ns"], 0, emulation)
            self.assertEqual(emulation["slow_bytes_used"], 0, emulation)

    def test_what_does_not_fit_leaves_once_the_share_is_known(self):
        """A percentage is of the profiled peak: until then everything is fast."""
        for policy in ("sentinel", "first-touch", "interleave"):
            with self.subTest(policy=policy):
                to_slow = self.tiers(policy, "20%")["to_slow"]
                self.assertGreater(to_slow["requests"], 0, to_slow)
                self.assertGreater(to_slow["bytes"], 0, to_slow)

    def test_no_op_is_quicker_than_its_memory(self):
        """The profiled iteration alone does not wait, since its ops are being timed."""
        rooflines = {"all-slow": ADD_READS / SLOW_READ + ADD_WRITES / SLOW_WRITE,
                     "all-fast": ADD_READS / FAST_READ + ADD_WRITES / FAST_WRITE}
        for capacity in CAPACITIES:
            for policy, roofline in rooflines.items():
                with self.subTest(policy=policy, capacity=capacity):
                    outcome = outcomes[policy, capacity]
                    unpaid = outcome.report["iterations"]["profiled"]
                    self.assertEqual(unpaid, 1)
                    self.assertGreaterEqual(sorted(outcome.adds)[unpaid], roofline, outcome.adds)


class Mistakes(Tiers):
    """One line with cause and cure, and the training goes on."""

    def check_told(self, name, *words):
        outcome = outcomes[name]
        self.check_same(outcome)
        self.check_books(outcome.report)
        lines = outcome.stderr.splitlines()
        self.assertEqual(len(lines), 1, lines)
        self.assertRegex(lines[0], r"^\[hearth:\d+\] W: ")
        for word in words: self.assertIn(word, lines[0])
        return outcome.report

    def check_one_tier(self, report):
        """The report tells the same as the line did."""
        self.assertEqual(report["tiers"], {"present": False})
        self.assertEqual([each["what"] for each in report["degradations"] if each["what"] == "tiers"], ["tiers"])

    def test_a_machine_that_is_not_there(self):
        report = self.check_told("machine", "HEARTH_MACHINE", "/nonexistent: No such file", "a preset")
        self.check_one_tier(report)

    @unittest.skipIf(len(nodes()) > 1, "this machine has several memory nodes")
    def test_nodes_where_there_is_one(self):
        self.check_one_tier(self.check_told("one node", "memory", "HEARTH_TIERS=emulated"))

    @unittest.skipIf("node7" in nodes(), "this machine has a node 7")
    def test_a_node_that_is_not_there(self):
        self.check_one_tier(self.check_told("absent node", "HEARTH_SLOW_NODES=7", "HEARTH_TIERS=emulated"))

    def test_processors_that_are_no_list(self):
        """The tiers are there all the same, and pages move."""
        report = self.check_told("processors", "HEARTH_MOVER_CPUS=x", "0-3,8", "movers run on any processor")
        self.assertTrue(report["tiers"]["present"])
        self.assertGreater(report["tiers"]["to_slow"]["bytes"], 0)


class Changing(unittest.TestCase):
    """A plan of tiers is followed as long as half of it fits: the heap knows nothing of them."""

    PROGRAM = NETWORK + '''
import random
dice = random.Random(1)
optimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
for i in range(18):
    x, y = batch()
    optimizer.zero_grad()
    sizes = [torch.zeros(dice.randrange(5000, 50000)) for _ in range(8)]  # never the same ones
    loss = F.cross_entropy(net(x), y) + 0 * sizes[0][0]
    loss.backward()
    optimizer.step()
    print("loss", loss.item().hex())
'''

    def test_a_third_of_the_sizes_never_come_again(self):
        plain = run_python(self.PROGRAM)
        done, report = run_with_report(self.PROGRAM, HEARTH_TIERS="emulated", HEARTH_FAST_CAPACITY="20%",
                                       HEARTH_MACHINE="optane-100")
        self.assertEqual((plain.returncode, done.returncode), (0, 0), done.stderr)
        self.assertEqual(done.stdout, plain.stdout)
        plan = report["plan"]
        self.assertGreater(plan["lost"], 50, plan)
        self.assertGreater(plan["iterations"], 8, plan)
        self.assertEqual(plan["left"], 0, plan)
        self.assertLessEqual(report["tiers"]["fast_peak_bytes"], report["tiers"]["fast_capacity_bytes"])


    SHAPES = NETWORK + '''
optimizer = torch.optim.Adam(net.parameters(), 1e-3)
for i in range(100):
    x, y = batch()
    if i >= 12 and i % 3 == 2: x, y = x[:9], y[:9]
    optimizer.zero_grad()
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
    print("loss", loss.item().hex())
'''

    def test_shapes_that_take_turns_have_a_plan_each(self):
        plain = run_python(self.SHAPES)
        done, report = run_with_report(self.SHAPES, HEARTH_TIERS="emulated", HEARTH_FAST_CAPACITY="20%",
                                       HEARTH_MACHINE="optane-100")
        self.assertEqual((plain.returncode, done.returncode), (0, 0), done.stderr)
        self.assertEqual(done.stdout, plain.stdout)
        plan = report["plan"]
        self.assertEqual((report["state"], plan["plans"]), ("managed", 2), plan)
        self.assertLess(plan["iterations_off"], 24, plan)  # before the second one was made
        self.assertLessEqual(report["tiers"]["fast_peak_bytes"], report["tiers"]["fast_capacity_bytes"])

    BY_HAND = NETWORK + '''
velocity = [torch.zeros_like(p) for p in net.parameters()]
for i in range(90):
    x, y = batch()
    loss = F.cross_entropy(net(x), y)
    gradients = torch.autograd.grad(loss, list(net.parameters()))
    with torch.no_grad():
        for p, v, gradient in zip(net.parameters(), velocity, gradients):
            v.mul_(0.9).add_(gradient)
            p.sub_(v, alpha=0.05)
    print("loss", loss.item().hex())
'''

    def test_a_loop_without_optimizer_keeps_its_plan(self):
        """Its ops stay marked for the moves, and tell no end besides the one that the plan tells."""
        plain = run_python(self.BY_HAND)
        for policy in ("sentinel", "lru"):
            done, report = run_with_report(self.BY_HAND, HEARTH_TIERS="emulated", HEARTH_FAST_CAPACITY="20%",
                                           HEARTH_MACHINE="optane-100", HEARTH_POLICY=policy)
            self.assertEqual((plain.returncode, done.returncode), (0, 0), done.stderr)
            self.assertEqual(done.stdout, plain.stdout)
            plan, iterations = report["plan"], report["iterations"]
            self.assertEqual((report["state"], iterations["ends_found_by"]), ("managed", "period"), policy)
            self.assertEqual((iterations["profiled"], plan["left"]), (1, 0), plan)
            self.assertLessEqual(plan["iterations_off"], 2, plan)
            self.assertGreater(plan["iterations"], 45, plan)
            self.assertLessEqual(iterations["closed"], 90, policy)


class Workers(Tiers):
    PROGRAM = NETWORK + '''
from torch.utils.data import DataLoader, Dataset
class Images(Dataset):
    def __len__(self): return 16 * 6
    def __getitem__(self, i):
        generator = torch.Generator().manual_seed(i)
        return torch.randn(3, 32, 32, generator=generator), i % 10
optimizer = torch.optim.Adam(net.parameters(), 1e-3)
for epoch in range(4):   # each forks two workers, the later ones in the midst of managed training
    for x, y in DataLoader(Images(), batch_size=16, shuffle=True, num_workers=2):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        print("loss", loss.item().hex())
'''

    def test_workers_of_a_data_loader(self):
        with ThreadPoolExecutor(1) as other:
            without = other.submit(run_python, self.PROGRAM, timeout=120)
            done, report = run_with_report(self.PROGRAM, timeout=120, HEARTH_TIERS="emulated",
                                           HEARTH_FAST_CAPACITY="20%")
            without = without.result()
        self.assertEqual((without.returncode, len(without.stdout.splitlines())), (0, 24), without.stderr)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, without.stdout, ""))
        self.check_books(report)
        tiers = report["tiers"]
        self.assertTrue(tiers["present"])
        self.assertGreater(tiers["to_slow"]["bytes"], 0, tiers)
        self.assertLessEqual(tiers["fast_peak_bytes"], tiers["fast_capacity_bytes"], tiers)


if __name__ == "__main__":
    unittest.main(verbosity=2)
