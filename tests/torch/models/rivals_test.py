"""bench/macro/rivals.py without PyTorch: its arithmetic on known numbers, the program on a made-up interpreter."""
import ctypes
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[3]
MACRO = PROJECT / "bench" / "macro"
sys.path.insert(0, str(MACRO))
import allocators  # noqa: E402
import fault_cost  # noqa: E402
import rivals_figures as figures  # noqa: E402
import rivals_tables as tables  # noqa: E402

# Stands in for an interpreter with PyTorch: answers the questions about versions, "trains" three steps. Under the
# allocator that LYING names, one loss is off by a bit; before the run that SLOW names, it waits.
INTERPRETER = """#!{python}
import json, os, sys, time
if sys.argv[1] == "-c":
    print("9.9" if "__version__" in sys.argv[2] else "False")
    sys.exit()
here = "hearth" if "HEARTH_REPORT" in os.environ else "tuned" if "MALLOC_MMAP_MAX_" in os.environ else "glibc"
if here == os.environ.get("SLOW"):
    time.sleep(60)
if here == os.environ.get("FAILING"):
    sys.exit("out of luck")
wall = {{"hearth": 80, "tuned": 100, "glibc": 200}}[here] * 10**6
lie = here == os.environ.get("LYING")
json.dump({{"data_crc32": "0", "losses": [["0x1p+0"], ["0x1.8p+0" if lie else "0x1p+0"], ["0x1p+0"]],
           "result_crc32": "1", "step_wall_ns": [9 * wall, wall, wall], "step_cpu_ns": [9 * wall, wall, wall],
           "step_minor_faults": [5, 5, 5], "step_hearth_state": [None] * 3, "peak_rss_bytes": 1 << 30,
           "rss_at_end_bytes": 1 << 29, "hearth": None}}, open(sys.argv[sys.argv.index("--json") + 1], "w"))
if here == "hearth":
    json.dump({{"state": os.environ.get("STATE", "observe"), "counters": {{"peak_bytes": 3 << 20}},
               "heap": {{"committed_bytes": 5 << 20}}, "profile": {{"peak_bytes": 2 << 20}}}},
              open(os.environ["HEARTH_REPORT"], "w"))
"""


def run(wall, cpu=None, faults=0, rss=100, steps=1):
    return {"wall_ns": [wall] * steps, "cpu_ns": [wall if cpu is None else cpu] * steps, "faults": [faults] * steps,
            "peak_rss": rss, "end_rss": rss, "left_out": 0, "hearth": None}


class MeasuredSteps(unittest.TestCase):
    def steps(self, states):
        return figures.measured_steps({"step_hearth_state": states})

    def test_last_third(self):
        self.assertEqual(self.steps([None] * 12), [8, 9, 10, 11])
        self.assertEqual(self.steps([None] * 3), [2])
        self.assertEqual(self.steps([1, 1, 1, 2, 1, 1, 1, 1, 1]), [6, 7, 8])

    def test_without_the_profiled_one_and_the_one_before(self):
        self.assertEqual(self.steps([1] * 10 + [2] + [1]), [8, 11])


class Ratios(unittest.TestCase):
    ROUNDS = [{"hearth": run(90), "glibc": run(200), "jemalloc": run(100)},
              {"hearth": run(80), "glibc": run(100), "jemalloc": run(160)},
              {"hearth": run(600), "glibc": run(1000), "jemalloc": run(500)}]

    def summary(self, rounds=None):
        return figures.summarise(rounds or self.ROUNDS, ["hearth", "glibc", "jemalloc"], 2000)

    def assert_range(self, got, expected):
        for value, wanted in zip(got, expected, strict=True):
            self.assertAlmostEqual(value, wanted)

    def test_best_rival_is_that_of_the_round(self):
        summary = self.summary()
        self.assert_range(summary["hearth"]["wall_to_best"], (0.9, 0.8, 1.2))
        self.assert_range(summary["jemalloc"]["wall_to_best"], (1.0, 1.0, 1.6))

    def test_hearth_is_no_rival(self):
        self.assert_range(self.summary()["glibc"]["wall_to_best"], (2.0, 1.0, 2.0))

    def test_hearth_against_one(self):
        self.assert_range(self.summary()["glibc"]["hearth_wall"], (0.6, 0.45, 0.8))

    def test_a_round_without_one_of_a_pair_does_not_count(self):
        rounds = [*self.ROUNDS, {"hearth": run(1)}, {"glibc": run(1)}]
        self.assert_range(self.summary(rounds)["hearth"]["wall_to_best"], (0.9, 0.8, 1.2))
        self.assertEqual(self.summary(rounds)["glibc"]["rounds"], 4)

    def test_an_allocator_that_never_ran_has_no_summary(self):
        self.assertNotIn("tcmalloc", figures.summarise(self.ROUNDS, ["tcmalloc"], 0))

    def test_memory_against_tuned_glibc(self):
        rounds = [{"hearth": run(1, rss=150), "glibc-tuned": run(1, rss=200)}]
        self.assert_range(figures.summarise(rounds, ["hearth"], 0)["hearth"]["rss_to_tuned"], (0.75,) * 3)
        self.assertIsNone(self.summary()["hearth"]["rss_to_tuned"])

    def test_spread(self):
        self.assertAlmostEqual(figures.relative_spread([1, 2, 3, 4, 5]), 2 / 3)
        self.assertEqual(figures.relative_spread([7]), 0)


class Normalised(unittest.TestCase):
    def test_dear_faults_are_taken_out(self):
        # 1000 faults of 3 us: 2 us too much each at 1 us, 2.5 us at half a microsecond.
        costs = figures.cpu_by_fault_cost(run(0, cpu=10_000_000, faults=1000), 3000)
        self.assertEqual(costs, {"measured": 10_000_000, "1 us": 8_000_000, "0.5 us": 7_500_000})

    def test_cheap_faults_are_put_in(self):
        self.assertEqual(figures.normalised_cpu(run(0, cpu=1000, faults=1), 400, 500), 1100)

    def test_step_by_step(self):
        uneven = {"cpu_ns": [100, 300, 104], "faults": [0, 2, 0]}
        self.assertEqual(figures.normalised_cpu(uneven, 101, 1), 100)

    def test_a_gain_made_of_dear_faults_alone_vanishes(self):
        rounds = [{"hearth": run(0, cpu=1_000_000), "glibc": run(0, cpu=4_000_000, faults=1000)}]
        ratios = figures.summarise(rounds, ["glibc"], 4000)["glibc"]["hearth_cpu"]
        self.assertEqual(ratios["measured"][0], 0.25)
        self.assertEqual(ratios["1 us"][0], 1.0)

    def test_a_result_below_nothing_gives_no_ratio(self):
        rounds = [{"hearth": run(0, cpu=1), "glibc": run(0, cpu=1000, faults=1000)}]
        self.assertIsNone(figures.summarise(rounds, ["glibc"], 4000)["glibc"]["hearth_cpu"]["1 us"])


class Means(unittest.TestCase):
    def summaries(self, *rounds):
        return [figures.summarise([each], list(each), 0) for each in rounds]

    def test_geometric(self):
        self.assertAlmostEqual(figures.geometric_mean([0.5, 2.0, 8.0]), 2.0)
        means = figures.means_over_models(self.summaries({"hearth": run(50), "glibc": run(100)},
                                                         {"hearth": run(200), "glibc": run(100)}), ["hearth", "glibc"])
        self.assertAlmostEqual(means["hearth"]["wall_to_best"], 1.0)
        self.assertEqual(means["hearth"]["models"], 2)

    def test_all_over_the_same_models(self):
        means = figures.means_over_models(self.summaries({"hearth": run(50), "glibc": run(100)}, {"hearth": run(7)}),
                                          ["hearth", "glibc", "jemalloc"])
        self.assertEqual({name: each["models"] for name, each in means.items()}, {"hearth": 1, "glibc": 1})


class TimeLeft(unittest.TestCase):
    def test_by_the_nearest_that_is_known(self):
        durations = {("p", "gpt2", "glibc"): [10, 20], ("p", "gpt2", "hearth"): [6], ("p", "vit", "glibc"): [40]}
        self.assertEqual(figures.seconds_left([("p", "gpt2", "glibc")], durations), 15)
        self.assertEqual(figures.seconds_left([("p", "gpt2", "jemalloc")], durations), 12)
        self.assertEqual(figures.seconds_left([("q", "dlrm", "glibc")] * 2, durations), 38)
        self.assertIsNone(figures.seconds_left([("q", "dlrm", "glibc")], {}))


class Allocators(unittest.TestCase):
    def test_an_unknown_one_is_told_with_those_known(self):
        with self.assertRaisesRegex(ValueError, "none-such.*there are: hearth, glibc,.*mimalloc-tuned"):
            allocators.parse_names("glibc,none-such")
        self.assertEqual(allocators.parse_names("glibc, hearth,glibc"), ["glibc", "hearth"])

    def test_a_missing_one_is_told_with_its_package(self):
        with tempfile.TemporaryDirectory() as folder:
            folders = (pathlib.Path(folder),)
            for name in ("jemalloc", "tcmalloc-tuned", "mimalloc"):
                allocator = allocators.ALLOCATORS[name]
                self.assertEqual(allocators.absence(allocator, True, folders),
                                 f"not installed: apt-get install {allocator.library.package}")
                pathlib.Path(folder, allocator.library.sonames[-1]).touch()
                self.assertEqual(allocators.absence(allocator, True, folders), "")

    def test_a_pytorch_that_does_not_read_the_setting(self):
        self.assertIn("PyTorch", allocators.absence(allocators.ALLOCATORS["torch-thp"], False))
        self.assertEqual(allocators.absence(allocators.ALLOCATORS["torch-thp"], True), "")

    def test_nothing_of_the_caller_leaks_in(self):
        base = {"LD_PRELOAD": "/x.so", "MALLOC_CONF": "a", "MALLOC_ARENA_MAX": "1", "GLIBC_TUNABLES": "b",
                "HEARTH_LOG": "c", "MIMALLOC_VERBOSE": "1", "TCMALLOC_RELEASE_RATE": "5",
                "THP_MEM_ALLOC_ENABLE": "1", "PATH": "/bin"}
        env = allocators.environment(allocators.ALLOCATORS["glibc"], "/h.so", "/r", ["HEARTH_LOG=debug"], base)
        self.assertEqual(env, {"PATH": "/bin", "PYTHONHASHSEED": "0"})

    def test_hearth_gets_its_own_settings(self):
        env = allocators.environment(allocators.ALLOCATORS["hearth"], "/h.so", "/r", ["HEARTH_MIN_SIZE=1M"], {})
        self.assertEqual(env, {"PYTHONHASHSEED": "0", "LD_PRELOAD": "/h.so", "HEARTH_REPORT": "/r",
                               "HEARTH_MIN_SIZE": "1M"})

    def test_a_library_that_was_not_loaded(self):
        done = subprocess.run(["/bin/true"], env={"LD_PRELOAD": "/none.so"}, stderr=subprocess.PIPE,
                              text=True, check=True)
        self.assertIn("/none.so", allocators.refusal(done.stderr))
        self.assertEqual(allocators.refusal("a warning of the program's own\n"), "")


class FaultCost(unittest.TestCase):
    def test_every_page_faults_once(self):
        mapping, offset = fault_cost.aligned_mapping(fault_cost.mmap.MADV_NOHUGEPAGE)
        with mapping:
            _, first = fault_cost.touch(mapping, offset, fault_cost.SMALL)
            _, again = fault_cost.touch(mapping, offset, fault_cost.SMALL)
        self.assertGreaterEqual(first, fault_cost.MAPPING // fault_cost.SMALL)
        self.assertLess(again, first / 100)

    def test_cost_is_plausible(self):
        cost = fault_cost.FaultCost()
        cost.sample()
        small = cost.figures()["small_page_ns"]
        self.assertEqual(small["samples"], fault_cost.SAMPLES_AT_A_TIME)
        self.assertTrue(50 < small["min"] <= small["median"] <= small["max"])


class Program(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hearth-rivals-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.python = self.folder / "python"
        self.python.write_text(INTERPRETER.format(python=sys.executable), encoding="utf-8")
        self.python.chmod(0o755)
        ctypes.CDLL("libm.so.6")
        with open("/proc/self/maps", encoding="ascii", errors="replace") as maps:
            library = next(line.split()[-1] for line in maps if "libm.so" in line or "/libm-" in line)
        # A library that changes nothing takes Hearth's place.
        self.command = [sys.executable, str(MACRO / "rivals.py"), "--library", library, "--python", str(self.python),
                        "--allocators", "hearth,glibc,glibc-tuned", "--json", str(self.folder / "out.json"),
                        "--markdown", str(self.folder / "out.md"), "--rounds", "2", "--model", "gpt2", "vit"]

    def run_program(self, **variables):
        done = subprocess.run(self.command, env={**os.environ, **variables}, capture_output=True, text=True,
                              timeout=100, check=False)
        return done, json.loads((self.folder / "out.json").read_text(encoding="utf-8"))

    def test_figures_and_files(self):
        done, value = self.run_program()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.folder / "out.md").read_text(encoding="utf-8"), done.stdout.removesuffix("\n"))
        self.assertIn("| hearth | 80.00 | 0.0 % | 80.00 | 0.0 % | 0.800 [0.800 .. 0.800] |", done.stdout)
        self.assertIn("| glibc | 200.00 | 0.0 % | 200.00 | 0.0 % | 2.000 [2.000 .. 2.000] |", done.stdout)
        self.assertIn("peak of tensors 3 MiB; lower bound 2 MiB", done.stdout)
        self.assertIn("Best rival by wall over all rounds: glibc-tuned; Hearth against it 0.800", done.stdout)
        self.assertIn("| hearth | 2 of 2 | 0.800 | 0.800 |", done.stdout)
        self.assertIn("[12/12] vit on PyTorch 9.9, round 2 of 2", done.stderr)
        self.assertEqual((value["runs_left"], value["interrupted"], len(value["results"])), (0, False, 2))

    def test_other_losses_are_an_error_in_the_table_and_no_figure(self):
        done, _ = self.run_program(LYING="tuned")
        self.assertEqual(done.returncode, 1)
        self.assertIn("| glibc-tuned | **ERROR: not what glibc computed: losses differ from step 1 on", done.stdout)
        self.assertNotIn("| glibc-tuned | 100.00 |", done.stdout)
        self.assertIn("| hearth | 80.00 | 0.0 % | 80.00 | 0.0 % | 0.400 [", done.stdout)

    def test_failed_runs_are_told(self):
        done, _ = self.run_program(FAILING="glibc")
        self.assertEqual(done.returncode, 1)
        self.assertIn("- failed: glibc, round 2: exit status 1: out of luck", done.stdout)
        self.assertIn("| glibc | **no run of a complete round succeeded** |", done.stdout)

    def test_a_hearth_that_stood_aside_has_no_figures(self):
        done, _ = self.run_program(STATE="disabled")
        self.assertEqual(done.returncode, 1)
        self.assertIn("- failed: hearth, round 1: Hearth was disabled at the end", done.stdout)
        self.assertNotIn("| hearth | 80.00 |", done.stdout)

    def test_interrupt_prints_what_is_complete(self):
        # The last run of the second round hangs: glibc is last there, as the order rotates.
        wait = self.folder / "python"
        wait.write_text(wait.read_text(encoding="utf-8").replace(
            'if here == os.environ.get("SLOW"):',
            'mark = os.path.join(os.path.dirname(__file__), "first")\n'
            'if here == os.environ.get("SLOW") and not os.path.exists(mark):\n    open(mark, "w").close()\n'
            'elif here == os.environ.get("SLOW"):'), encoding="utf-8")
        with subprocess.Popen(self.command, env={**os.environ, "SLOW": "glibc"}, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, start_new_session=True) as program:
            for line in program.stderr:
                if "[5/12]" in line:
                    break
            time.sleep(0.5)  # into the run that hangs
            os.killpg(program.pid, signal.SIGINT)
            out, _ = program.communicate(timeout=60)
        self.assertEqual(program.returncode, 130)
        self.assertIn("**Interrupted: only complete rounds are shown.**", out)
        self.assertIn("| hearth | 80.00 |", out)
        self.assertNotIn("## vit", out)
        value = json.loads((self.folder / "out.json").read_text(encoding="utf-8"))
        self.assertTrue(value["interrupted"])
        self.assertEqual([len(each["rounds"]) for each in value["results"]], [1])
        self.assertEqual(value["results"][0]["summary"]["hearth"]["rounds"], 1)

    def test_an_unknown_allocator(self):
        done = subprocess.run([*self.command, "--allocators", "none-such"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("none-such is no allocator known here; there are: hearth, glibc", done.stderr)


class Tables(unittest.TestCase):
    def test_a_missing_allocator_has_a_row(self):
        result = {"absent": {"jemalloc": "not installed: apt-get install libjemalloc2"}, "differences": {},
                  "summary": {}}
        self.assertIn("| jemalloc | **not installed: apt-get install libjemalloc2** |",
                      tables.figure_table(result, ["jemalloc"]))


if __name__ == "__main__":
    unittest.main()
