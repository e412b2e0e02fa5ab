"""What cannot be had is told in one line, however often it is tried for, and stands in the report once."""
import unittest

from runs import run_with_report
from training import TRAINING

# Every third iteration is another one: the profile is tried for again and again, and refused each time, since a thread
# would not stand a page fault.
DEAF = TRAINING + '''
import signal
started, done = threading.Event(), threading.Event()
def deaf():
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGSEGV})
    started.set()
    done.wait()
threading.Thread(target=deaf, daemon=True).start()
started.wait()
train(60, lambda i: [torch.ones(20000 + 1000 * i) for _ in range(i if i % 3 == 2 else 0)])
done.set()
'''


class ToldOnce(unittest.TestCase):
    def test_a_thread_that_blocks_faults(self):
        done, report = run_with_report(DEAF)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn("blocks SIGSEGV", done.stderr)
        self.assertEqual([entry["what"] for entry in report["degradations"]].count("page faults"), 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
