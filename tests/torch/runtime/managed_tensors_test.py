"""Tensors in packed arenas that live longer, change their storage or are used again: nothing changes."""
import unittest

from managed import Managed


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


if __name__ == "__main__":
    unittest.main(verbosity=2)
