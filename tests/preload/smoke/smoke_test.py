"""Exit status, output and errors of everyday programs are the same with Hearth preloaded, alone and beside the
allocators that people preload for PyTorch, in either order."""
import ctypes.util
import glob
import resource
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from runs import LIBRARY, clean_environment, run

PROGRAMS = {
    "true": ["true"],
    "false": ["false"],
    "ls": ["ls", "/usr"],
    "missing file": ["ls", "/nowhere/at/all"],
    "bash": ["bash", "-c", "echo a | cat; exit 3"],
    "grep": ["grep", "-c", "root", "/etc/passwd"],
    "git": ["git", "--version"],
    "compiler": ["gcc", "-v"],
    "python": ["python3", "-c", "print(sum(range(10)))"],
    "numpy": ["python3", "-c", "import importlib.util as u; print(__import__('numpy').ones(3).sum() if u.find_spec('numpy') else 0)"],
    "segfault": ["python3", "-c", "import ctypes; ctypes.string_at(0)"],
    "fork": ["python3", "-c", "import os; p = os.fork(); os._exit(7) if p == 0 else print(os.waitpid(p, 0)[1])"],
}
# What people preload beside PyTorch; those that are not installed are named by test_companions_are_installed.
COMPANIONS = {
    "jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4", "mimalloc": "libmimalloc.so*"}


def companion(pattern):
    found = sorted(glob.glob(f"/usr/lib/*/{pattern}") + glob.glob(f"/usr/lib/*/mimalloc*/{pattern}"))
    return found[0] if found else None


class Smoke(unittest.TestCase):
    def same(self, preload, plain_preload):
        for name, command in PROGRAMS.items():
            if shutil.which(command[0]) is None:
                continue
            with self.subTest(program=name, preload=preload):
                plain = run(command, preload=plain_preload)
                ours = run(command, preload=preload)
                self.assertEqual((ours.returncode, ours.stdout, ours.stderr),
                                 (plain.returncode, plain.stdout, plain.stderr))

    def test_alone(self):
        self.same([LIBRARY], None)

    def test_beside_other_allocators(self):
        for name, pattern in COMPANIONS.items():
            library = companion(pattern)
            if library is None:
                print(f"not installed, not tried: {name}")
                continue
            self.same([LIBRARY, library], [library])
            self.same([library, LIBRARY], [library])

    def test_without_any_environment(self):
        done = subprocess.run(["env", "-i", f"LD_PRELOAD={LIBRARY}", "/bin/ls", "/usr"], env={}, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_settings_do_not_make_it_talk_where_there_is_no_pytorch(self):
        with tempfile.TemporaryDirectory() as folder:
            done = run(["ls", "/usr"], preload=[LIBRARY], HEARTH_STATS=1, HEARTH_VERBOSE=1, HEARTH_TYPO=1,
                       HEARTH_REPORT=Path(folder) / "r.json")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(list(Path(folder).iterdir()), [])

    def test_gdb_recipe(self):
        if shutil.which("gdb") is None:
            self.skipTest("gdb is not installed")
        done = run(["gdb", "--batch", "-ex", f"set exec-wrapper env LD_PRELOAD={LIBRARY}", "-ex", "run",
                    "--args", "/bin/true"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("exited normally", done.stdout)

    def test_loaded_late_it_stands_aside(self):
        # dlopen after start-up: the hooks come too late, but nothing may break; and it is never unloaded.
        program = ("import ctypes\nfor _ in range(20):\n"
                   f"    h = ctypes.CDLL({LIBRARY!r}); assert h.hearth_get_state() in (0, 5)\nprint('fine')")
        done = run(["python3", "-c", program])
        self.assertEqual((done.returncode, done.stdout.strip()), (0, "fine"), done.stderr)

    def test_idle_process_costs_little_memory(self):
        program = "print([l for l in open('/proc/self/smaps_rollup') if l.startswith('Private_Dirty')][0].split()[1])"
        plain = min(int(run(["python3", "-c", program]).stdout) for _ in range(3))
        ours = min(int(run(["python3", "-c", program], preload=[LIBRARY]).stdout) for _ in range(3))
        self.assertLess(ours - plain, 1024, f"KiB of private memory: {ours} against {plain}")

    def test_threads_begin_with_a_signal_stack_and_leave_none_behind(self):
        program = """
import ctypes, threading
class Stack(ctypes.Structure): _fields_ = [("sp", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t)]
libc, seen = ctypes.CDLL(None), []
def look():
    stack = Stack()
    assert libc.sigaltstack(None, ctypes.byref(stack)) == 0
    seen.append((stack.flags, stack.size))
def mappings(): return sum(1 for _ in open("/proc/self/maps"))
def start(n):
    for _ in range(n):
        thread = threading.Thread(target=look); thread.start(); thread.join()
start(10)
before = mappings()
start(200)
print(sorted(set(seen)), mappings() - before < 100)
"""
        there, none = "[(0, 258048)] True\n", "[(2, 0)] True\n"
        for expected, variables in ((there, {}), (none, {"HEARTH_ENABLE": "0"})):
            done = run(["python3", "-c", program], preload=[LIBRARY], **variables)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, expected, ""))

    def test_address_space_limit(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
        environment = dict(clean_environment(), LD_PRELOAD=LIBRARY)
        done = subprocess.run(["python3", "-c", "print(1)"], env=environment, preexec_fn=limit, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "1\n", ""))


if __name__ == "__main__":
    assert LIBRARY, "HEARTH_TEST_LIBRARY is not set"
    assert ctypes.util.find_library("c"), "glibc only"
    unittest.main(verbosity=2)
