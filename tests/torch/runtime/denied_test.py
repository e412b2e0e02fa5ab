"""System calls that are refused: one line says so, and losses stay the same."""
import json
import os
import platform
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from runs import LIBRARY, PYTHON, run
from tiers_test import NETWORK

DENY = os.environ.get("HEARTH_TEST_DENY", "")

# As `deny` knows them; x86_64, aarch64.
CALLS = {"mbind": (237, 235), "move_pages": (279, 239), "get_mempolicy": (239, 236), "set_mempolicy": (238, 237),
         "perf_event_open": (298, 241), "userfaultfd": (323, 282)}
ERRORS = ("EPERM", "ENOSYS")
WHY_NO_PERF = {"EPERM": "perf_event_open: not permitted", "ENOSYS": "perf_event_open: not in this kernel"}


@unittest.skipUnless(DENY, "HEARTH_TEST_DENY names no launcher")
class Deny(unittest.TestCase):
    """The launcher itself: without it the tests below would prove nothing."""

    @unittest.skipUnless(platform.machine() in ("x86_64", "aarch64"), "numbers of system calls are not known here")
    def test_denies_what_it_is_told_and_nothing_else(self):
        column = 0 if platform.machine() == "x86_64" else 1
        numbers = {name: pair[column] for name, pair in CALLS.items()}
        # All arguments are wrong, so that no call does anything: none is refused with one of the two errors.
        program = ("import ctypes, errno\nlibc = ctypes.CDLL(None, use_errno=True)\n"
                   f"for name, number in {numbers}.items():\n"
                   "    got = libc.syscall(number, *[ctypes.c_long(-1)] * 6)\n"
                   "    print(name, got, errno.errorcode[ctypes.get_errno()])")
        for error in ERRORS:
            for denied in [[name] for name in CALLS] + [list(CALLS)]:
                with self.subTest(error=error, denied=denied):
                    done = run([DENY, "--errno", error, ",".join(denied), "--", sys.executable, "-c", program])
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    refused = [line.split()[0] for line in done.stdout.splitlines() if line.endswith(f" -1 {error}")]
                    self.assertEqual(refused, denied, done.stdout)


@unittest.skipUnless(DENY, "HEARTH_TEST_DENY names no launcher")
class Denied(unittest.TestCase):
    """Whole programs in which system calls fail. A loop without optimizer, which starts in half of the time."""
    PROGRAM = NETWORK + '''
for i in range(20):
    x, y = batch()
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    with torch.no_grad():
        for p in net.parameters():
            p -= 0.05 * p.grad
            p.grad = None
    print("loss", loss.item().hex())
'''
    ALONE = [((call,), error) for call in CALLS for error in ERRORS]
    TOGETHER = [(tuple(CALLS), error) for error in ERRORS]

    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory(prefix="hearth-test-") as place, ThreadPoolExecutor(2) as lanes:
            cls.place = Path(place)
            (cls.place / "program.py").write_text(cls.PROGRAM)
            without = lanes.submit(run, [PYTHON, str(cls.place / "program.py")])
            cases = cls.ALONE + cls.TOGETHER
            cls.outcomes = dict(zip(cases, lanes.map(cls.run_denied, cases)))
            cls.plain = without.result()
        assert (cls.plain.returncode, len(cls.plain.stdout.splitlines())) == (0, 20), cls.plain.stderr

    @classmethod
    def run_denied(cls, case):
        """Asks for perf only where all is denied: unasked, its loss is no line on standard error."""
        calls, error = case
        path = cls.place / f"{error}-{'-'.join(calls)}.json"
        asked = {"HEARTH_PERF": "faults"} if len(calls) > 1 else {}
        done = run([DENY, "--errno", error, ",".join(calls), "--", PYTHON, str(cls.place / "program.py")],
                   preload=[LIBRARY], HEARTH_REPORT=path, HEARTH_PROFILE="faults", HEARTH_TIERS="auto",
                   HEARTH_FAST_CAPACITY="8M", **asked)
        return done, json.loads(path.read_text()) if path.exists() else None

    def check(self, case, abilities):
        done, report = self.outcomes[case]
        self.assertEqual((done.returncode, done.stdout), (0, self.plain.stdout), done.stderr)
        lines = done.stderr.splitlines()
        for line in lines: self.assertRegex(line, r"^\[hearth:\d+\] W: ")
        self.assertLessEqual(len(lines), abilities, lines)
        self.assertIsNotNone(report)
        self.assertEqual((report["state"], report["iterations"]["profiled"]), ("managed", 1))
        self.assertGreater(report["guard"]["faults"], 0, "faults are seen by mprotect, which nobody denied")
        self.assertEqual(report["guard"]["protect_failures"], 0)
        if {"mbind", "move_pages"} & set(case[0]): self.assertFalse(report["tiers"]["present"])
        return report, lines

    def check_perf_told(self, report, error):
        told = [each for each in report["degradations"] if each["what"] == "page-fault samples"]
        self.assertEqual(len(told), 1, report["degradations"])
        self.assertTrue(told[0]["cause"].startswith(WHY_NO_PERF[error]), told)
        self.assertIn("HEARTH_PERF=off", told[0]["cure"])
        self.assertEqual(report["perf"], {"status": "refused, see degradations", "samples": 0})

    def test_each_alone(self):
        for calls, error in self.ALONE:
            with self.subTest(calls=calls, error=error):
                report, _ = self.check((calls, error), abilities=1)
                if calls == ("perf_event_open",): self.check_perf_told(report, error)

    def test_all_at_once(self):
        for calls, error in self.TOGETHER:
            with self.subTest(error=error):
                report, lines = self.check((calls, error), abilities=2)
                self.check_perf_told(report, error)
                self.assertEqual(len([line for line in lines if WHY_NO_PERF[error] in line]), 1, lines)
                self.assertEqual([each["what"] for each in report["degradations"]], ["tiers", "page-fault samples"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
