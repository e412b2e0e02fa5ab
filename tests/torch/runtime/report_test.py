"""What a report says of a loop at any time: which iteration its profile is of, and why there is no plan."""
import json
import tempfile
import unittest
from pathlib import Path

from managed import LOOP
from runs import run_with_report

SECOND = LOOP + '''
import ctypes
write = ctypes.CDLL(None).hearth_write_report
for i in range(12): train(*batch())
other = nn.Sequential(nn.Linear(300, 50), nn.ReLU(), nn.Linear(50, 5))
steps = torch.optim.SGD(other.parameters(), 0.1)
for i in range(40):
    steps.zero_grad(); other(torch.randn(300, 300)).square().mean().backward()
    assert write(os.path.join(os.environ["FOLDER"], f"{i}.json").encode()) == 0
    steps.step()
'''


class Report(unittest.TestCase):
    def test_while_another_iteration_is_profiled_it_speaks_of_the_one_that_was(self):
        with tempfile.TemporaryDirectory() as folder:
            done, last = run_with_report(SECOND, FOLDER=folder)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            reports = [json.loads(path.read_text()) for path in Path(folder).iterdir()]
        self.assertEqual(last["iterations"]["profiled"], 2)
        between = [each["profiled_iteration"] for each in reports
                   if each["state"] == "profile" and each["iterations"]["profiled"] == 1]
        before = [each["profiled_iteration"] for each in reports
                  if each["state"] != "profile" and each["iterations"]["profiled"] == 1]
        self.assertTrue(between and before)
        of = {tuple(each[name] for name in ("number", "events", "dropped_events", "duration_ns")) for each in between + before}
        self.assertEqual(len(of), 1, of)
        self.assertLess(of.pop()[0], 12)

    def test_a_loop_without_plan_is_told_why(self):
        done, report = run_with_report(LOOP + '''
for i in range(40):
    more = nn.Sequential(*[nn.Linear(10, 10) for _ in range(i)])
    train(*batch(), module=lambda x: more(net(x)))
''')
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual((report["iterations"]["profiled"], report["plan"]["present"]), (1, False))
        self.assertEqual([each["what"] for each in report["degradations"]], ["plan"])
        self.assertIn("do not repeat", report["degradations"][0]["cause"])

    def test_a_profiled_iteration_unlike_the_others_is_told(self):
        """The training ends before another one is profiled."""
        done, report = run_with_report(LOOP + '''
for i in range(6):
    more = nn.Sequential(*[nn.Linear(10, 10) for _ in range(max(0, i - 2))])
    train(*batch(), module=lambda x: more(net(x)))
''')
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(report["iterations"]["profiled"], 0)
        self.assertEqual([each["what"] for each in report["degradations"]], ["no profile"])
        self.assertIn("unlike", report["degradations"][0]["cause"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
