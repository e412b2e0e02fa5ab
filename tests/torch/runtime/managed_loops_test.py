"""Loops of all kinds under plans: threads, shapes that change, other processes; nothing changes."""
import unittest

from managed import LOOP, Managed, run_both


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

    def test_loops_of_varying_length_inside(self):
        # As in equilibrium models: each iteration finds some of its places taken, at whatever addresses. The plan does not
        # go on looking for better ones.
        report = self.check('''
w, u, head = nn.Linear(64, 64), nn.Linear(64, 64), nn.Linear(64, 10)
optimizer = torch.optim.Adam([*w.parameters(), *u.parameters(), *head.parameters()], 1e-3)
def fixed_point(f, x, steps):
    for _ in range(steps if i < 10 else steps + dice.choice((0, 0, 1, 2))):
        x = f(x)
    return x
for i in range(250):
    x, y = batch()
    f = lambda z: torch.tanh(w(z) + u(x))
    with torch.no_grad(): z = fixed_point(f, torch.zeros(128, 64), 8)
    z = f(z)
    at = z.detach().requires_grad_()
    f_at = f(at)
    z.register_hook(lambda g: fixed_point(lambda v: torch.autograd.grad(f_at, at, v, retain_graph=True)[0] + g, g, 6))
    loss = F.cross_entropy(head(z), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    numbers.append(loss.item())
finish()
''', state=None)
        plan = report["plan"]
        self.assertGreater(plan["iterations_off"], plan["iterations"] / 3, "or this shows nothing")
        self.assertLessEqual(plan["moved"], 11, plan)


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


if __name__ == "__main__":
    unittest.main(verbosity=2)
