"""Forks, workers, exits and signals of real programs: no hang, no crash, no lost result, no lost report."""
import json
import os
import signal
import subprocess
import tempfile
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from runs import LIBRARY, PYTHON, clean_environment, run_python, run_with_report
from training import TRAINING

LOADER = TRAINING + '''
from torch.utils.data import DataLoader, TensorDataset

class Numbers(torch.utils.data.Dataset):
    def __len__(self): return 96
    def __getitem__(self, i):
        return torch.full((3, 64, 64), float(i)), torch.ones(20000).sum() * i

def main(method):
    total = 0.0
    for _ in range(2):
        context = method if method != "none" else None
        loader = DataLoader(Numbers(), batch_size=16, num_workers=2 if context else 0, multiprocessing_context=context)
        for batch, label in loader:
            total += (batch * 2).sum().item() + label.sum().item()
    print(float(total).hex())
    print(train(6))

if __name__ == "__main__":
    main("METHOD")
'''

FORKS = TRAINING + '''
import time
torch.set_num_threads(1)  # OpenMP's own threads do not survive a fork, with or without us
stop = False
def churn():
    while not stop:
        a = torch.ones(50000); b = torch.ones(100); del a, b
threads = [threading.Thread(target=churn) for _ in range(4)]
for t in threads: t.start()
kept = torch.arange(300000.0)
expected = kept.sum().item()
bad = 0
for i in range(200):
    pid = os.fork()
    if pid == 0:
        x = torch.ones(40000)
        ok = kept.sum().item() == expected and x.sum().item() == 40000.0
        del x
        globals().pop("kept")
        os._exit(0 if ok else 1)
    deadline = time.time() + 60
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done: break
        if time.time() > deadline:
            os.kill(pid, 9); print("hang", i); sys.exit(2)
        time.sleep(0.001)
    bad += status != 0
stop = True
for t in threads: t.join()
print("bad", bad)
'''


class Workers(unittest.TestCase):
    def same(self, script, fresh=False):
        with ThreadPoolExecutor(1) as other:
            waiting = other.submit(run_python, script, timeout=600, fresh=fresh)
            ours = run_python(script, preload=[LIBRARY], timeout=600, fresh=fresh)
            plain = waiting.result()
        self.assertEqual(plain.returncode, 0, plain.stderr)
        self.assertEqual((ours.returncode, ours.stdout), (0, plain.stdout), ours.stderr)
        return ours

    def test_data_loader(self):
        for method in ("none", "fork", "spawn", "forkserver"):
            with self.subTest(method=method):
                self.same(LOADER.replace("METHOD", method), fresh=method in ("spawn", "forkserver"))

    def test_two_hundred_forks_under_allocation_load(self):
        self.assertEqual(self.same(FORKS, fresh=True).stdout, "bad 0\n")  # how many children came to harm

    def test_fork_in_the_middle_of_the_profiled_iteration(self):
        script = TRAINING + '''
def fork(i):
    torch.set_num_threads(1)
    pid = os.fork()
    if pid == 0:
        total = sum(p.sum().item() for p in [torch.ones(30000)] * 3)
        os._exit(0 if total == 90000.0 else 1)
    assert os.waitpid(pid, 0)[1] == 0, "child failed"
print(train(8, fork))
'''
        self.same(script)

    def test_threads_that_allocate_and_end(self):
        self.same(TRAINING + '''
def work(): return [torch.ones(20000).sum().item() for _ in range(3)]
results = []
for _ in range(300):
    t = threading.Thread(target=lambda: results.append(work())); t.start(); t.join()
print(len(results), results[0], train(6))
''')

    def test_training_in_a_thread_of_its_own(self):
        script = TRAINING + '''
out = []
t = threading.Thread(target=lambda: out.append(train(10))); t.start(); t.join()
print(out)
'''
        self.same(script)
        done, report = run_with_report(script)
        self.assertEqual(report["iterations"]["ends_found_by"], "optimizer", done.stderr)


class Ends(unittest.TestCase):
    def test_os_exit_leaves_a_report(self):
        done, report = run_with_report(TRAINING + "train(8); os._exit(5)", fresh=True)
        self.assertEqual(done.returncode, 5)
        self.assertIsNotNone(report)
        self.assertEqual(report["iterations"]["profiled"], 1)

    def test_uncaught_exception_leaves_a_report(self):
        done, report = run_with_report(TRAINING + "train(8); raise SystemExit(4)", fresh=True)
        self.assertEqual(done.returncode, 4)
        self.assertIsNotNone(report)

    def start(self, script, folder, **variables):
        path = Path(folder) / "program.py"
        path.write_text(script)
        environment = dict(clean_environment(), LD_PRELOAD=LIBRARY, HEARTH_REPORT=str(Path(folder) / "report.json"))
        environment.update(variables)
        return subprocess.Popen([PYTHON, str(path)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True)

    WAITING = TRAINING + "train(8)\nprint('ready', flush=True)\nimport time\ntime.sleep(120)\n"

    def test_sigterm_leaves_a_report_and_still_kills(self):
        with tempfile.TemporaryDirectory() as folder:
            child = self.start(self.WAITING, folder)
            self.assertEqual(child.stdout.readline(), "ready\n")
            child.send_signal(signal.SIGTERM)
            child.communicate(timeout=60)
            self.assertEqual(child.returncode, -signal.SIGTERM)
            report = json.loads((Path(folder) / "report.json").read_text())
            self.assertEqual(report["iterations"]["profiled"], 1)

    def test_sigkill_leaves_the_report_of_the_profile(self):
        with tempfile.TemporaryDirectory() as folder:
            child = self.start(self.WAITING, folder)
            self.assertEqual(child.stdout.readline(), "ready\n")
            child.kill()
            child.communicate(timeout=60)
            self.assertEqual(json.loads((Path(folder) / "report.json").read_text())["iterations"]["profiled"], 1)

    def test_sigusr2_writes_a_report_now(self):
        with tempfile.TemporaryDirectory() as folder:
            child = self.start(self.WAITING, folder, HEARTH_PROFILE="off")
            self.assertEqual(child.stdout.readline(), "ready\n")
            path = Path(folder) / "report.json"
            self.assertFalse(path.exists())
            child.send_signal(signal.SIGUSR2)
            deadline = time.time() + 30
            while not path.exists() and time.time() < deadline:
                time.sleep(0.05)
            self.assertGreater(json.loads(path.read_text())["counters"]["allocations"], 0)
            self.assertIsNone(child.poll())
            child.kill()
            child.communicate()

    def test_the_programs_own_handlers_win(self):
        script = TRAINING + '''
import signal
signal.signal(signal.SIGTERM, lambda *a: (print("mine"), sys.exit(9)))
train(8); os.kill(os.getpid(), signal.SIGTERM)
'''
        done, _ = run_with_report(script)
        self.assertEqual((done.returncode, done.stdout), (9, "mine\n"), done.stderr)

    def test_an_existing_report_is_not_overwritten(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "report.json"
            path.write_text("precious")
            done = run_python(TRAINING + "train(6)", preload=[LIBRARY], HEARTH_REPORT=path)
            self.assertEqual(done.returncode, 0)
            self.assertEqual(path.read_text(), "precious")
            self.assertEqual(len(list(Path(folder).glob("report*.json"))), 2)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_a_pipe_without_reader_and_a_device_are_left_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            pipe = Path(folder) / "pipe"
            os.mkfifo(pipe)
            done = run_python(TRAINING + "train(6)", preload=[LIBRARY], HEARTH_REPORT=pipe, HEARTH_TRACE=pipe)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 2, done.stderr)  # one for the report, one for the trace
            self.assertTrue(pipe.is_fifo())
            self.assertEqual(list(Path(folder).iterdir()), [pipe])

    def test_late_frees(self):
        script = TRAINING + '''
import atexit
kept = [torch.ones(30000) for _ in range(5)]
atexit.register(lambda: kept.clear())
class Holder:
    def __del__(self): self.t = None
h = Holder(); h.t = torch.ones(90000)
train(8)
import builtins; builtins.leaked = (h, torch.ones(40000))
'''
        done, report = run_with_report(script, fresh=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        counters = report["counters"]
        self.assertEqual(counters["allocations"], counters["frees"] + counters["live_tensors"])


class Faults(unittest.TestCase):
    def test_faulthandler_in_the_middle_of_the_profile(self):
        script = TRAINING + '''
import faulthandler
class Switch(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        if faulthandler.is_enabled(): faulthandler.disable()
        faulthandler.enable()
        return x * 1
    @staticmethod
    def backward(ctx, g): return g
base = nn.functional.cross_entropy
nn.functional.cross_entropy = lambda x, y: base(Switch.apply(x), y)
print(train(8))
'''
        plain = run_python(script)
        done, report = run_with_report(script)
        self.assertEqual((done.returncode, done.stdout), (0, plain.stdout), done.stderr)
        self.assertGreater(report["guard"]["faults"], 0)

    def test_a_real_segfault_keeps_pythons_traceback(self):
        script = TRAINING + '''
import ctypes, faulthandler
faulthandler.enable()
count = [0]
def crash(i):
    if i == 4: ctypes.string_at(0)
train(8, crash)
'''
        done, _ = run_with_report(script)
        self.assertEqual(done.returncode, -signal.SIGSEGV)
        self.assertIn("Fatal Python error: Segmentation fault", done.stderr)

    def test_files_into_and_out_of_guarded_tensors(self):
        script = TRAINING + '''
import tempfile
numbers = torch.arange(200000, dtype=torch.float32)
out = torch.zeros(200000)
path = tempfile.mktemp()
def io(i):
    numbers.numpy().tofile(path)
    with open(path, "rb", buffering=0) as f: n = f.readinto(memoryview(out.numpy()).cast("B"))
    assert n == 800000 and torch.equal(numbers, out), (n, i)
    torch.save(numbers, path); assert torch.equal(torch.load(path), numbers)
    out.zero_()
print(train(8, io)); os.unlink(path)
'''
        plain = run_python(script)
        for mode in ("faults", "pages"):
            done, report = run_with_report(script, HEARTH_PROFILE=mode, HEARTH_PAGES_MIN="64K")
            self.assertEqual((done.returncode, done.stdout), (0, plain.stdout), done.stderr)
            self.assertGreater(report["guard"]["faults"], 0)

    def test_compiled_model(self):
        script = TRAINING + '''
if not hasattr(torch, "compile"): print("no torch.compile"); sys.exit(0)
compiled = torch.compile(nn.functional.gelu)
base = nn.functional.cross_entropy
nn.functional.cross_entropy = lambda x, y: base(compiled(x), y)
print(train(8))
'''
        plain = run_python(script, timeout=600, fresh=True)
        done, _ = run_with_report(script, timeout=600, fresh=True)
        self.assertEqual((done.returncode, done.stdout), (0, plain.stdout), done.stderr[-2000:])


if __name__ == "__main__":
    os.chdir(tempfile.gettempdir())
    unittest.main(verbosity=2)
