"""The harness of bench/macro must see what it exists to see: each check is shown a planted fault."""
import copy
import pathlib
import subprocess
import sys
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(PROJECT / "bench" / "macro"))
import agreement  # noqa: E402
import identity  # noqa: E402
import overhead  # noqa: E402
import runs  # noqa: E402

RECORD = {"data_crc32": "0", "losses": [["0x1.0p+0"], ["0x1.8p-1"]], "result_crc32": "1"}
REPORT = {
    "state": "observe",
    "degradations": [],
    "process": {"adapter": {"file": "/l/libhearth_torch.so", "absent_because": ""}},
    "iterations": {"closed": 9, "ends_found_by": "optimizer"},
    "counters": {"allocations": 7, "frees": 5, "live_tensors": 2, "untracked": 0},
    "profiled_iteration": {"mode": "faults"},
    "profile": {
        "complete": True,
        "anomalies": {},
        "attribution": {"in_ops_bytes": 30, "outside_ops_bytes": 4, "total_bytes": 34},
        "special_op_indices": {"before": -1, "after": -2, "outside": -3, "none": -4},
        "tensors": {"columns": ["bytes", "born_op"], "rows": [[100, -1], [10, 0], [20, 3], [4, -3]],
                    "omitted": {"tensors": 0}},
    },
}


def plain_run():
    return runs.Run("m", "plain", "python3", copy.deepcopy(RECORD), {}, "a warning\n")


def hearth_run():
    return runs.Run("m", "faults", "python3", copy.deepcopy(RECORD), copy.deepcopy(REPORT), "a warning\n")


class Identity(unittest.TestCase):
    def fault_of(self, change):
        run = hearth_run()
        change(run)
        return "; ".join(identity.compare(plain_run(), run))

    def test_equal_runs_pass(self):
        self.assertEqual(identity.compare(plain_run(), hearth_run()), [])

    def test_one_bit_of_one_loss(self):
        self.assertIn("from step 1 on", self.fault_of(lambda run: run.record["losses"][1].__setitem__(0, "0x1.9p-1")))

    def test_missing_step(self):
        self.assertIn("number of steps", self.fault_of(lambda run: run.record["losses"].pop()))

    def test_parameters(self):
        self.assertIn("parameters differ", self.fault_of(lambda run: run.record.update(result_crc32="2")))

    def test_lost_free(self):
        self.assertIn("7 allocations, but 4", self.fault_of(lambda run: run.report["counters"].update(frees=4)))

    def test_bytes_missing_from_attribution(self):
        self.assertIn("add up to 34", self.fault_of(
            lambda run: run.report["profile"]["attribution"].update(total_bytes=33)))

    def test_bytes_credited_to_the_wrong_side(self):
        def move(run):
            run.report["profile"]["attribution"].update(in_ops_bytes=34, outside_ops_bytes=0)
        self.assertIn("outside_ops_bytes", self.fault_of(move))

    def test_no_profile(self):
        self.assertIn("no iteration was profiled", self.fault_of(lambda run: run.report.update(profile=None)))

    def test_no_report(self):
        self.assertIn("no report", self.fault_of(lambda run: run.report.clear()))

    def test_standing_aside(self):
        self.assertIn("stood aside", self.fault_of(lambda run: run.report.update(state="disabled")))

    def test_absent_adapter(self):
        self.assertIn("built for another PyTorch", self.fault_of(lambda run: run.report["process"].update(
            adapter={"file": "", "absent_because": "built for another PyTorch"})))

    def test_optimizer_overlooked(self):
        self.assertIn("by period instead", self.fault_of(
            lambda run: run.report["iterations"].update(ends_found_by="period")))

    def test_changed_messages(self):
        def change(run):
            run.stderr = "[hearth:1] W: perf: EPERM\nanother warning\n"
        self.assertIn("own messages", self.fault_of(change))

    def test_own_line_about_a_degradation_is_allowed(self):
        def change(run):
            run.stderr = "[hearth:1] W: perf: EPERM\na warning\n"
        self.assertEqual(self.fault_of(change), "")

    def test_crash(self):
        self.assertIn("exit status -11", self.fault_of(lambda run: setattr(run, "error", "exit status -11: x")))


class Overhead(unittest.TestCase):
    def record(self):
        states = [0, 1, 1, 1, 2, 3, 3]
        return {"step_hearth_state": states, "step_wall_ns": [900, 200, 100, 777, 300, 101, 102],
                "step_cpu_ns": [900, 200, 100, 777, 300, 101, 102], "step_minor_faults": [0] * len(states)}

    def test_steady_steps_leave_out_warm_up_and_profile(self):
        self.assertEqual(overhead.steady_steps(self.record()), [2, 5, 6])

    def test_figures(self):
        self.assertEqual(overhead.step_figures(self.record())["wall_ns"], 101)
        self.assertEqual(overhead.step_figures(self.record())["fastest_ns"], 100)
        self.assertAlmostEqual(overhead.slowdown_by_steps(self.record())["wall_ns"], 300 / 101)

    def test_plain_run_has_no_slowdown(self):
        record = {**self.record(), "step_hearth_state": [None] * 7}
        self.assertIsNone(overhead.slowdown_by_steps(record))
        self.assertEqual(overhead.steady_steps(record), [2, 3, 4, 5, 6])

    def test_spread(self):
        self.assertEqual(overhead.spread([4, 1, 3, 2, 5]), (3, 2, 4))
        self.assertEqual(overhead.spread([7]), (7, 7, 7))
        self.assertIsNone(overhead.spread([]))

    def test_every_mode_takes_every_place(self):
        modes = ["a", "b", "c"]
        orders = [overhead.rotated(modes, number) for number in range(3)]
        self.assertEqual([sorted(column) for column in zip(*orders)], [modes] * 3)

    def test_ratios_pair_runs_of_one_round(self):
        def figures(wall):
            return {"wall_ns": wall, "cpu_ns": wall, "fastest_ns": wall, "minor_faults": 0, "slowdown": None,
                    "slowdown_by_steps": None, "fault_round_trip_ns": None}
        rounds = [{"plain": figures(100), "ops": figures(110)}, {"plain": figures(1000), "ops": figures(1100)},
                  {"ops": figures(5)}]
        self.assertAlmostEqual(overhead.summarise(rounds, ["plain", "ops"])["ops"]["wall_ratio"][0], 1.1)


class Steps(unittest.TestCase):
    def test_as_many_as_a_profile_takes_unless_told(self):
        self.assertEqual(runs.step_options("vit", None, 2, True), ["--steps", 12, "--threads", 2, "--small"])
        self.assertEqual(runs.step_options("dlrm", 0, 1, False), ["--steps", 30, "--threads", 1])
        self.assertEqual(runs.step_options("dlrm", 5, 2, False), ["--steps", 5, "--threads", 2])


class Environment(unittest.TestCase):
    def test_plain_mode_is_free_of_hearth(self):
        env = runs.environment("plain", "/l/libhearth.so", "/r")
        self.assertFalse([name for name in env if name.startswith("HEARTH_")])

    def test_library_comes_first_and_other_entries_stay(self):
        before = runs.os.environ.get("LD_PRELOAD")
        try:
            runs.os.environ["LD_PRELOAD"] = "/x/libjemalloc.so:/old/libhearth.so"
            env = runs.environment("pages", "/l/libhearth.so", "/r")
        finally:
            runs.os.environ.pop("LD_PRELOAD")
            if before is not None:
                runs.os.environ["LD_PRELOAD"] = before
        self.assertEqual(env["LD_PRELOAD"], "/l/libhearth.so:/x/libjemalloc.so")
        self.assertEqual((env["HEARTH_PROFILE"], env["HEARTH_REPORT"]), ("pages", "/r"))

    def test_settings_win_over_the_mode(self):
        env = runs.environment("faults", "/l/libhearth.so", "/r", ["HEARTH_PROFILE=pages", "HEARTH_MIN_SIZE=1M"])
        self.assertEqual((env["HEARTH_PROFILE"], env["HEARTH_MIN_SIZE"]), ("pages", "1M"))

    def test_disabled_mode_writes_no_report(self):
        self.assertNotIn("HEARTH_REPORT", runs.environment("disabled", "/l/libhearth.so", "/r"))


class Programs(unittest.TestCase):
    def test_a_missing_library_is_named(self):
        for program in ("overhead.py", "agreement.py", "identity.py"):
            done = subprocess.run([sys.executable, str(PROJECT / "bench" / "macro" / program), "--library", "/none.so"],
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn("/none.so is missing", done.stderr)

    def test_a_failed_workload_is_an_error_and_no_figure(self):
        run = runs.run("no_such_model", "plain", sys.executable, "/l.so")
        self.assertIn("exit status 2", run.error)
        self.assertEqual(run.record, {})

    def test_tables_show_errors(self):
        self.assertIn("**no tensor was watched**",
                      agreement.agreement_table([("2.13", "vit", {"error": "no tensor was watched"})]))


if __name__ == "__main__":
    unittest.main()
