"""Programs whose data are limited (RLIMIT_DATA, as batch systems do) or locked in memory: address space that Hearth
reserves and never uses counts for nothing."""
import unittest

from runs import LIBRARY, run_python
from training import TRAINING

# What a limit leaves beside what PyTorch takes as it is imported. (OpenBLAS tries for ever to get a buffer of 128 MiB.)
LIMITED = '''
import resource, torch
data = [int(line.split()[1]) << 10 for line in open("/proc/self/status") if line.startswith("VmData")][0]
resource.setrlimit(resource.RLIMIT_DATA, (data + (SPARE << 20),) * 2)
''' + TRAINING + '''
print(train(30))
try: torch.empty(1 << 31)
except RuntimeError: print("refused")
'''

LOCKED = '''
import ctypes, resource, sys
import torch
if ctypes.CDLL(None).mlockall(3):  # MCL_CURRENT | MCL_FUTURE
    print("mlockall is not permitted")
    sys.exit()
''' + TRAINING + '''
print(train(30))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10, file=sys.stderr)
'''


class Limits(unittest.TestCase):
    def limited(self, spare):
        plain = run_python(LIMITED.replace("SPARE", spare))
        self.assertEqual(plain.returncode, 0, plain.stderr)
        ours = run_python(LIMITED.replace("SPARE", spare), preload=[LIBRARY], timeout=150)
        self.assertEqual((ours.returncode, ours.stdout), (0, plain.stdout), ours.stderr)
        return ours.stderr

    def test_data_are_limited(self):
        self.assertEqual(self.limited("1600"), "")

    def test_so_much_that_all_of_it_may_be_needed(self):
        self.assertRegex(self.limited("400"), r"^\[hearth:\d+\] W: ulimit -d leaves less .* running without Hearth\. Raise the limit\n$")

    def test_memory_is_locked(self):
        plain = run_python(LOCKED)
        if "not permitted" in plain.stdout:
            self.skipTest("mlockall is not permitted")
        ours = run_python(LOCKED, preload=[LIBRARY])
        self.assertEqual((ours.returncode, ours.stdout), (0, plain.stdout), ours.stderr)
        # Hearth's own tables, among them the log of the profiled iteration: 128 MiB.
        self.assertLess(int(ours.stderr), int(plain.stderr) + 450)


if __name__ == "__main__":
    unittest.main(verbosity=2)
