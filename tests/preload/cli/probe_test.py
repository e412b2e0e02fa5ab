"""hearth probe and the machine's part of hearth info, from outside. Argument: the tool."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

TOOL = os.path.abspath(sys.argv[1])
del sys.argv[1:2]


class ProbeTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hearth-probe-")
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)
        self.host = self.path / "cache" / "hearth" / "machine.json"

    def tool(self, *arguments, **variables):
        clean = {k: v for k, v in os.environ.items() if not k.startswith("HEARTH_") and k != "LD_PRELOAD"}
        environment = {**clean, "XDG_CACHE_HOME": str(self.path / "cache"), **variables}
        return subprocess.run(
            [TOOL, *map(str, arguments)], env=environment, cwd=self.path, capture_output=True, text=True, timeout=280
        )

    def known_host(self, gemm=1e11, cores=2):
        self.host.parent.mkdir(parents=True)
        tier = {"read": 1e10, "write": 9e9, "latency_ns": 100, "bytes": 0}
        machine = {"name": "host", "cores": cores, "gemm": gemm, "fault_ns": 700, "outstanding": 10, "interference": 0.3,
                   "scale": 1, "fast": tier, "slow": None, "move_to_fast": 0, "move_to_slow": 0}  # fmt: skip
        self.host.write_text(json.dumps({"schema_version": 1, "machine": machine, "measured": None}))

    def test_quick_measures_all_of_it_and_leaves_it_where_presets_look(self):
        begin = time.monotonic()
        result = self.tool("probe", "--quick", "--json", "--python", "/nonexistent")
        taken = time.monotonic() - begin
        self.assertEqual(result.returncode, 0, result.stderr)
        document = json.loads(result.stdout)
        self.assertEqual(json.loads(self.host.read_text()), document)
        self.assertIn("hearth: wrote %s" % self.host, result.stderr)
        self.assertIn("measuring latency of node 0", result.stderr)
        machine, measured = document["machine"], document["measured"]
        self.assertEqual(machine["cores"], len(os.sched_getaffinity(0)))
        self.assertGreater(machine["fast"]["read"], 1e8)
        self.assertGreater(machine["gemm"], 1e8)
        self.assertIn("a kernel of Hearth's own (/nonexistent", measured["gemm"]["by"])
        self.assertEqual(measured["memory"][0]["bandwidth"][-1]["threads"], machine["cores"])
        for figure in (measured["memory"][0]["latency_ns"], measured["moves"][0]["there"], measured["first_touch_ns"]):
            self.assertTrue(figure["least"] <= figure["median"] <= figure["most"], figure)
        if len(measured["memory"]) == 1:
            self.assertTrue(measured["verdict"].startswith("one kind of memory"))
            self.assertEqual({moves["what"] for moves in measured["moves"]}, {"copy"})
            self.assertIsNone(machine["slow"])
        self.assertLess(taken, 60, "--quick is meant to take ten seconds on an idle machine")

    def test_scale_takes_the_host_as_it_was_measured(self):
        self.known_host()
        result = self.tool("probe", "--scale", "optane-100", "-o", "optane.json")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn("measuring", result.stderr)
        self.assertIn("hearth run --set HEARTH_TIERS=emulated --set HEARTH_MACHINE=optane.json", result.stdout)
        machine = json.loads((self.path / "optane.json").read_text())["machine"]
        preset = {p["name"]: p for p in json.loads(self.tool("info", "--presets", "--json").stdout)}["optane-100"]
        for tier in ("fast", "slow"):
            for way in ("read", "write"):
                here, there = machine[tier][way] / machine["gemm"], preset[tier][way] / preset["gemm"]
                self.assertAlmostEqual(here / there, 1, places=5)
            self.assertEqual(machine[tier]["latency_ns"], preset[tier]["latency_ns"])
        self.assertEqual((machine["cores"], machine["gemm"], machine["fault_ns"]), (2, 1e11, 700))

    def test_figures_of_one_thread_are_kept_apart(self):
        self.known_host(cores=2)
        before = self.host.read_text()
        result = self.tool("probe", "--quick", "--threads", "1", "--python", "/nonexistent", "-o", "one.json")
        self.assertEqual(result.returncode, 0, result.stderr)
        document = json.loads((self.path / "one.json").read_text())
        self.assertEqual(document["machine"]["cores"], 1)
        for memory in document["measured"]["memory"]:
            self.assertEqual([each["threads"] for each in memory["bandwidth"]], [1])
        # What is known of two cores is not taken for one.
        scaled = ("probe", "--scale", "cxl-x8", "--quick", "--python", "/nonexistent", "--json", "--threads")
        result = self.tool(*scaled, "1")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json.loads(result.stdout)["machine"]["cores"], 1)
        self.assertIn("measuring", result.stderr)
        self.assertEqual(self.host.read_text(), before)
        result = self.tool(*scaled, "2")
        self.assertNotIn("measuring", result.stderr)
        self.assertEqual(json.loads(result.stdout)["machine"]["gemm"], 1e11)
        self.assertEqual(self.tool("probe", "--threads", "0").returncode, 2)

    def test_mistakes_are_told(self):
        self.known_host()
        result = self.tool("probe", "-o", "/no/such/folder/machine.json")
        self.assertEqual(result.returncode, 2)
        self.assertNotIn("measuring", result.stderr)
        self.assertIn("cannot write /no/such/folder/machine.json: its directory does not exist", result.stderr)
        result = self.tool("probe", "--scale", "optane")
        self.assertEqual(result.returncode, 2)
        self.assertIn("there is no machine optane; name a file or one of: optane-100, cxl-x8", result.stderr)
        self.host.write_text("{}")
        result = self.tool("probe", "--scale", "optane-100")
        self.assertEqual(result.returncode, 1)
        self.assertIn("%s:1:" % self.host, result.stderr)
        self.assertIn("write it anew: hearth probe", result.stderr)

    def test_presets_name_their_sources(self):
        text = self.tool("info", "--presets").stdout
        for word in ("optane-100", "arXiv:1903.05714", "cxl-x8", "far-socket", "hbm-ddr5", "derived:", "39.40 GB/s"):
            self.assertIn(word, text)

    def test_info_says_which_tiers_there_are_and_why(self):
        facts = json.loads(self.tool("info", "--json", "--no-python").stdout)
        nodes = [node["node"] for node in facts["machine"]["nodes"] if node["allowed"]]
        self.assertIn(0, nodes)
        if len(nodes) == 1:
            self.assertIn("memory on node", facts["tiers"]["problem"])
        else:
            self.assertTrue(facts["tiers"].get("how") or facts["tiers"]["problem"])
        refused = json.loads(self.tool("info", "--json", "--no-python", HEARTH_SLOW_NODES="900").stdout)
        self.assertIn("HEARTH_SLOW_NODES=900: there is no node 900 here", refused["tiers"]["problem"])
        self.assertIn(facts["libraries"]["libnuma"]["loaded"], (True, False))
        self.assertIn(facts["libraries"]["memkind"]["loaded"], (True, False))
        text = self.tool("info", "--no-python").stdout
        for label in ("tiers", "kernel.numa_balancing", "libnuma", "memkind"):
            self.assertRegex(text, r"(?m)^  %s +\S" % label)


if __name__ == "__main__":
    unittest.main(verbosity=2)
