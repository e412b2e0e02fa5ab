"""What a managed step does not do."""
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from managed import LOOP
from runs import LIBRARY, PYTHON, clean_environment


class SteadyState(unittest.TestCase):
    @unittest.skipUnless(shutil.which("strace"), "strace is not installed")
    def test_no_system_call_in_a_managed_step(self):
        script = LOOP + '''
import gc, os
data = [batch() for _ in range(60)]
for i, (x, y) in enumerate(data):
    if i == 40: gc.disable()
    if i >= 40: os.write(2, b"STEP")
    train(x, y)
'''
        with tempfile.TemporaryDirectory() as folder:
            program, calls = Path(folder) / "program.py", Path(folder) / "calls"
            program.write_text(script)
            done = subprocess.run(["strace", "-f", "-o", calls, "-E", f"LD_PRELOAD={LIBRARY}", PYTHON, program],
                                  env=clean_environment(), capture_output=True, text=True, timeout=600, check=False)
            if "PTRACE" in done.stderr or "ptrace" in done.stderr: self.skipTest("tracing is not permitted here")
            self.assertEqual(done.returncode, 0, done.stderr[-2000:])
            steps = calls.read_text().split('write(2, "STEP"')[2:]
        self.assertEqual(len(steps), 19)
        # Idle threads of a BLAS yield and sleep; an allocator asks for memory, Hearth might for time or files.
        asked = ("mmap", "munmap", "brk", "madvise", "mprotect", "mremap", "mbind", "move_pages", "openat", "clock_gettime")
        # Python's own small objects come from arenas of this size, now and then a fresh one; Hearth maps without reserve.
        pythons = re.compile(r"mmap\(NULL, (262144|1048576), PROT_READ\|PROT_WRITE, MAP_PRIVATE\|MAP_ANONYMOUS, -1, 0\)")
        inside = [call for step in steps[:-1] for call in step.splitlines()[1:-1]
                  if any(f" {name}(" in call for name in asked) and not pythons.search(call)]
        self.assertEqual(inside, [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
