"""Why tensors lie where they do: the report's account of a real training agrees with itself, with the profile it was made
from, and with what was measured; hearth report shows it."""
import json
import os
import subprocess
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from runs import LIBRARY, clean_environment, run_python
from tiers_test import MACHINE, NETWORK

TOOL = os.environ.get("HEARTH_TEST_TOOL", "")
PAGE = 4096
REASONS = ("stays", "moves", "partly", "no_gain", "seldom", "no_room", "no_time", "unplanned")
KINDS = ("pool", "short", "activation", "persistent")
TRAINING = NETWORK + '''
more = nn.ModuleList([nn.Linear(512, 512) for _ in range(8)])
optimizer = torch.optim.Adam([*net.parameters(), *more.parameters()], 1e-3)
for i in range(13):
    x, y = batch()
    optimizer.zero_grad()
    h = net[:-1](x)
    for layer in more: h = h + torch.tanh(layer(h))
    F.cross_entropy(net[-1](h), y).backward()
    optimizer.step()
'''


def rows(table):
    return [dict(zip(table["columns"], row)) for row in table["rows"]]


def setUpModule():
    global reports, shown
    with tempfile.TemporaryDirectory(prefix="hearth-test-") as place, ThreadPoolExecutor(2) as lanes:
        machine = Path(place, "machine.json")
        machine.write_text(json.dumps(MACHINE))

        def one(policy):
            path = Path(place, f"{policy}.json")
            done = run_python(TRAINING, preload=[LIBRARY], HEARTH_REPORT=path, HEARTH_TIERS="emulated", HEARTH_POLICY=policy,
                              HEARTH_FAST_CAPACITY="20%", HEARTH_MACHINE=machine, HEARTH_MODULES="1")
            assert (done.returncode, done.stderr) == (0, ""), done.stderr
            text = subprocess.run([TOOL, "report", path], env={**clean_environment(), "COLUMNS": "160"}, check=True,
                                  capture_output=True, text=True).stdout
            return json.loads(path.read_text()), text
        policies = ("sentinel", "tier-queue", "lru")
        reports, shown = {}, {}
        for policy, (report, text) in zip(policies, lanes.map(one, policies)):
            reports[policy], shown[policy] = report, text


class Account(unittest.TestCase):
    PLANNED = ("sentinel", "tier-queue")

    def accounts(self):
        for policy in self.PLANNED:
            with self.subTest(policy=policy):
                tiers = reports[policy]["tiers"]
                yield reports[policy], tiers, tiers["account"]

    def check_stake(self, stake, ops):
        self.assertLessEqual(stake["fast_average_bytes"], stake["fast_most_bytes"], stake)
        self.assertLessEqual(stake["fast_most_bytes"], stake["bytes"], stake)
        self.assertEqual(stake["moved_bytes"] > 0, stake["lane_ns"] > 0, stake)
        end = 0
        for begin, over in stake["windows"]:
            self.assertLessEqual(end, begin, stake)
            self.assertLess(begin, over, stake)
            end = over
        self.assertLessEqual(end, ops, stake)

    def test_policies_without_plans_have_none(self):
        self.assertNotIn("account", reports["lru"]["tiers"])
        self.assertIn("lists: ", shown["lru"])

    def test_bytes_of_classes_add_up(self):
        for _, tiers, account in self.accounts():
            classes, tensors = rows(account["classes"]), rows(account["tensors"])
            for each in classes:
                self.assertEqual(sum(each[reason] for reason in REASONS), each["bytes"], each)
                self.check_stake(each, account["ops"])
                told = sum(t["bytes"] for t in tensors
                           if (t["lifetime"], t["frequency"]) == (each["lifetime"], each["frequency"]))
                self.assertLessEqual(told, each["bytes"], each)
            self.assertGreater(sum(each["bytes"] for each in classes), tiers["fast_capacity_bytes"])
            self.assertGreater(sum(each["gain_ns"] for each in classes), 0)

    def test_tensors_are_those_of_the_profile(self):
        for report, _, account in self.accounts():
            profiled = {each["serial"]: each for each in rows(report["profile"]["tensors"])}
            tensors = rows(account["tensors"])
            self.assertEqual([t["bytes"] for t in tensors], sorted((t["bytes"] for t in tensors), reverse=True))
            for tensor in tensors:
                self.check_stake(tensor, account["ops"])
                known = profiled[tensor["serial"]]
                self.assertEqual(tensor["bytes"], -(-known["bytes"] // PAGE) * PAGE)
                self.assertEqual((tensor["lifetime"], tensor["frequency"]), (known["lifetime"], known["frequency"]))
                self.assertLessEqual(tensor["fast_uses"], tensor["uses"])
                if tensor["reason"] in ("no_gain", "seldom", "no_room", "no_time"):
                    self.assertEqual((tensor["fast_most_bytes"], tensor["windows"], tensor["gain_ns"]), (0, [], 0), tensor)
            self.assertTrue(any(tensor["module"] for tensor in tensors))

    def test_the_timeline_is_within_what_was_foreseen(self):
        for _, tiers, account in self.accounts():
            moments, foreseen = rows(account["timeline"]), tiers["foreseen"]
            self.assertEqual(len(moments), 64)
            for name in ("op", "time_ns"):
                self.assertEqual([m[name] for m in moments], sorted(m[name] for m in moments))
            self.assertLessEqual(foreseen["fast_peak_bytes"], tiers["fast_capacity_bytes"])
            for moment in moments:
                self.assertLessEqual(sum(moment[kind] for kind in KINDS), foreseen["fast_peak_bytes"] + len(KINDS), moment)
                self.assertLessEqual(moment["time_ns"], foreseen["step_ns"])
                self.assertLess(moment["op"], account["ops"])

    def test_every_move_belongs_to_a_tensor_and_was_asked_for(self):
        for _, tiers, account in self.accounts():
            moves, steady = rows(account["moves"]), tiers["steady"]
            self.assertGreater(len(moves), 0)
            self.assertEqual(account["moves"]["omitted"], 0)
            told = {stretch for t in rows(account["tensors"])
                    for stretch in range(t["first_stretch"], t["first_stretch"] + t["stretches"])}
            for move in moves:
                self.assertIn(move["stretch"], told)
                self.assertLessEqual(move["at"], move["due"])
                self.assertLessEqual(move["due"], account["ops"])
                self.assertLessEqual(move["late"], move["asked"])
                self.assertLessEqual(move["latest_ns"], move["late_ns"])
                if not move["late"]: self.assertEqual(move["late_ns"], 0, move)
            # Those of an iteration that was still open at the end are in the moves alone.
            self.assertGreater(steady["moves"], 0)
            self.assertGreaterEqual(sum(move["asked"] for move in moves), steady["moves"])
            self.assertLessEqual(steady["late"], steady["moves"])
            if not steady["late"]: self.assertEqual(steady["late_ns"], 0, steady)

    def test_the_text_shows_it(self):
        for policy in self.PLANNED:
            for words in ("What lives where, by class", "What lives where and why", "Fast memory over a step", "foreseen, ",
                          "measured (", "planned moves", "persistent |"):
                self.assertIn(words, shown[policy], policy)
        self.assertRegex(shown["sentinel"], r"moves, \d+ of \d+ uses fast")


if __name__ == "__main__":
    unittest.main(verbosity=2)
