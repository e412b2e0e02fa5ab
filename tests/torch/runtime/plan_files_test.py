"""Runs that start with a plan of a file."""
import json
import os
import tempfile
import unittest
from pathlib import Path

from managed import LOOP, Managed
from runs import LIBRARY, run, run_python

TOOL = os.environ.get("HEARTH_TEST_TOOL") or str(Path(LIBRARY).parent.parent / "bin" / "hearth")


class PlanFiles(Managed):
    BODY = '''
kept = Kept()
for i in range(40):
    train(*batch())
    if i % 6 == 5: kept.add()
kept.check()
finish()
'''
    OTHER = '''
net = network(200)
optimizer = torch.optim.SGD(net.parameters(), 1e-2)
for i in range(12): train(*batch(150), module=net)
finish()
'''

    # The rows that a batch touches: the same ops, and tensors of a size of their own each time.
    WANDERING = '''
table = nn.EmbeddingBag(20000, 32, sparse=True, mode="sum")
rows = torch.optim.SGD(table.parameters(), 0.1)
for i in range(40):
    n = 3000 + dice.randrange(200)
    words = torch.randint(0, 20000, (n,))
    x, y = batch()
    rows.zero_grad()
    train(x + table(words, torch.arange(128) * (n // 128)).repeat(1, 2), y)
    rows.step()
finish()
'''

    def make_plan(self, folder, body, *options):
        trace, plan = Path(folder) / "a.trace", Path(folder) / "plan.json"
        done = run_python(LOOP + body, preload=[LIBRARY], HEARTH_TRACE=trace)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        made = run([TOOL, "plan", str(trace), "-o", str(plan), *options])
        self.assertEqual(made.returncode, 0, made.stderr)
        return plan

    def test_managed_from_the_second_iteration(self):
        with tempfile.TemporaryDirectory() as folder:
            plan = self.make_plan(folder, self.BODY)
            report = self.check(self.BODY, HEARTH_PLAN=plan)
        self.assertTrue(report["plan"]["from_file"])
        self.assertGreaterEqual(report["plan"]["iterations"], 38)
        self.assertEqual(report["iterations"]["profiled"], 0)

    def test_sizes_that_wander_with_the_data(self):
        with tempfile.TemporaryDirectory() as folder:
            plan = self.make_plan(folder, self.WANDERING)
            self.assertIs(json.loads(plan.read_text())["elastic"], True)
            report = self.check(self.WANDERING, HEARTH_PLAN=plan)["plan"]
        self.assertTrue(report["from_file"])
        self.assertLess(report["lost"], report["taken"] / 10, report)

    def test_programs_may_change_their_folder(self):
        elsewhere = "import os; os.chdir({!r})\n" + LOOP + "train(*batch()); os.chdir('/')\n" + self.BODY
        with tempfile.TemporaryDirectory() as folder:
            self.make_plan(folder, self.BODY)
            done = run_python(elsewhere.format(folder), preload=[LIBRARY], HEARTH_PLAN="plan.json", HEARTH_REPORT="r.json")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertTrue(json.loads((Path(folder) / "r.json").read_text())["plan"]["from_file"])
            done = run_python(elsewhere.format(folder), preload=[LIBRARY], HEARTH_TRACE="b.trace")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertTrue((Path(folder) / "b.trace").is_file())

    def test_off(self):
        self.check(self.BODY, least=0, state="observe", HEARTH_PLAN="OFF")
        report = self.check(self.BODY, least=0, state="observe", HEARTH_PLAN="off")
        self.assertEqual((report["plan"]["taken"], report["plan"]["present"]), (0, False))
        self.assertEqual(report["iterations"]["profiled"], 1)

    def test_no_plan_in_the_file(self):
        with tempfile.TemporaryDirectory() as folder:
            plan = self.make_plan(folder, self.BODY)
            text = plan.read_text()
            broken = {"empty": "", "garbage": "\x00\x7fELF[[[{", "cut": text[:len(text) // 2], "array": "[]",
                      "negative": text.replace("[65536,", "[-65536,", 1)}
            for name, content in broken.items():
                with self.subTest(name=name):
                    path = Path(folder) / name
                    path.write_text(content)
                    self.assertFalse(self.check(self.BODY, warnings=1, HEARTH_PLAN=path)["plan"]["from_file"])
            for path in (Path(folder) / "missing", folder):
                with self.subTest(path=path):
                    self.check(self.BODY, warnings=1, HEARTH_PLAN=path)

    def test_plan_for_another_least_size(self):
        with tempfile.TemporaryDirectory() as folder:
            plan = self.make_plan(folder, self.BODY, "--min-size", "32K")
            self.assertFalse(self.check(self.BODY, warnings=1, HEARTH_PLAN=plan)["plan"]["from_file"])

    def test_plan_of_another_program(self):
        with tempfile.TemporaryDirectory() as folder:
            plan = self.make_plan(folder, self.OTHER)
            report = self.check(self.BODY, state=None, HEARTH_PLAN=plan)
        self.assertGreaterEqual(report["plan"]["left"], 1, report["plan"])

    def edit(self, plan, change):
        """Applies `change` to every planned entry, as a dict; returns the whole plan."""
        content = json.loads(plan.read_text())
        for entry in content["entries"]:
            named = dict(zip(content["columns"], entry))
            if named["arena"] is not None:
                change(named)
                entry[:] = [named[column] for column in content["columns"]]
        return content

    def test_plan_whose_places_overlap(self):
        """The proof refuses it before a tensor lies there."""
        with tempfile.TemporaryDirectory() as folder:
            plan = self.make_plan(folder, self.BODY)
            plan.write_text(json.dumps(self.edit(plan, lambda entry: entry.update(offset=0))))
            self.assertFalse(self.check(self.BODY, warnings=1, HEARTH_PLAN=plan)["plan"]["from_file"])

    def test_plan_that_lies_about_lifetimes(self):
        """Every tensor at one address and dead before the next: it proves, and the program does otherwise."""
        with tempfile.TemporaryDirectory() as folder:
            plan = self.make_plan(folder, self.BODY)
            content = self.edit(plan, lambda entry: entry.update(offset=0, death=entry["birth"] + 1))
            height = max(entry[0] for entry in content["entries"])
            content["arenas"][0].update(bytes=height, lower_bound=height)
            content["costs"].update(lower_bound=height, separation=0, grouping=0)
            plan.write_text(json.dumps(content))
            report = self.check(self.BODY, least=10, state=None, HEARTH_PLAN=plan)
        self.assertGreater(report["plan"]["blocked"], 20)
        self.assertGreater(report["plan"]["left"], 0, "a plan that never fits is given up")


if __name__ == "__main__":
    unittest.main(verbosity=2)
