"""The Python module `hearth`: without the library everything is a no-op, with it every call reaches the C API.

Runs each case in a child interpreter, since the library must be preloaded. Arguments: folder of the module, path of
the fake library.
"""

import os
import subprocess
import sys
import unittest

MODULE_FOLDER, FAKE = sys.argv[1:3]
del sys.argv[1:3]


def run(code, preload=None, **variables):
    environment = dict(os.environ, PYTHONPATH=MODULE_FOLDER, **variables)
    environment.pop("LD_PRELOAD", None)
    if preload:
        environment["LD_PRELOAD"] = preload
    script = "import ctypes, hearth\n" + code
    result = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=60)
    if result.returncode != 0:
        raise AssertionError(result.stderr)
    return result.stdout.splitlines()


class WithoutTheLibrary(unittest.TestCase):
    def test_questions_have_empty_answers(self):
        lines = run(
            "print(hearth.state(), hearth.active(), hearth.version(), hearth.write_report('/nowhere/at/all'))\n"
            "print(hearth.find(4096), sum(hearth.counters()[1:]), hearth.counters().state)"
        )
        self.assertEqual(lines, ["absent False None False", "None 0 absent"])

    def test_marks_run_the_body_and_pass_exceptions(self):
        lines = run(
            "with hearth.iteration() as mark: print('body')\n"
            "@hearth.iteration\n"
            "def bare(x): return x + 1\n"
            "@hearth.iteration()\n"
            "def called(x): return x + 2\n"
            "print(bare(1), called(1), bare.__name__, called.__name__)\n"
            "try:\n"
            "    with hearth.iteration(): raise KeyError('k')\n"
            "except KeyError: print('raised')"
        )
        self.assertEqual(lines, ["body", "2 3 bare called", "raised"])

    def test_what_is_no_tensor_is_refused(self):
        lines = run("try: hearth.find('text')\nexcept TypeError as error: print(error)")
        self.assertEqual(lines, ["expected a tensor or an address, not str"])


class WithTheLibrary(unittest.TestCase):
    def test_counters_and_state_are_read(self):
        lines = run("print(hearth.version(), hearth.active()); print(*hearth.counters())", FAKE)
        self.assertEqual(lines, ["9.8.7 True", "observe 0 0 3 4 5 6 7 8"])

    def test_every_state_has_its_name(self):
        names = "bootstrap observe profile plan managed disabled forwarding unknown".split()
        for number, name in enumerate(names):
            active = name not in ("disabled", "forwarding")
            lines = run("print(hearth.state(), hearth.active())", FAKE, FAKE_STATE=str(number))
            self.assertEqual(lines, ["%s %s" % (name, active)])

    def test_marks_are_balanced_also_by_exceptions(self):
        lines = run(
            "@hearth.iteration\n"
            "def bare(): return 'result'\n"
            "@hearth.iteration()\n"
            "def called(): raise KeyError\n"
            "with hearth.iteration(): pass\n"
            "print(bare(), bare())\n"
            "try: called()\n"
            "except KeyError: pass\n"
            "print(hearth.counters().allocations, hearth.counters().frees)",
            FAKE,
        )
        self.assertEqual(lines, ["result result", "4 4"])

    def test_find_takes_addresses_and_tensors(self):
        lines = run(
            "lib = ctypes.CDLL(None); lib.fake_tensor.restype = ctypes.c_void_p\n"
            "start = lib.fake_tensor()\n"
            "class View:\n"
            "    def data_ptr(self): return start + 100\n"
            "for it in (start, start + 4095, View()):\n"
            "    found = hearth.find(it)\n"
            "    print(found.serial, found.address == start, found.bytes, found.iteration, found.op, found.own_pages)\n"
            "print(hearth.find(start + 4096), hearth.find(0))",
            FAKE,
        )
        self.assertEqual(lines, ["42 True 4096 7 aten::empty True"] * 3 + ["None None"])

    def test_reports_succeed_or_raise(self):
        lines = run(
            "import errno, pathlib\n"
            "print(hearth.write_report('/ok'), hearth.write_report(pathlib.Path('/ok')))\n"
            "for path in ('/full', None):\n"
            "    try: hearth.write_report(path)\n"
            "    except OSError as error: print(errno.errorcode[error.errno], error.filename)",
            FAKE,
        )
        self.assertEqual(lines, ["True True", "ENOSPC /full", "ENOENT None"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
