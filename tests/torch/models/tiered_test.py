"""bench/macro/tiered.py without PyTorch: its arithmetic, tables and pictures on known numbers, the program on a made-up
interpreter and tool."""
import ctypes
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

PROJECT = pathlib.Path(__file__).resolve().parents[3]
MACRO = PROJECT / "bench" / "macro"
sys.path.insert(0, str(MACRO))
import tiered_figures as figures  # noqa: E402
import tiered_plot as plot  # noqa: E402
import tiered_tables as tables  # noqa: E402

MIB = 1 << 20
FAST, SLOW = (None, "all-fast"), (None, "all-slow")
SVG = "{http://www.w3.org/2000/svg}"

# "Trains" eleven steps. LYING names a policy under which one loss is off by a bit, FAILING one whose run fails.
INTERPRETER = """#!{python}
import json, os, sys
if sys.argv[1] == "-c":
    print("9.9")
    sys.exit()
policy, capacity = os.environ.get("HEARTH_POLICY"), os.environ.get("HEARTH_FAST_CAPACITY", "0%")
if policy is not None and policy == os.environ.get("FAILING"):
    sys.exit("out of luck")
with open(os.path.join(os.path.dirname(__file__), "log"), "a") as log: print(policy, capacity, file=log)
steps = int(sys.argv[sys.argv.index("--steps") + 1])
wall = {{"all-fast": 100, "all-slow": 800, "sentinel": 150, "lru": 400 - int(capacity[:-1]), None: 90}}[policy] * 10**6
losses = [["0x1p+0"]] * steps
if policy is not None and policy == os.environ.get("LYING"):
    losses[-1] = ["0x1.8p+0"]
states = [1, 1, 1, 2] + [4] * (steps - 4)
json.dump({{"data_crc32": "0", "losses": losses, "result_crc32": "1",
           "step_wall_ns": [9 * wall] * 7 + [wall] * (steps - 7), "step_hearth_state": states}},
          open(sys.argv[sys.argv.index("--json") + 1], "w"))
if policy is not None:
    machine = json.load(open(os.environ["HEARTH_MACHINE"]))
    assert machine["machine"]["name"] == "optane-100", machine
    tiers = {{"present": True, "fast_capacity_bytes": 20 << 20, "fast_peak_bytes": 19 << 20,
             "not_moved": {{"bytes": 0}}, "steady": {{"iterations": 4, "duration_ns": 1, "fast_average_bytes": 18 << 20,
                        "to_fast_bytes": 8 << 20, "to_slow_bytes": 4 << 20, "waited_ns": 2000000,
                        "charged_ns": 0, "slow_bytes_used": 0}}}}
    if policy == "sentinel":
        tiers["foreseen"] = {{"step_ns": 165000000, "all_fast_ns": 100000000, "all_slow_ns": 600000000,
                             "fast_peak_bytes": 1}}
    json.dump({{"profile": {{"peak_bytes": 100 << 20}}, "tiers": tiers}}, open(os.environ["HEARTH_REPORT"], "w"))
"""

TOOL = """#!{python}
import json, sys
machine = json.dumps({{"machine": {{"name": "optane-100"}}}})
if sys.argv[1] == "knobs":
    print("HEARTH_POLICY             choice  sentinel  [sentinel|lru|all-fast|all-slow]")
elif "--scale" in sys.argv:
    print(machine)
else:
    assert sys.argv[1:4] == ["probe", "--threads", "1"], sys.argv
    open(sys.argv[sys.argv.index("-o") + 1], "w").write(machine)
"""


def run(step, foreseen=None, **others):
    made = {"step_ns": [step] * 3, "adopted_after": 4, "followed": 3, "peak": 100 * MIB, "capacity_bytes": 20 * MIB,
            "fast_peak": 0, "fast_average": 0, "to_fast_per_step": 0, "to_slow_per_step": 0, "waited_ns_per_step": 0,
            "charged_ns_per_step": 0, "slow_used_per_step": 0, "not_moved": 0,
            "foreseen": foreseen and {"step_ns": foreseen, "all_fast_ns": 80, "all_slow_ns": 700}}
    return {**made, **others}


def record(states):
    return {"step_hearth_state": states, "step_wall_ns": list(range(len(states)))}


class MeasuredSteps(unittest.TestCase):
    def test_after_the_plan_has_settled(self):
        self.assertEqual(figures.adopted_after(record([1, 1, 1, 2, 4, 4, 4, 4, 4])), 4)
        self.assertEqual(figures.measured_steps(record([1, 1, 1, 2, 4, 4, 4, 4, 4])), [7, 8])

    def test_without_what_is_profiled_again_but_with_what_is_off_the_plan(self):
        self.assertEqual(figures.measured_steps(record([1, 2, 4, 4, 4, 4, 1, 1, 2, 1])), [5, 6, 9])

    def test_no_plan(self):
        self.assertEqual(figures.measured_steps(record([1] * 9)), [])
        report = {"tiers": {"present": True}}
        self.assertEqual(figures.why_no_figures(record([1] * 9), report), "no plan was followed")
        self.assertIn("after 5 iterations", figures.why_no_figures(record([1] * 5 + [4] * 2), report))
        self.assertEqual(figures.why_no_figures(record([1, 4, 4, 4, 4, 4]), report), "")

    def test_one_tier(self):
        report = {"tiers": {"present": False}, "degradations": [{"what": "tiers", "cause": "no machine"}]}
        self.assertEqual(figures.why_no_figures(record([4] * 9), report), "there was one tier: no machine")


class Summary(unittest.TestCase):
    ROUNDS = [{FAST: run(100), SLOW: run(900), (20, "lru"): run(200)},
              {FAST: run(200), SLOW: run(900), (20, "lru"): run(300)},
              {FAST: run(100), SLOW: run(800), (20, "lru"): run(400), (20, "sentinel"): run(120, foreseen=150)}]

    def summary(self):
        return figures.with_foreseen_ends(figures.summarise(self.ROUNDS), self.ROUNDS)

    def test_ratios_are_of_one_round(self):
        self.assertEqual(self.summary()[20, "lru"]["ratio"], (2.0, 1.75, 3.0))
        self.assertEqual(self.summary()[FAST]["ratio"], (1.0, 1.0, 1.0))
        self.assertEqual(self.summary()[20, "sentinel"]["ratio"], (1.2,) * 3)

    def test_a_round_without_all_fast_gives_no_ratio(self):
        self.assertIsNone(figures.summarise([{SLOW: run(5)}])[SLOW]["ratio"])

    def test_what_was_foreseen(self):
        summary = self.summary()
        self.assertAlmostEqual(figures.foreseen_error(summary[20, "sentinel"]), 0.25)
        self.assertAlmostEqual(figures.foreseen_error(summary[FAST]), -0.2)
        self.assertAlmostEqual(figures.foreseen_error(summary[SLOW]), 700 / 900 - 1)
        self.assertIsNone(figures.foreseen_error(summary[20, "lru"]))

    def test_means_are_over_the_models_that_have_all(self):
        other = figures.summarise([{FAST: run(100), SLOW: run(400), (20, "lru"): run(800)}])
        lacking = figures.summarise([{FAST: run(100), SLOW: run(100)}])
        found = figures.means([self.summary(), other, lacking], [20, 50], ["all-fast", "lru", "all-slow"])
        mean, models = found[20, "lru"]
        self.assertAlmostEqual(mean, (2.0 * 8.0) ** 0.5)
        self.assertEqual(models, 2)
        self.assertAlmostEqual(found[20, "all-slow"][0], (8.0 * 4.0) ** 0.5)
        self.assertNotIn((50, "lru"), found)
        self.assertAlmostEqual(found[50, "all-slow"][0], (8.0 * 4.0 * 1.0) ** (1 / 3))

    def test_order(self):
        self.assertEqual(figures.ordered(["first-touch", "new", "all-slow", "sentinel", "all-fast", "lru"]),
                         ["all-fast", "sentinel", "new", "lru", "first-touch", "all-slow"])


def result(**others):
    rounds = [{FAST: run(100e6), SLOW: run(800e6), (20, "lru"): run(300e6, adopted_after=9, to_fast_per_step=3 * MIB),
               (50, "lru"): run(150e6), (20, "sentinel"): run(120e6, foreseen=132e6)}]
    summary = figures.with_foreseen_ends(figures.summarise(rounds), rounds)
    return {"machine": "optane-100", "model": "gpt2", "options": ["--batch", "1"], "summary": summary,
            "complete_rounds": 1, "errors": [], "differences": [], **others}


class Tables(unittest.TestCase):
    PLAN = {"machines": ["optane-100"], "capacities": [20, 50], "policies": ["all-fast", "sentinel", "lru", "all-slow"]}

    def test_rows(self):
        text = tables.document({"threads": 1}, [result()], self.PLAN)
        self.assertIn("Every figure here is an emulation", text)
        self.assertIn("--batch 1; peak of tensors 100 MiB; rounds: 1", text)
        self.assertIn("Fast capacity 20 %, 20.0 MiB:", text)
        self.assertIn("| sentinel | 120.0 [120.0 .. 120.0] | 1.200 [1.200 .. 1.200] |", text)
        self.assertIn("| 132.0 | +10.0 % | 4 | 100 % |", text)
        self.assertIn("| 3.0 | 0.0 | 0.00 | 0.0 | 0.0 | - | - | **9** |", text, "adopted late")
        self.assertIn("| sentinel | **no run of it succeeded** |", text, "at 50 %")
        self.assertIn("| lru | 3.000 | 1.500 |", text)
        self.assertIn("| models | 1 | 1 |", text)
        self.assertIn("bit for bit", text)
        widths = {line.count("|") for line in text.splitlines() if line.startswith("| sentinel")
                  and "MiB" not in line and line.count("|") > 4}
        self.assertEqual(widths, {len(tables.COLUMNS) + 1})

    def test_what_went_wrong(self):
        text = tables.document({}, [result(errors=["lru: out of luck"], differences=["lru: losses differ"])], self.PLAN,
                               interrupted=True)
        self.assertIn("**Interrupted", text)
        self.assertIn("- **failed**: lru: out of luck", text)
        self.assertIn("- **DIFFERENT RESULTS**: lru: losses differ", text)
        self.assertNotIn("bit for bit", text)


class Picture(unittest.TestCase):
    POLICIES = ["all-fast", "lru", "<new>", "all-slow"]

    def draw(self, results, capacities=(20, 50)):
        return ElementTree.fromstring(plot.svg(results, "optane-100", list(capacities), self.POLICIES))

    def test_a_line_for_each_policy_in_a_panel_for_each_model(self):
        root = self.draw([result(), result(model="vit"), result(machine="another")])
        words = [element.text for element in root.iter(SVG + "text")]
        for word in ("gpt2", "vit", "<new>", "lru", "20", "50", "1"):
            self.assertIn(word, words)
        self.assertEqual(len(list(root.iter(SVG + "polyline"))), 2 * 3, "<new> has no points")
        self.assertEqual(len(list(root.iter(SVG + "circle"))), 2 * 3 * 2)

    def test_slower_is_higher_and_larger_is_further_right(self):
        root = self.draw([result()])
        lines = {element.get("stroke"): [tuple(map(float, point.split(",")))
                                         for point in element.get("points").split()]
                 for element in root.iter(SVG + "polyline")}
        lru, fast, slow = (lines[plot.COLOURS[name]] for name in ("lru", "all-fast", "all-slow"))
        self.assertLess(lru[0][0], lru[1][0])
        self.assertLess(lru[0][1], lru[1][1], "300 ms at 20 % stand above 150 ms at 50 %")
        self.assertLess(slow[0][1], lru[0][1])
        self.assertGreater(fast[0][1], lru[1][1])

    def test_all_of_it_is_on_the_picture(self):
        root = self.draw([result(model=f"m{i}") for i in range(5)])
        width, height = float(root.get("width")), float(root.get("height"))
        for circle in root.iter(SVG + "circle"):
            self.assertTrue(0 < float(circle.get("cx")) < width and 0 < float(circle.get("cy")) < height)

    def test_one_capacity_is_a_point(self):
        root = self.draw([result()], capacities=(20,))
        self.assertEqual(len(list(root.iter(SVG + "polyline"))), 0)
        self.assertEqual(len(list(root.iter(SVG + "circle"))), 3)


class Program(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hearth-tiered-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name, text in (("python", INTERPRETER), ("tool", TOOL)):
            (self.folder / name).write_text(text.format(python=sys.executable), encoding="utf-8")
            (self.folder / name).chmod(0o755)
        ctypes.CDLL("libm.so.6")
        with open("/proc/self/maps", encoding="ascii", errors="replace") as maps:
            library = next(line.split()[-1] for line in maps if "libm.so" in line or "/libm-" in line)
        # A library that changes nothing takes Hearth's place.
        self.command = [sys.executable, str(MACRO / "tiered.py"), "--library", library, "--tool",
                        str(self.folder / "tool"), "--python", str(self.folder / "python"), "--machine", "optane-100",
                        "--capacities", "20,50", "--steps", "11", "--rounds", "2", "--model", "gpt2", "vit",
                        "--json", str(self.folder / "out.json"), "--svg", str(self.folder / "out"),
                        "--markdown", str(self.folder / "out.md")]

    def run_program(self, *options, **variables):
        done = subprocess.run([*self.command, *options], env={**os.environ, **variables}, capture_output=True,
                              text=True, timeout=100, check=False)
        return done, json.loads((self.folder / "out.json").read_text(encoding="utf-8"))

    def launched(self):
        return (self.folder / "log").read_text(encoding="utf-8").splitlines()

    def test_figures_and_files(self):
        done, value = self.run_program()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.folder / "out.md").read_text(encoding="utf-8"), done.stdout.removesuffix("\n"))
        self.assertIn("| sentinel | 150.0 [150.0 .. 150.0] | 1.500 [1.500 .. 1.500] | 19.0 | 18.0 | 2.0 | 1.0 | 0.50 |",
                      done.stdout)
        self.assertIn("| 165.0 | +10.0 % | 4 | 100 % |", done.stdout)
        self.assertIn("| lru | 3.800 | 3.500 |", done.stdout)
        self.assertIn("[24/24] ", done.stderr)
        # Plain once a model; the ends of the scale once a round, the others for each capacity.
        launched = self.launched()
        self.assertEqual(len(launched), 2 * (1 + 2 * (2 + 2 * 2)))
        self.assertEqual(launched.count("None 0%"), 2)
        self.assertEqual(launched.count("all-fast 0%"), 4)
        self.assertEqual(launched.count("lru 50%"), 4)
        self.assertEqual((value["runs_left"], len(value["runs"]), len(value["results"])), (0, 24, 2))
        cells = [(each["capacity_percent"], each["policy"]) for each in value["results"][0]["summary"]]
        self.assertEqual(set(cells), {(None, "all-fast"), (None, "all-slow"), (20, "lru"), (50, "lru"),
                                      (20, "sentinel"), (50, "sentinel")})
        ElementTree.parse(self.folder / "out-optane-100.svg")

    def test_resuming_takes_what_there_is(self):
        done, _ = self.run_program(FAILING="lru")
        self.assertEqual(done.returncode, 1)
        self.assertIn("- **failed**: lru at 20 %, round 1: exit status 1: out of luck", done.stdout)
        self.assertIn("| lru | **no run of it succeeded** |", done.stdout)
        before = len(self.launched())
        done, value = self.run_program("--resume")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.launched()[before:].count("lru 20%"), 4)
        self.assertEqual(len(self.launched()) - before, 8)
        self.assertIn("| lru | 3.800 | 3.500 |", done.stdout)
        self.assertEqual(len(value["runs"]), 24)
        # Nothing is lost that a later session ends before it comes to it.
        done, value = self.run_program("--resume", "--rounds", "1", FAILING="lru")
        self.assertEqual((done.returncode, len(value["runs"])), (0, 24), done.stderr)
        other = subprocess.run([*self.command, "--resume", "--steps", "12"], capture_output=True, text=True,
                               check=False)
        self.assertEqual(other.returncode, 1)
        self.assertIn("has runs of other settings", other.stderr)

    def test_other_losses_are_an_error_and_no_figure(self):
        done, _ = self.run_program(LYING="lru")
        self.assertEqual(done.returncode, 1)
        self.assertIn("- **DIFFERENT RESULTS**: lru at 20 %, round 1: losses differ from step 10 on", done.stdout)
        self.assertIn("| lru | **no run of it succeeded** |", done.stdout)
        self.assertIn("| sentinel | 150.0 [", done.stdout)

    def test_a_policy_that_is_not_there(self):
        done = subprocess.run([*self.command, "--policies", "lru,oracle"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no oracle; there are: sentinel, lru, all-fast, all-slow", done.stderr)


if __name__ == "__main__":
    unittest.main()
