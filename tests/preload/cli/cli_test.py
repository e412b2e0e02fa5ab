"""The hearth tool from outside. Arguments: the tool, the fake library, docs/knobs.md."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

TOOL, FAKE, KNOBS_PAGE = (os.path.abspath(path) for path in sys.argv[1:4])
del sys.argv[1:4]

# Shows what a command was given: pid, preloaded libraries, HEARTH_ variables, arguments.
SHOW = (
    "import json, os, sys\n"
    "print(json.dumps({'pid': os.getpid(), 'preload': os.environ.get('LD_PRELOAD'), 'arguments': sys.argv[1:],\n"
    "  'knobs': {k: v for k, v in os.environ.items() if k.startswith('HEARTH_')}}))"
)


class ToolTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="hearth-cli-")
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(os.path.realpath(self.folder.name))
        self.library = self.path / "libhearth.so"
        shutil.copy(FAKE, self.library)

    def environment(self, **variables):
        clean = {k: v for k, v in os.environ.items() if not k.startswith("HEARTH_") and k != "LD_PRELOAD"}
        return {**clean, "HEARTH_LIBRARY": str(self.library), **variables}

    def tool(self, *arguments, stdin="", **variables):
        return subprocess.run(
            [TOOL, *map(str, arguments)], env=self.environment(**variables), cwd=self.path, input=stdin,
            capture_output=True, text=True, timeout=120,
        )  # fmt: skip

    def show(self, *options, **variables):
        result = self.tool("run", *options, "--", sys.executable, "-c", SHOW, "--stats", "x y", **variables)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return json.loads(result.stdout)


class Run(ToolTest):
    def test_command_gets_library_and_its_own_arguments(self):
        shown = self.show()
        self.assertEqual(shown["preload"], str(self.library))
        self.assertEqual(shown["arguments"], ["--stats", "x y"])
        self.assertEqual(shown["knobs"], {"HEARTH_LIBRARY": str(self.library)})

    def test_preloads_of_the_user_stay_in_order_behind_ours(self):
        others = [self.path / "libb.so", self.path / "liba.so"]
        for other in others:
            shutil.copy(FAKE, other)
        shown = self.show(LD_PRELOAD=":".join(map(str, others)))
        self.assertEqual(shown["preload"], ":".join(map(str, [self.library, *others])))

    def test_another_copy_of_the_library_gives_way_and_is_told(self):
        other = self.path / "old" / "libhearth.so"
        other.parent.mkdir()
        shutil.copy(FAKE, other)
        result = self.tool("run", "-n", "true", LD_PRELOAD=str(other))
        self.assertIn("%s in LD_PRELOAD gives way to %s" % (other, self.library), result.stderr)
        self.assertNotIn(str(other), result.stdout)

    def test_same_process(self):
        child = subprocess.Popen(
            [TOOL, "run", sys.executable, "-c", SHOW], env=self.environment(), stdout=subprocess.PIPE, text=True
        )
        self.assertEqual(json.loads(child.communicate(timeout=60)[0])["pid"], child.pid)

    def test_exit_status_signals_and_input_pass_through(self):
        self.assertEqual(self.tool("run", "sh", "-c", "exit 7").returncode, 7)
        self.assertEqual(self.tool("run", "sh", "-c", "kill -TERM $$").returncode, -signal.SIGTERM)
        self.assertEqual(self.tool("run", "--", "cat", stdin="a\nb").stdout, "a\nb")

    def test_options_set_knobs(self):
        shown = self.show(
            "--profile", "pages", "--profile-at=5", "-o", "r.%p.json", "--trace", "/tmp/t", "--stats", "-m",
            "--min-size", "64K", "--set", "HEARTH_PERF=off", "--set", "HEARTH_EVENTS=1M", "--log", "info", "-v",
        )  # fmt: skip
        del shown["knobs"]["HEARTH_LIBRARY"]
        self.assertEqual(
            shown["knobs"],
            {
                "HEARTH_PROFILE": "pages",
                "HEARTH_PROFILE_AT": "5",
                "HEARTH_REPORT": str(self.path / "r.%p.json"),
                "HEARTH_TRACE": "/tmp/t",
                "HEARTH_STATS": "1",
                "HEARTH_MODULES": "1",
                "HEARTH_MIN_SIZE": "64K",
                "HEARTH_PERF": "off",
                "HEARTH_EVENTS": "1M",
                "HEARTH_LOG": "info",
                "HEARTH_VERBOSE": "1",
            },
        )

    def test_words_and_lists_are_no_files(self):
        given = {
            "HEARTH_PLAN": "off", "HEARTH_MACHINE": "cxl-x8", "HEARTH_FAST_NODES": "0", "HEARTH_SLOW_NODES": "1-2",
            "HEARTH_MOVER_CPUS": "0,1",
        }  # fmt: skip
        shown = self.show(*(word for name, value in given.items() for word in ("--set", f"{name}={value}")))["knobs"]
        self.assertEqual({name: shown[name] for name in given}, given)
        presets = re.findall(r"^(\S+): ", self.tool("info", "--presets").stdout, re.MULTILINE)
        self.assertGreater(len(presets), 3)
        for preset in presets:
            self.assertEqual(self.show("--set", f"HEARTH_MACHINE={preset}")["knobs"]["HEARTH_MACHINE"], preset)
        shown = self.show("--plan", "p.json", "--set", "HEARTH_MACHINE=m.json")["knobs"]
        self.assertEqual(shown["HEARTH_PLAN"], str(self.path / "p.json"))
        self.assertEqual(shown["HEARTH_MACHINE"], str(self.path / "m.json"))

    def test_the_environment_wins_unless_the_option_is_given(self):
        kept = self.show(HEARTH_MIN_SIZE="1M", HEARTH_STATS="0")["knobs"]
        self.assertEqual((kept["HEARTH_MIN_SIZE"], kept["HEARTH_STATS"]), ("1M", "0"))
        changed = self.show("--min-size", "2M", "--stats", HEARTH_MIN_SIZE="1M", HEARTH_STATS="0")["knobs"]
        self.assertEqual((changed["HEARTH_MIN_SIZE"], changed["HEARTH_STATS"]), ("2M", "1"))

    def test_bad_values_end_the_command_without_a_substitute(self):
        for option, value in (("--profile", "bad"), ("--min-size", "10X"), ("--profile-at", "x")):
            result = self.tool("run", option, value, "--", "true")
            self.assertEqual(result.returncode, 2)
            self.assertIn("=" + value + ": ", result.stderr)
            self.assertNotIn("; using", result.stderr)

    def test_scripts_run_with_python3(self):
        (self.path / "train.py").write_text("import sys; print(sys.argv)")
        result = self.tool("run", "train.py", "--stats")
        self.assertEqual(result.stdout.strip(), "['train.py', '--stats']")

    def test_dry_run_can_be_pasted_into_a_shell(self):
        plan = self.tool("run", "-n", "-s", "-o", "it's here.json", "--", sys.executable, "-c", SHOW, "a'b", "--", "$HOME")
        self.assertEqual((plan.returncode, plan.stderr), (0, ""))
        pasted = subprocess.run(["sh", "-c", plan.stdout], env=self.environment(), capture_output=True, text=True)
        shown = json.loads(pasted.stdout)
        self.assertEqual(shown["arguments"], ["a'b", "--", "$HOME"])
        self.assertEqual(shown["knobs"]["HEARTH_REPORT"], str(self.path / "it's here.json"))
        self.assertEqual(shown["preload"], str(self.library))

    def test_mistakes_are_told_and_nothing_runs(self):
        plain = self.path / "plain"
        plain.write_text("no program")
        cases = [
            (["run"], 2, "no command to run; try: hearth run --stats train.py"),
            (["run", "nosuchcommand"], 127, "nosuchcommand: command not found"),
            (["run", "--", str(plain)], 126, "%s: cannot be run: Permission denied" % plain),
            (["run", "--bogus", "true"], 2, "run has no option --bogus"),
            (["run", "--min-size", "12Q", "true"], 2, "HEARTH_MIN_SIZE=12Q: not a size (use e.g. 16K, 2M)"),
            (["run", "--profile", "all", "true"], 2, "HEARTH_PROFILE=all: not one of off|ops|faults|pages"),
            (["run", "--set", "HEARTH_MINSIZE=1", "true"], 2, "did you mean HEARTH_MIN_SIZE?"),
            (["run", "--set", "HEARTH_STATS", "true"], 2, "--set HEARTH_STATS: expected NAME=VALUE"),
            (["run", "--set", "HEARTH_=1", "true"], 2, "HEARTH_: not the name of a knob"),
            (["run", "--set", "PATH=/tmp", "true"], 2, "PATH: not the name of a knob"),
            (["run", "--config", "absent.conf", "true"], 2, "absent.conf: No such file or directory"),
            (["run", "--report"], 2, "--report"),
        ]
        for arguments, status, message in cases:
            with self.subTest(arguments):
                result = self.tool(*arguments)
                self.assertEqual((result.returncode, result.stdout), (status, ""))
                self.assertIn(message, result.stderr)
                self.assertTrue(result.stderr.startswith("hearth: "), result.stderr)

    def test_strict_ends_before_the_command_starts(self):
        lax = self.tool("run", "echo", "ran", HEARTH_EVENTS="many")
        self.assertEqual((lax.returncode, lax.stdout), (0, "ran\n"))
        for result in (
            self.tool("run", "echo", "ran", HEARTH_EVENTS="many", HEARTH_STRICT="1"),
            self.tool("run", "--strict", "echo", "ran", HEARTH_EVENTZ="1"),
        ):
            self.assertEqual((result.returncode, result.stdout), (78, ""))
            self.assertIn("HEARTH_EVENT", result.stderr)

    def test_a_library_that_cannot_be_preloaded_is_refused(self):
        spaced = self.path / "with space" / "libhearth.so"
        spaced.parent.mkdir()
        shutil.copy(FAKE, spaced)
        for library, message in ((spaced, "holds a space or a colon"), (self.path / "absent.so", "cannot be read")):
            result = self.tool("run", "true", HEARTH_LIBRARY=str(library))
            self.assertEqual(result.returncode, 1)
            self.assertIn(message, result.stderr)
            self.assertIn("HEARTH_LIBRARY", result.stderr)


class Info(ToolTest):
    def facts(self, *options, **variables):
        result = self.tool("info", "--json", *options, **variables)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return json.loads(result.stdout)

    def test_knobs_are_shown_with_their_origin(self):
        config = self.path / "hearth.conf"
        config.write_text("HEARTH_SIGNATURES=3\n")
        facts = self.facts("--no-python", HEARTH_CONFIG=str(config), HEARTH_MIN_SIZE="1M", HEARTH_STATZ="1")
        knobs = {knob["name"]: (knob["value"], knob["origin"]) for knob in facts["knobs"]}
        self.assertEqual(knobs["HEARTH_MIN_SIZE"], ("1M", "environment"))
        self.assertEqual(knobs["HEARTH_SIGNATURES"], ("3", "HEARTH_CONFIG"))
        self.assertEqual(knobs["HEARTH_PERF"], ("auto", "default"))
        self.assertEqual(facts["problems"], ["HEARTH_STATZ: no such knob; did you mean HEARTH_STATS?"])
        self.assertEqual(facts["schema_version"], 1)

    def test_machine_and_permissions(self):
        facts = self.facts("--no-python")
        self.assertGreater(facts["machine"]["memory_bytes"], 1 << 20)
        self.assertGreater(facts["page_fault"]["first_touch_ns"], 10)
        self.assertGreater(facts["page_fault"]["protect_fault_ns"], facts["page_fault"]["first_touch_ns"] / 100)
        calls = {row["call"]: row for row in facts["permitted"]}
        self.assertTrue(calls["mprotect and SIGSEGV"]["permitted"])
        for name in ("perf_event_open, page faults", "userfaultfd", "mbind", "get_mempolicy", "move_pages, query"):
            self.assertEqual("reason" in calls[name], not calls[name]["permitted"])
            self.assertTrue(calls[name]["needed_for"])

    def test_adapters_are_matched_by_version_and_abi(self):
        for name in ("2.13-abi1", "1.13-abi1", "2.9-abi0", "junk"):
            (self.path / ("libhearth_torch-%s.so" % name)).touch()
        python = self.path / "python"
        for version, abi, adapter in (("2.13.0+cpu", 1, "2.13-abi1"), ("2.9.1", 0, "2.9-abi0"), ("2.1.0", 1, None)):
            answer = json.dumps({"python": "p", "python_version": "3", "version": version, "cxx11_abi": abi, "folder": "f"})
            python.write_text("#!/bin/sh\necho noise\necho 'hearth-probe %s'\n" % answer)
            python.chmod(0o755)
            facts = self.facts("--python", python)
            expected = str(self.path / ("libhearth_torch-%s.so" % adapter)) if adapter else None
            self.assertEqual(facts["pytorch"]["adapter"], expected)
            found = [entry["torch"] for entry in facts["library"]["adapters"]]
            self.assertEqual(found, ["1.13", "2.9", "2.13"])

    def test_absent_python_and_library_are_facts_not_failures(self):
        facts = self.facts("--python", "/no/such/python", HEARTH_LIBRARY="/no/such/library")
        self.assertIn("No such file", facts["pytorch"]["error"])
        self.assertIn("cannot be read", facts["library"]["error"])

    def test_text_has_every_section(self):
        result = self.tool("info", "--no-python")
        for words in ("libhearth.so", "Machine", "Permitted here", "Knobs in force", "HEARTH_FREQUENCY_BUCKETS"):
            self.assertIn(words, result.stdout)


class Check(ToolTest):
    def verdict(self, torch, **variables):
        """With a module of our own in the place of torch."""
        (self.path / "torch.py").write_text(torch)
        result = self.tool("check", "--json", "--python", sys.executable, PYTHONPATH=str(self.path), **variables)
        facts = json.loads(result.stdout)
        return result.returncode, facts["verdict"], facts["explanation"]

    def test_no_torch_is_undecided(self):
        status, verdict, why = self.verdict("raise ImportError('no torch here')")
        self.assertEqual((status, verdict), (3, "undecided"))
        self.assertIn("no torch here", why)

    def test_no_python_is_undecided(self):
        result = self.tool("check", "--python", "/no/such/python")
        self.assertEqual(result.returncode, 3)
        self.assertIn("No such file", result.stdout)

    def test_another_program_is_no_python(self):
        for program, status in (("/bin/ls", 2), ("/bin/false", 1), ("/bin/echo", 0)):
            result = self.tool("check", "--python", program)
            self.assertEqual(result.returncode, 3)
            self.assertIn("%s is not a Python interpreter (exit status %d)" % (program, status), result.stdout)
            self.assertLess(len(max(result.stdout.splitlines(), key=len)), 300)

    def test_a_crash_is_undecided(self):
        status, verdict, why = self.verdict("import os; os.abort()")
        self.assertEqual((status, verdict), (3, "undecided"))
        self.assertIn("Aborted", why)

    def test_a_library_that_the_loader_drops_is_told(self):
        self.library.write_text("no ELF file")
        status, verdict, why = self.verdict("raise ImportError('unused')")
        self.assertEqual((status, verdict), (1, "inactive"))
        self.assertIn("did not preload", why)

    FAKE_TORCH = """
class _Any:
    def __call__(self, *a, **k): return self
    def __getattr__(self, name): return self
    def __iter__(self): return iter(())
__version__ = "2.0.0"
__file__ = "/torch/__init__.py"
class _C: _GLIBCXX_USE_CXX11_ABI = True
class _Tensor:
    def data_ptr(self): return 64
def empty(size): return _Tensor()
ones = nn = optim = _Any()
"""

    def test_tensors_that_bypass_the_hook_are_told(self):
        status, verdict, why = self.verdict(self.FAKE_TORCH)
        self.assertEqual((status, verdict), (1, "inactive"))
        self.assertIn("only 0 of 8 tensors", why)

    def test_switched_off_and_stood_aside_are_told(self):
        status, verdict, why = self.verdict(self.FAKE_TORCH, HEARTH_ENABLE="0")
        self.assertEqual((status, verdict, why), (1, "inactive", "HEARTH_ENABLE=0 switches Hearth off"))
        status, verdict, why = self.verdict(self.FAKE_TORCH, FAKE_STATE="5")
        self.assertEqual((status, verdict), (1, "inactive"))
        self.assertIn("stood aside", why)


class Rest(ToolTest):
    def test_knobs_page_is_up_to_date(self):
        generated = self.tool("knobs", "--markdown").stdout
        page = pathlib.Path(KNOBS_PAGE).read_text()
        self.assertEqual(page, generated, "run: hearth knobs --markdown > docs/knobs.md")

    def test_knobs_lists_every_knob(self):
        listed = [line.split()[0] for line in self.tool("knobs").stdout.splitlines() if line.startswith("HEARTH_")]
        shown = [knob["name"] for knob in json.loads(self.tool("info", "--json", "--no-python").stdout)["knobs"]]
        self.assertEqual(listed, shown)

    def test_help_of_every_command_has_examples(self):
        for command in ("run", "info", "check", "knobs", "report", "trace", "plan", "sweep", "scale", "probe"):
            result = self.tool(command, "--help")
            self.assertEqual(result.returncode, 0)
            self.assertIn("Examples:", result.stdout, command)

    def test_version_and_bare_call(self):
        self.assertRegex(self.tool("--version").stdout, r"^hearth \d+\.\d+\.\d+\n$")
        self.assertIn("hearth check", self.tool().stdout)

    def test_output_that_nobody_can_have_is_a_failure(self):
        for words in (("knobs",), ("knobs", "--markdown"), ("info", "--no-python"), ("info", "--presets"), ("--help",)):
            for target in (">/dev/full", ">&-"):
                result = subprocess.run(["sh", "-c", f'"$@" {target}', "sh", TOOL, *words], env=self.environment(),
                                        cwd=self.path, stderr=subprocess.PIPE, text=True, timeout=120)
                self.assertEqual(result.returncode, 1, (words, target))
                self.assertIn("cannot write to", result.stderr, (words, target))

    def test_devices_are_no_reports(self):
        for device in ("/dev/zero", "/dev/null"):
            result = self.tool("report", device)
            self.assertEqual((result.returncode, result.stdout), (1, ""))
            self.assertIn("is a device", result.stderr)

    def test_unknown_commands_get_a_hint(self):
        for typed, hint in (("inof", "did you mean: hearth info"), ("chek", "did you mean: hearth check"),
                            ("python3", "to run a program: hearth run -- python3")):  # fmt: skip
            result = self.tool(typed)
            self.assertEqual(result.returncode, 2)
            self.assertIn(hint, result.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
