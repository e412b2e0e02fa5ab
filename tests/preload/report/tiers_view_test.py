"""hearth report on reports of two kinds of memory. Argument: the tool."""
import copy
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = os.path.abspath(sys.argv[1])
del sys.argv[1]

STAKE = ["bytes", "gain_ns", "possible_ns", "moved_bytes", "lane_ns", "fast_average_bytes", "fast_most_bytes", "windows"]
REASONS = ["stays", "moves", "partly", "no_gain", "seldom", "no_room", "no_time", "unplanned"]
MIB = 1 << 20
MOVES = {"requests": 10, "bytes": 5 * MIB, "busy_ns": 1000, "by": "copies"}


def tensor(serial, reason, windows, uses=(3, 2), most=MIB, **changed):
    row = {"serial": serial, "made_by": "aten::mm", "module": "encoder", "lifetime": "activation", "frequency": 1,
           "reason": reason, "uses": uses[0], "fast_uses": uses[1], "first_stretch": serial, "stretches": 1, "bytes": 2 * MIB,
           "gain_ns": 4_000_000, "possible_ns": 0, "moved_bytes": 0, "lane_ns": 0, "fast_average_bytes": MIB,
           "fast_most_bytes": most, "windows": windows}
    return {**row, **changed}


def table(rows, columns=None):
    columns = columns or list(rows[0])
    return {"columns": columns, "rows": [[row[name] for name in columns] for row in rows]}


TENSORS = [tensor(0, "stays", [[0, 900]]), tensor(1, "moves", [[5, 30], [400, 520], [600, 700]]), tensor(2, "partly", [[0, 900]]),
           tensor(3, "no_gain", []), tensor(4, "seldom", []), tensor(5, "no_room", []), tensor(6, "no_time", []),
           tensor(7, "unplanned", [], made_by="", module="")]
ACCOUNT = {
    "policy": "sentinel", "ops": 900,
    "classes": table([{"lifetime": "activation", "frequency": 1, "tensors": 8, "bytes": 16 * MIB, "gain_ns": 12_000_000,
                       "possible_ns": 5_000_000, "moved_bytes": 3 * MIB, "lane_ns": 1, "fast_average_bytes": 2 * MIB,
                       "fast_most_bytes": 4 * MIB, "windows": [], **{reason: 2 * MIB for reason in REASONS}}]),
    "tensors": table(TENSORS),
    "timeline": table([{"op": 10 * i, "time_ns": 1_562_500 * i, "pool": 2 * MIB, "short": 0, "activation": MIB * (i % 3),
                        "persistent": 4 * MIB if i >= 32 else 0} for i in range(64)]),
    "moves": {**table([{"stretch": 1, "bytes": 2 * MIB, "to": "slow", "at": 30, "due": 60, "foreseen_ns": 700_000, "wait": False,
                        "asked": 20, "late": 0, "late_ns": 0, "latest_ns": 0},
                       {"stretch": 1, "bytes": 2 * MIB, "to": "fast", "at": 390, "due": 400, "foreseen_ns": 700_000,
                        "wait": True, "asked": 20, "late": 4, "late_ns": 8_000_000, "latest_ns": 3_000_000},
                       {"stretch": 77, "bytes": MIB, "to": "fast", "at": 395, "due": 401, "foreseen_ns": 700_000,
                        "wait": True, "asked": 20, "late": 1, "late_ns": 9_000_000, "latest_ns": 9_000_000}]), "omitted": 0},
}
TIERS = {
    "present": True, "backend": "emulated", "how": "emulated: optane-100", "policy": "sentinel",
    "fast_capacity_bytes": 8 * MIB, "fast_bytes": MIB, "slow_bytes": 9 * MIB, "fast_peak_bytes": 7 * MIB, "unbound_bytes": 0,
    "pages_checked": 0, "pages_as_booked": 0, "to_fast": MOVES, "to_slow": MOVES, "dropped_clean_bytes": 0,
    "not_moved": {"bytes": 0, "busy": 0, "no_memory": 0, "forbidden": 0, "absent_node": 0, "other": 0},
    "calls": 0, "retries": 0, "full": 0, "cancelled": 0, "refused": 0, "late": 0, "latest_ns": 0,
    "foreseen": {"step_ns": 100_000_000, "all_fast_ns": 90_000_000, "all_slow_ns": 300_000_000, "stall_ns": 0,
                 "fast_peak_bytes": 8 * MIB, "fast_average_bytes": 3 * MIB},
    "steady": {"iterations": 20, "duration_ns": 2_040_000_000, "fast_average_bytes": 3 * MIB, "to_fast_bytes": 60 * MIB,
               "to_slow_bytes": 40 * MIB, "waited_ns": 20_000_000, "charged_ns": 0, "slow_bytes_used": 0, "moves": 60,
               "late": 5, "late_ns": 17_000_000},
    "account": ACCOUNT,
    "emulation": {"charges": 0, "charged_ns": 0, "overshoot_ns": 0, "slow_bytes_used": 0},
}
REPORT = {
    "schema_version": 1, "generator": {"name": "hearth", "version": "0"}, "profile": None, "options": [], "not_seen": [],
    "process": {"command": "train", "pid": 1, "host": "h", "rank": "", "world_size": "", "torch_version": "2",
                "adapter": {"absent_because": ""}},
    "written": {"because": "exit"}, "state": "managed", "iterations": {"closed": 25, "profiled": 1}, "degradations": [],
    "counters": {"allocations": 1, "frees": 1, "live_tensors": 0, "live_bytes": 0, "peak_bytes": 1},
    "profiled_iteration": None, "tiers": TIERS,
}


class TiersView(unittest.TestCase):
    def show(self, tiers, *options, columns=150):
        with tempfile.TemporaryDirectory(prefix="hearth-report-") as folder:
            path = pathlib.Path(folder, "r.json")
            path.write_text(json.dumps({**REPORT, "tiers": tiers}))
            return subprocess.run([TOOL, "report", path, *options], capture_output=True, text=True, timeout=60, check=False,
                                  encoding="utf-8", env={**os.environ, "COLUMNS": str(columns), "LC_ALL": "C.UTF-8"})

    def text(self, tiers, *options, columns=150):
        done = self.show(tiers, *options, columns=columns)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def row(self, text, *words):
        found = [line for line in text.splitlines() if all(word in line for word in words)]
        self.assertEqual(len(found), 1, (words, text))
        return found[0]

    def test_the_summary(self):
        text = self.text(TIERS)
        self.assertIn("emulated: optane-100; policy sentinel", text)
        self.assertIn("fast memory: 7.00 MiB at most, 8.00 MiB allowed", text)
        self.assertIn("a step: 100 ms foreseen, 102 ms measured (+2.0 %); foreseen all fast 90.0 ms, all slow 300 ms", text)
        self.assertIn("20 iterations: 3.00 MiB fast on average; a step moved 3.00 MiB to fast and 2.00 MiB to slow, "
                      "waited 1.00 ms", text)
        self.assertIn("of 60 planned moves 5 came late, by 3.40 ms each", text)

    def test_every_reason_has_its_words(self):
        text = self.text(TIERS)
        largest = text[text.index("largest tensors"):]
        for words in ("fast all its life", "moves, 2 of 3 uses fast", "fast in part: 50.0 %", "no gain: in place",
                      "too seldom: in place", "no room", "no time to move", "the heap's"):
            self.row(largest, words)
        self.assertIn(" all ", self.row(largest, "fast all its life"))
        self.assertIn(" 5-30 +2 ", self.row(largest, "moves, 2"))
        self.assertIn("mm in encoder", self.row(largest, "moves, 2"))
        self.assertIn("why: fast all its life 2.00 MiB; moves 2.00 MiB; ", text)
        classes = self.row(text, "4.00 MiB", "12.0 ms")
        self.assertIn("10.0 MiB", classes, "five reasons to be slow")

    def test_the_timeline(self):
        text = self.text(TIERS)
        pool, persistent, everything = (self.row(text, f"  {name} ", "|") for name in ("pool", "persistent", "all"))
        self.assertEqual(len(set(pool.split("|")[1])), 1, "the pool is taken all the time")
        self.assertEqual(persistent.split("|")[1], " " * 32 + "▄" * 32)
        self.assertTrue(everything.endswith("8.00 MiB"), everything)
        self.assertIn("█", everything)
        self.assertNotIn("█", self.text(TIERS, "--ascii"))
        self.assertIn("====", self.row(self.text(TIERS, "--ascii"), "  persistent ", "|"))

    def test_late_moves_come_by_what_they_cost(self):
        late = self.text(TIERS).split("Moves that came late")[1]
        lines = [line for line in late.splitlines() if " of 20" in line]
        self.assertEqual(len(lines), 2)
        self.assertIn("9.00 ms", lines[0])
        self.assertIn("one of the smaller ones", lines[0])
        self.assertIn("4 of 20", lines[1])
        self.assertIn("mm in encoder", lines[1])
        self.assertIn("2 of 3 moves of a step came late", late)

    def test_lists_of_lru(self):
        tiers = {name: value for name, value in TIERS.items() if name not in ("account", "foreseen")}
        tiers["lists"] = {"active_bytes": 5 * MIB, "inactive_bytes": MIB, "accesses": 1234, "activated": 12, "deactivated": 3,
                          "promotions": 40, "demotions": 41, "held_back": 2}
        tiers["steady"] = {**TIERS["steady"], "moves": 0, "late": 0, "late_ns": 0}
        text = self.text(tiers)
        self.assertIn("a step: 102 ms measured", text)
        self.assertIn("lists: 5.00 MiB active, 1.00 MiB inactive; of 1,234 accesses 12 made active, 3 sent back", text)
        self.assertIn("40 promoted, 41 demoted, 2 held back", text)
        self.assertNotIn("planned moves", text)
        self.assertNotIn("What lives where", text)

    def test_reports_of_before(self):
        """What later versions added may be missing."""
        tiers = {name: value for name, value in TIERS.items() if name not in ("account", "foreseen", "steady")}
        self.assertIn("fast memory: 7.00 MiB at most", self.text(tiers))
        tiers = copy.deepcopy(TIERS)
        for name in ("moves", "late", "late_ns"): del tiers["steady"][name]
        self.assertIn("What lives where and why", self.text(tiers))
        self.assertNotIn("Tiers", self.text({"present": False}))

    def test_it_keeps_its_width(self):
        text = self.text(TIERS, columns=100)
        for line in text.split("Tiers")[1].split("Profiled iteration")[0].splitlines():
            if "could not move" not in line: self.assertLessEqual(len(line), 100, line)

    def test_top(self):
        text = self.text(TIERS, "--top", "2")
        self.assertEqual(text.split("largest tensors")[1].split("Fast memory")[0].count("mm in encoder"), 2)
        self.assertIn("--top lists more of the 8 tensors", text)

    def test_json_has_objects_instead_of_tables(self):
        account = json.loads(self.text(TIERS, "--json"))["tiers"]["account"]
        self.assertEqual(account["tensors"], TENSORS)
        self.assertEqual((account["moves"][1]["late"], account["moves_omitted"]), (4, 0))
        self.assertEqual((len(account["timeline"]), account["classes"][0]["no_room"]), (64, 2 * MIB))

    def test_damage_is_told(self):
        for damage in (lambda account: account["tensors"]["columns"].remove("windows"),
                       lambda account: account.pop("timeline"), lambda account: account["tensors"]["rows"][0].pop(),
                       lambda account: account["tensors"]["rows"][0].__setitem__(5, "a whim")):
            tiers = copy.deepcopy(TIERS)
            damage(tiers["account"])
            done = self.show(tiers)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn("a damaged Hearth report", done.stderr)


if __name__ == "__main__":
    unittest.main()
