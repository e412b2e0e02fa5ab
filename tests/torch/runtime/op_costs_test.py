"""hearth profile-ops: ops of a real training timed by where their operands lie, on the emulated tier.

Where memory dominates, measured times are the roofline's; every run computes what the plain one does; what has been
measured is not measured again; plans take the times.
"""
import json
import os
import re
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

from runs import LIBRARY, PYTHON, clean_environment, run

TOOL = os.environ.get("HEARTH_TEST_TOOL", "")

# Leaves a line in a file for each run.
TRAINING = '''
import os, sys
import torch, torch.nn as nn
open(os.environ["RUNS"], "a").write("run\\n")
torch.set_num_threads(1)
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.bias, self.last = nn.Linear(64, 512), nn.Parameter(torch.randn(256, 512)), nn.Linear(512, 10)
    def forward(self, x):
        x = torch.add(self.first(x), self.bias)
        return self.last(torch.tanh(x))
net = Net()
optimizer = torch.optim.SGD(net.parameters(), 1e-2, momentum=0.9)
for i in range(int(os.environ.get("STEPS", 60))):
    x, y = torch.randn(256, 64), torch.randint(0, 10, (256,))
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
    print("loss", loss.item().hex(), flush=True)
'''

# So slow that memory is what ops take, and the fast tier slower than this host too.
MACHINE = {"schema_version": 1, "measured": None, "machine": {
    "name": "crawling", "cores": 1, "gemm": 1e11, "fault_ns": 500, "outstanding": 10, "interference": 0.02, "scale": 1,
    "fast": {"read": 4e8, "write": 3e8, "latency_ns": 100, "bytes": 0},
    "slow": {"read": 1e8, "write": 6e7, "latency_ns": 1000, "bytes": 0},
    "move_to_fast": 1e9, "move_to_slow": 1e9}}


class OpCosts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hearth-test-")
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name)
        self.machine, self.costs = self.path / "machine.json", self.path / "costs.json"
        self.program, self.runs = self.path / "train.py", self.path / "runs"
        self.machine.write_text(json.dumps(MACHINE))
        self.program.write_text(TRAINING)

    def command(self, *options):
        return [TOOL, "profile-ops", "--costs", self.costs, "--machine", self.machine, "--tiers", "emulated", *options,
                "--", PYTHON, self.program]

    def variables(self, **variables):
        return {"HEARTH_LIBRARY": LIBRARY, "PYTHONHASHSEED": 0, "RUNS": self.runs, **variables}

    def profile(self, *options, **variables):
        return run([str(word) for word in self.command(*options)], timeout=900, **self.variables(**variables))

    def count_runs(self):
        return len(self.runs.read_text().splitlines()) if self.runs.is_file() else 0

    def test_times_are_the_rooflines_and_losses_those_of_the_plain_run(self):
        plain = run([PYTHON, str(self.program)], timeout=300, RUNS=self.runs, PYTHONHASHSEED=0)
        self.assertEqual(plain.returncode, 0, plain.stderr)
        done = self.profile("--json", "--to-end")
        self.assertEqual(done.returncode, 0, done.stderr)
        told = json.loads(done.stdout)
        self.assertEqual(self.count_runs(), 1 + told["runs"])
        losses = re.findall(r"^loss .*$", done.stderr, re.MULTILINE)
        self.assertEqual(losses, plain.stdout.splitlines() * told["runs"])
        self.assertEqual(told["kinds_missing"], 0)
        self.check_add(told)
        self.assertLess(told["median_roofline_error"], 0.1, told)
        self.check_second_call(told)
        self.check_plans(Path(told["trace"]))

    def check_add(self, told):
        """The sum of two large tensors: nothing but traffic, so the extras are known, and add up."""
        size, machine = 256 * 512 * 4, MACHINE["machine"]
        found = [each for each in told["additivity"]["checked"] if each["op"] == "aten::add"]
        self.assertEqual(len(found), 1, told)
        add = found[0]
        self.assertEqual(sorted(add["operands"]), [[0, size], [size, 0], [size, 0]], add)
        self.assertEqual(add["form"], "additive")
        self.assertLess(abs(add["error"]), 0.05, add)
        for (read, write), extra in zip(add["operands"], add["single_extras_ns"]):
            def time(tier): return read / machine[tier]["read"] * 1e9 + write / machine[tier]["write"] * 1e9
            self.assertAlmostEqual(extra / (time("slow") - time("fast")), 1, delta=0.1, msg=add)

    def check_second_call(self, told):
        before, file = self.count_runs(), self.costs.read_bytes()
        again = json.loads(self.profile("--json").stdout)
        self.assertEqual((again["runs"], again["rounds"], self.count_runs()), (0, 0, before))
        self.assertEqual(self.costs.read_bytes(), file)
        self.assertEqual(again["placements"], told["placements"])
        self.assertIn("aten::add", self.profile().stdout)

    def check_plans(self, trace):
        for command in (["plan", trace, "--fast", "30%", "--policy", "autotm"],
                        ["sweep", trace, "--sizes", "30%", "--autotm"]):
            command = [*command, "--machine", self.machine, "--time-limit", "3", "--json", "--op-costs"]
            done = run([TOOL, *map(str, command), str(self.costs)], HEARTH_LIBRARY=LIBRARY)
            if "without a solver" in done.stderr: continue
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertGreater(json.loads(done.stdout)["op_costs"]["additive"], 5, done.stdout)
            other = {**MACHINE, "machine": {**MACHINE["machine"], "name": "another"}}
            self.machine.with_name("other.json").write_text(json.dumps(other))
            command[command.index(self.machine)] = self.machine.with_name("other.json")
            done = run([TOOL, *map(str, command), str(self.costs)], HEARTH_LIBRARY=LIBRARY)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("was measured on crawling", done.stderr)

    def test_what_is_there_after_an_interrupt_stays(self):
        environment = {**clean_environment(), **{k: str(v) for k, v in self.variables(STEPS=1000).items()}}
        with subprocess.Popen(list(map(str, self.command())), env=environment, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
            for line in child.stderr:
                if "1 placements measured" in line: child.send_signal(signal.SIGINT)
            self.assertEqual(child.wait(), 130)
        partial = json.loads(self.costs.read_text())
        self.assertTrue(partial["ops"])
        done = self.profile("--json", STEPS=1000)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("tracing", done.stderr)
        after = {(each["op"], str(each["operands"]), each["other_bytes"]): each["ns"]
                 for each in json.loads(self.costs.read_text())["ops"]}
        for each in partial["ops"]:
            now = after[each["op"], str(each["operands"]), each["other_bytes"]]
            for placement, measured in each["ns"].items(): self.assertEqual(now[placement], measured)
        self.assertLess(done.stderr.count("loss"), 1000 * json.loads(done.stdout)["runs"])  # stopped when it was done

    def test_programs_that_cannot_be_measured(self):
        short = self.profile(STEPS=3)
        self.assertEqual(short.returncode, 1)
        self.assertIn("ended before an iteration was traced", short.stderr)
        self.program.write_text("import sys; sys.exit(3)")
        failing = self.profile()
        self.assertEqual(failing.returncode, 1)
        self.assertIn("the program failed: exit status 3", failing.stderr)
        self.assertEqual(run([TOOL, "profile-ops"]).returncode, 2)
        self.assertEqual(run([TOOL, "profile-ops", "--", "no-such-program"], HEARTH_LIBRARY=LIBRARY).returncode, 127)


if __name__ == "__main__":
    unittest.main()
