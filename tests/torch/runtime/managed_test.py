"""Real programs whose tensors lie in packed arenas: with Hearth they print, to the last bit, what they print without.

Every program here must have taken tensors from a plan, as its report tells: one that was never managed proves nothing.
"""
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from runs import LIBRARY, PYTHON, clean_environment, run, run_python, run_with_report

TOOL = os.environ.get("HEARTH_TEST_TOOL") or str(Path(LIBRARY).parent.parent / "bin" / "hearth")

LOOP = '''
import gc, io, os, queue, random, sys, threading
import numpy as np
import torch, torch.nn as nn
F = nn.functional
torch.set_num_threads(1)
torch.manual_seed(0)
dice = random.Random(7)

def network(width=128):
    return nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Linear(width, width), nn.GELU(), nn.Linear(width, 10))

def batch(size=128): return torch.randn(size, 64), torch.randint(0, 10, (size,))

net = network()
optimizer = torch.optim.Adam(net.parameters(), 1e-3)
numbers = []

def train(x, y, module=net):
    optimizer.zero_grad()
    loss = F.cross_entropy(module(x), y)
    loss.backward()
    optimizer.step()
    numbers.append(loss.item())
    return loss

class Kept:
    """Tensors that outlive their iteration, each full of a number of its own: whoever writes into one is found out."""
    def __init__(self): self.all, self.made = [], 0
    def add(self, rows=128, columns=128):
        self.made += 1
        self.all.append((torch.full((rows, columns), float(self.made)), float(self.made)))
    def check(self):
        for tensor, value in self.all:
            assert bool((tensor == value).all()), (value, tensor)
    def drop(self, n): del self.all[n]

def finish():
    for n in numbers: print(float(n).hex())
    for p in net.parameters(): print(p.detach().double().sum().item().hex())
    sys.stdout.flush()
'''


def run_both(script, **variables):
    """The plain run, the run under Hearth and its report. Both at once: each has one thread."""
    with ThreadPoolExecutor(1) as other:
        plain = other.submit(run_python, script)
        done, report = run_with_report(script, **variables)
        return plain.result(), done, report


def hearths_lines(stderr):
    return [line for line in stderr.splitlines() if line.startswith("[hearth:")]


class Managed(unittest.TestCase):
    def check_report(self, report, least):
        self.assertIsNotNone(report)
        plan, counters = report["plan"], report["counters"]
        self.assertGreaterEqual(plan["taken"], least, plan)
        self.assertEqual(plan["bad_frees"], 0, plan)
        self.assertEqual(counters["allocations"], counters["frees"] + counters["live_tensors"], counters)

    def check(self, body, least=100, state="managed", warnings=0, **variables):
        """Plain and managed runs of `body` print the same; at least so many tensors lay in planned places."""
        plain, done, report = run_both(LOOP + body, **variables)
        self.assertEqual(plain.returncode, 0, plain.stderr)
        self.assertGreater(len(plain.stdout.split()), 10)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        self.assertEqual(done.stdout, plain.stdout, done.stderr[-3000:])
        self.assertEqual(len(hearths_lines(done.stderr)), warnings, done.stderr[-3000:])
        self.check_report(report, least)
        if state:
            self.assertEqual(report["state"], state, report["plan"])
        return report


class Keeping(Managed):
    """Tensors that live longer than the plan thinks."""

    def test_losses_with_their_graphs(self):
        self.check('''
kept = []
for i in range(40):
    x, y = batch()
    kept.append(train(x, y))
    if i % 5 == 4: kept.append(F.cross_entropy(net(x), y))   # all its activations live on
for k in kept: numbers.append(k.item())
for k in kept:
    if k.grad_fn is not None and len(numbers) < 70: numbers.append(k.detach().double().item())
finish()
''')

    def test_graphs_kept_and_run_backward_later(self):
        self.check('''
kept = []
frozen = network()
for i in range(48):
    x, y = batch()
    train(x, y)
    kept.append(F.cross_entropy(frozen(x), y))
    if len(kept) == 12:
        frozen.zero_grad()
        sum(kept).backward()
        numbers.extend(p.grad.double().sum().item() for p in frozen.parameters())
        kept.clear()
finish()
''')

    def test_outputs_of_every_iteration(self):
        self.check('''
kept = []
for i in range(40):
    x, y = batch()
    out = net[0](x).detach()
    train(x, y)
    kept.append((out, out.double().sum().item()))
for out, total in kept:
    assert out.double().sum().item() == total
    numbers.append(total)
finish()
''')

    def test_outputs_of_every_seventh_iteration(self):
        self.check('''
kept, want = [], Kept()
for i in range(90):
    x, y = batch()
    out = net[:4](x).detach()
    if i % 7 == 3:
        kept.append((out, out.double().sum().item()))
        want.add()
    train(x, y)
for out, total in kept:
    assert out.double().sum().item() == total
    numbers.append(total)
want.check()
finish()
''')

    def test_everything_of_a_while_kept_for_good(self):
        """Blocks most places of the plan at once, and for ever."""
        report = self.check('''
kept, open_ = [], [False]
def keep(module, args, out):
    if open_[0]: kept.append((out, out.detach().double().sum().item()))
for each in net: each.register_forward_hook(keep)
for i in range(80):
    open_[0] = 20 <= i < 24
    x, y = batch()
    train(x, y)
    if open_[0]: kept.append((x, x.double().sum().item()))
for out, total in kept: assert out.detach().double().sum().item() == total
numbers.extend(total for _, total in kept)
finish()
''')
        self.assertGreater(report["plan"]["blocked"], 0)

    def test_views_and_numpy_arrays(self):
        self.check('''
kept = []
for i in range(60):
    x, y = batch()
    h = net[:2](x).detach()
    if i > 11 and i % 4 == 1: kept.append((h[3:5], h[3:5].double().sum().item()))
    if i > 11 and i % 4 == 2: kept.append((h.numpy(), h.double().sum().item()))
    if i > 11 and i % 4 == 3: kept.append((torch.from_numpy(h.numpy()).t(), h.t().double().sum().item()))
    del h
    train(x, y)
for k, total in kept:
    assert torch.as_tensor(k).double().sum().item() == total
    numbers.append(total)
finish()
''')

    def test_extra_tensors_and_skipped_ops_at_random(self):
        for chance in (0.004, 0.1):
            with self.subTest(chance=chance):
                self.check(f'''
chance = {chance}
blocks = nn.ModuleList(nn.Linear(128, 128) for _ in range(6))
optimizer = torch.optim.SGD(list(net.parameters()) + list(blocks.parameters()), 1e-2)
def deep(x):
    x = net[1](net[0](x))
    for b in blocks:
        if steady or dice.random() >= chance: x = torch.tanh(b(x))
        if not steady and dice.random() < chance: kept.add(dice.choice((40, 128, 128, 128, 300)), 128)
    return net[4](x)
kept = Kept()
for i in range(300):
    steady = i < 8
    train(*batch(), module=deep)
    while len(kept.all) > 40 or (kept.all and dice.random() < chance): kept.drop(dice.randrange(len(kept.all)))
    if i % 10 == 0: kept.check()
kept.check()
finish()
''', state=None)


class Storage(Managed):
    """What a program can do with a tensor's memory behind the back of its size."""

    def test_resized(self):
        self.check('''
kept = []
for i in range(50):
    x, y = batch()
    buffer = torch.zeros(64, 128)
    if i % 3 == 1: buffer.resize_(256, 128).fill_(i)
    if i % 5 == 2: buffer.resize_(16, 16)
    if i % 6 == 4: kept.append((buffer.resize_(300, 128).fill_(i), i))
    numbers.append(buffer.flatten()[:256].double().sum().item())
    train(x, y)
for b, i in kept: assert bool((b == i).all())
finish()
''')

    def test_swapped(self):
        self.check('''
for i in range(50):
    x, y = batch()
    h = torch.zeros(128, 64)
    h.data = x.clone()
    if i % 4 == 1: h.set_(x)
    if i % 10 == 9:
        for p in net.parameters(): p.data = p.data.clone()
    train(h.detach(), y)
    if i % 9 == 5:
        for p in net.parameters(): p.grad.data = torch.ones_like(p)
finish()
''')

    def test_saved_and_loaded_in_between(self):
        self.check('''
for i in range(40):
    x, y = batch()
    train(x, y)
    if i % 6 == 5:
        file = io.BytesIO()
        torch.save({"net": net.state_dict(), "x": x, "optimizer": optimizer.state_dict()}, file)
        file.seek(0)
        state = torch.load(file)
        assert torch.equal(state["x"], x)
        net.load_state_dict(state["net"]); optimizer.load_state_dict(state["optimizer"])
        numbers.append(state["x"].double().sum().item())
finish()
''')


class Autograd(Managed):
    def test_two_backwards_through_one_graph(self):
        self.check('''
for i in range(40):
    x, y = batch()
    optimizer.zero_grad()
    out = net(x)
    F.cross_entropy(out, y).backward(retain_graph=True)
    if i % 8 != 7: (out * out).mean().backward()
    optimizer.step()
    numbers.append(out.detach().double().sum().item())
finish()
''')

    def test_hooks_that_allocate(self):
        self.check('''
kept = Kept()
turn = [0]
def of_tensor(g):
    if turn[0] % 3 == 0: kept.add()
    return g * torch.full_like(g, 0.5)
def of_module(module, gin, gout):
    if turn[0] % 4 == 1: kept.add(200)
    return tuple(g if g is None else g + torch.zeros_like(g) for g in gin)
net[2].register_full_backward_hook(of_module)
net[0].weight.register_hook(of_tensor)
for i in range(60):
    turn[0] = i
    train(*batch())
    if len(kept.all) > 9: kept.drop(0)
    kept.check()
finish()
''', state=None)  # twelve kinds of iterations take turns

    def test_exceptions_in_forward_and_backward(self):
        self.check('''
class Mine(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        if raising == "forward": raise ValueError("forward")
        ctx.save_for_backward(x)
        return x * 2
    @staticmethod
    def backward(ctx, g):
        if raising == "backward": raise ValueError("backward")
        x, = ctx.saved_tensors
        return g * 2 + x * 0
trace = None
def model(x): return net[4](net[3](Mine.apply(net[2](net[1](net[0](x))))))
for i in range(80):
    raising = {3: "forward", 6: "backward"}.get(i % 9) if i > 8 else None
    try: train(*batch(), module=model)
    except (ValueError, RuntimeError) as error:
        numbers.append(i)
        if i % 2: trace = error          # keeps its frames, and so their tensors
finish()
''')

    def test_checkpointing(self):
        self.check('''
from torch.utils.checkpoint import checkpoint
half = nn.Sequential(nn.Linear(128, 128), nn.GELU(), nn.Linear(128, 128), nn.Tanh())
optimizer = torch.optim.AdamW(list(net.parameters()) + list(half.parameters()))
for reentrant in (True, False):
    for i in range(20):
        train(*batch(), module=lambda x: net[4](checkpoint(half, net[1](net[0](x)), use_reentrant=reentrant)))
finish()
''')


class Threads(Managed):
    def test_frees_on_another_thread(self):
        self.check('''
line, sums = queue.Queue(), []
def consume():
    while True:
        item = line.get()
        if item is None: return
        sums.append(item.double().sum().item())
        del item
thread = threading.Thread(target=consume); thread.start()
for i in range(80):
    x, y = batch()
    h = net[:2](x).detach()
    line.put(h); line.put(x + 1)
    del h
    train(x, y)
line.put(None); thread.join()
assert len(sums) == 160
numbers.extend(sums)
finish()
''')

    def test_another_thread_allocates_meanwhile(self):
        self.check('''
stop, errors, rounds = threading.Event(), [], [0]
def churn(seed):
    mine, held = random.Random(seed), []
    while not stop.is_set():
        value = float(mine.randrange(1 << 20))
        held.append((torch.full((mine.choice((4096, 8192, 16384, 50000)),), value), value))
        if len(held) > 30:
            tensor, value = held.pop(mine.randrange(len(held)))
            if not bool((tensor == value).all()): errors.append(value)
        rounds[0] += 1
threads = [threading.Thread(target=churn, args=(s,)) for s in (1, 2)]
for t in threads: t.start()
kept = Kept()
for i in range(80):
    x, y = batch()
    train(x, y)
    if i % 8 == 7: kept.add()
stop.set()
for t in threads: t.join()
kept.check()
assert not errors and rounds[0] > 100, (errors[:3], rounds)
finish()
''')

    def test_the_loop_moves_to_another_thread(self):
        self.check('''
def loop(n):
    for i in range(n): train(*batch())
loop(30)
for n in (20, 20):
    thread = threading.Thread(target=loop, args=(n,)); thread.start(); thread.join()
loop(30)
finish()
''', state=None)


class Shapes(Managed):
    def test_two_batches_taking_turns(self):
        self.check('''
for i in range(80): train(*batch((128, 200)[i % 2]))
finish()
''')

    def test_two_batches_in_pairs(self):
        report = self.check('''
for i in range(120): train(*batch((128, 200)[i // 2 % 2]))
finish()
''')
        self.assertEqual(report["plan"]["plans"], 2)
        self.assertLess(report["plan"]["iterations_off"], 20)

    def test_sizes_that_wander_with_the_data(self):
        """The rows that a batch touches: the same ops, and tensors of a size of their own each time."""
        report = self.check('''
table = nn.EmbeddingBag(20000, 32, sparse=True, mode="sum")
rows = torch.optim.SGD(table.parameters(), 0.1)
for i in range(80):
    n = 3000 + dice.randrange(200)
    words = torch.randint(0, 20000, (n,))
    at = torch.arange(128) * (n // 128)
    x, y = batch()
    rows.zero_grad()
    train(x + table(words, at).repeat(1, 2), y)
    rows.step()
finish()
''', least=500)
        plan = report["plan"]
        self.assertLess(plan["lost"], plan["taken"] / 10, plan)

    def test_a_second_training_gets_a_plan_of_its_own(self):
        report = self.check('''
for i in range(12): train(*batch())
other = nn.Sequential(nn.Linear(300, 50), nn.ReLU(), nn.Linear(50, 5))
steps = torch.optim.SGD(other.parameters(), 0.1)
for i in range(60):
    steps.zero_grad(); loss = other(torch.randn(300, 300)).square().mean(); loss.backward(); steps.step()
    numbers.append(loss.item())
finish()
''')
        self.assertEqual(report["plan"]["plans"], 2)
        self.assertLess(report["plan"]["iterations_off"], 20)

    def test_a_long_recurrent_layer(self):
        """Before the first optimizer step its time steps look like iterations."""
        self.check('''
net = nn.LSTM(24, 24, batch_first=True)
steps = torch.optim.Adam(net.parameters())
for i in range(14):
    steps.zero_grad(); loss = net(torch.randn(8, 60, 24))[0].square().mean(); loss.backward(); steps.step()
    numbers.append(loss.item())
finish()
''', least=20)

    def test_last_batch_of_an_epoch(self):
        self.check('''
data, labels = torch.randn(128 * 7 + 77, 64), torch.randint(0, 10, (128 * 7 + 77,))
for epoch in range(8):
    order = torch.randperm(len(data))
    for at in order.split(128): train(data[at], labels[at])
finish()
''')

    def test_evaluation_every_tenth_iteration(self):
        self.check('''
held_out = [batch(300) for _ in range(3)]
for i in range(100):
    train(*batch())
    if i % 10 == 9:
        net.eval()
        with torch.no_grad():
            for x, y in held_out: numbers.append(F.cross_entropy(net(x), y).item())
        net.train()
finish()
''')

    def test_lengths_at_random_do_not_pile_up(self):
        """After a loop that was managed, one whose iterations never repeat: memory stays level."""
        plain, done, report = run_both(LOOP + '''
def resident(): return int(next(l for l in open("/proc/self/status") if l.startswith("VmRSS")).split()[1])
for i in range(12): train(*batch())
lstm, head = nn.LSTM(24, 24, batch_first=True), nn.Linear(24, 10)
optimizer = torch.optim.Adam(list(lstm.parameters()) + list(head.parameters()), 1e-3)
seen = []
for i in range(900):
    length = 300 if i < 3 else int(10 + 291 * dice.random() ** 3)
    x, y = torch.randn(8, length, 24), torch.randint(0, 10, (8,))
    train(x, y, module=lambda x: head(lstm(x)[0][:, -1]))
    del x
    seen.append(resident())
finish()
print("resident", max(seen[600:650]), max(seen[850:]), file=sys.stderr)
''')
        self.assertEqual(plain.returncode, 0, plain.stderr)
        self.assertEqual((done.returncode, done.stdout), (0, plain.stdout), done.stderr)
        self.check_report(report, 20)
        (plain_before, plain_end), (before, end) = ([int(n) for n in run.stderr.split("resident")[1].split()[:2]]
                                                for run in (plain, done))
        print(f"resident KiB: plain {plain_before} then {plain_end}, Hearth {before} then {end}")
        self.assertLess(end, plain_end * 1.1 + 16 * 1024)
        self.assertLess(end - before, plain_end - plain_before + 8 * 1024)  # PyTorch itself keeps something per length
        self.assertGreater(report["plan"]["lost"], 100, report["plan"])


class Loops(Managed):
    def test_gradient_accumulation(self):
        self.check('''
for i in range(120):
    x, y = batch()
    loss = F.cross_entropy(net(x), y) / 4
    loss.backward()
    numbers.append(loss.item())
    if i % 4 == 3:
        optimizer.step()
        optimizer.zero_grad()
finish()
''')

    def test_optimizers(self):
        for maker in ("SGD(p, 1e-2, momentum=0.9, foreach=%s)", "Adam(p, 1e-3, foreach=%s)",
                      "AdamW(p, 1e-3, foreach=%s)"):
            for foreach in (False, True):
                with self.subTest(maker=maker, foreach=foreach):
                    self.check(f'''
net = network(256)
p = list(net.parameters())
optimizer = torch.optim.{maker % foreach}
for to_none in (False, True):
    for i in range(24):
        x, y = batch()
        optimizer.zero_grad(set_to_none=to_none)
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        numbers.append(loss.item())
finish()
''')

    def test_gan(self):
        self.check('''
generator = nn.Sequential(nn.Linear(16, 128), nn.ReLU(), nn.Linear(128, 64))
critic = nn.Sequential(nn.Linear(64, 128), nn.LeakyReLU(0.2), nn.Linear(128, 1))
of_g, of_c = (torch.optim.Adam(m.parameters(), 2e-4, betas=(0.5, 0.999)) for m in (generator, critic))
for i in range(60):
    real, _ = batch()
    fake = generator(torch.randn(128, 16))
    of_c.zero_grad()
    loss = F.softplus(-critic(real)).mean() + F.softplus(critic(fake.detach())).mean()
    loss.backward(); of_c.step()
    of_g.zero_grad()
    cheat = F.softplus(-critic(fake)).mean()
    cheat.backward(); of_g.step()
    numbers += [loss.item(), cheat.item()]
finish()
''')

    def test_inference(self):
        self.check('''
kept = Kept()
net.eval()
with torch.no_grad():
    for i in range(150):
        numbers.append(net(torch.randn(128, 64)).double().sum().item())
        if i > 60 and i % 13 == 0: kept.add()
kept.check()
finish()
''')

    def test_least_sizes(self):
        for size in ("0", "1M"):
            with self.subTest(size=size):
                self.check('''
net = network(512)
optimizer = torch.optim.SGD(net.parameters(), 1e-2)
kept = Kept()
for i in range(30):
    train(*batch(600), module=net)
    if i % 5 == 4: kept.add(600, 512); kept.add(4, 4)
kept.check()
finish()
''', HEARTH_MIN_SIZE=size)


class Processes(Managed):
    def test_fork_in_the_middle(self):
        self.check('''
def child(inherited, total):
    assert inherited.double().sum().item() == total
    inherited.fill_(-1)                                # the parent must not see this
    kept = Kept()
    for _ in range(50): kept.add()
    x, y = batch()
    F.cross_entropy(net(x), y).backward()
    del inherited, x
    kept.check()
    for _ in range(3): train(*batch())
    print("child", numbers[-1].hex()); sys.stdout.flush()
for i in range(60):
    x, y = batch()
    h = net[:2](x).detach()
    total = h.double().sum().item()
    if i % 15 == 14:
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            status = 1
            try: child(h, total); status = 0
            finally: os._exit(status)
        assert os.waitpid(pid, 0)[1] == 0
    assert h.double().sum().item() == total
    del h
    train(x, y)
finish()
''')

    def test_workers_of_a_data_loader(self):
        self.check('''
from torch.utils.data import DataLoader, Dataset
class Numbers(Dataset):
    def __len__(self): return 128 * 6
    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        return torch.randn(64, generator=g), i % 10
    def __getitems__(self, many): return [self[i] for i in many]
for epoch in range(5):
    for x, y in DataLoader(Numbers(), batch_size=128, shuffle=True, num_workers=2): train(x, y)
finish()
''')


class PlanFiles(Managed):
    BODY = '''
kept = Kept()
for i in range(40):
    train(*batch())
    if i % 6 == 5: kept.add()
kept.check()
finish()
'''
    OTHER = '''
net = network(200)
optimizer = torch.optim.SGD(net.parameters(), 1e-2)
for i in range(12): train(*batch(150), module=net)
finish()
'''

    def make_plan(self, folder, body, *options):
        trace, plan = Path(folder) / "a.trace", Path(folder) / "plan.json"
        done = run_python(LOOP + body, preload=[LIBRARY], HEARTH_TRACE=trace)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        made = run([TOOL, "plan", str(trace), "-o", str(plan), *options])
        self.assertEqual(made.returncode, 0, made.stderr)
        return plan

    def test_managed_from_the_second_iteration(self):
        with tempfile.TemporaryDirectory() as folder:
            plan = self.make_plan(folder, self.BODY)
            report = self.check(self.BODY, HEARTH_PLAN=plan)
        self.assertTrue(report["plan"]["from_file"])
        self.assertGreaterEqual(report["plan"]["iterations"], 38)
        self.assertEqual(report["iterations"]["profiled"], 0)

    def test_off(self):
        report = self.check(self.BODY, least=0, state="observe", HEARTH_PLAN="off")
        self.assertEqual((report["plan"]["taken"], report["plan"]["present"]), (0, False))
        self.assertEqual(report["iterations"]["profiled"], 1)

    def test_no_plan_in_the_file(self):
        with tempfile.TemporaryDirectory() as folder:
            plan = self.make_plan(folder, self.BODY)
            text = plan.read_text()
            broken = {"empty": "", "garbage": "\x00\x7fELF[[[{", "cut": text[:len(text) // 2], "array": "[]",
                      "negative": text.replace("[65536,", "[-65536,", 1)}
            for name, content in broken.items():
                with self.subTest(name=name):
                    path = Path(folder) / name
                    path.write_text(content)
                    self.assertFalse(self.check(self.BODY, warnings=1, HEARTH_PLAN=path)["plan"]["from_file"])
            for path in (Path(folder) / "missing", folder):
                with self.subTest(path=path):
                    self.check(self.BODY, warnings=1, HEARTH_PLAN=path)

    def test_plan_for_another_least_size(self):
        with tempfile.TemporaryDirectory() as folder:
            plan = self.make_plan(folder, self.BODY, "--min-size", "32K")
            self.assertFalse(self.check(self.BODY, warnings=1, HEARTH_PLAN=plan)["plan"]["from_file"])

    def test_plan_of_another_program(self):
        with tempfile.TemporaryDirectory() as folder:
            plan = self.make_plan(folder, self.OTHER)
            report = self.check(self.BODY, state=None, HEARTH_PLAN=plan)
        self.assertGreaterEqual(report["plan"]["left"], 1, report["plan"])

    def edit(self, plan, change):
        """Applies `change` to every planned entry, as a dict; returns the whole plan."""
        content = json.loads(plan.read_text())
        for entry in content["entries"]:
            named = dict(zip(content["columns"], entry))
            if named["arena"] is not None:
                change(named)
                entry[:] = [named[column] for column in content["columns"]]
        return content

    def test_plan_whose_places_overlap(self):
        """The proof refuses it before a tensor lies there."""
        with tempfile.TemporaryDirectory() as folder:
            plan = self.make_plan(folder, self.BODY)
            plan.write_text(json.dumps(self.edit(plan, lambda entry: entry.update(offset=0))))
            self.assertFalse(self.check(self.BODY, warnings=1, HEARTH_PLAN=plan)["plan"]["from_file"])

    def test_plan_that_lies_about_lifetimes(self):
        """Every tensor at one address and dead before the next: it proves, and the program does otherwise."""
        with tempfile.TemporaryDirectory() as folder:
            plan = self.make_plan(folder, self.BODY)
            content = self.edit(plan, lambda entry: entry.update(offset=0, death=entry["birth"] + 1))
            height = max(entry[0] for entry in content["entries"])
            content["arenas"][0].update(bytes=height, lower_bound=height)
            content["costs"].update(lower_bound=height, separation=0, grouping=0)
            plan.write_text(json.dumps(content))
            report = self.check(self.BODY, least=10, state=None, HEARTH_PLAN=plan)
        self.assertGreater(report["plan"]["blocked"], 20)
        self.assertGreater(report["plan"]["left"], 0, "a plan that never fits is given up")


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
