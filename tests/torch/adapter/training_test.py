"""Whole trainings: same losses with the adapter, modules, compiled code, workers, the allocator."""
import importlib
import shutil
import subprocess
import sys
import unittest

import torch

import recorder
from recorder import MARKS, OFF, OPERANDS, TORCH, AdapterTest, lib


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.features = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU())
        self.head = torch.nn.Linear(4 * 36, 5)

    def forward(self, x):
        return self.head(self.features(x).flatten(1))


def losses(steps=8):
    torch.manual_seed(7)
    net = Net()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    out = []
    for _ in range(steps):
        x, y = torch.randn(6, 1, 8, 8), torch.randint(0, 5, (6,))
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        out.append(loss.item())
    return out


class Training(AdapterTest):
    def test_losses_are_bit_identical(self):
        plain, observed = losses(), []
        record = self.record(lambda: observed.extend(losses()), OPERANDS)
        self.assertEqual(plain, observed)
        self.assertEqual(len(record.steps), 16)

    def test_autocast_and_checkpoint(self):
        from torch.utils.checkpoint import checkpoint

        def train():
            torch.manual_seed(1)
            layer = torch.nn.Linear(8, 8)
            x = torch.randn(2, 8, requires_grad=True)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                arguments = {"use_reentrant": False}
                checkpoint(lambda v: layer(v).relu(), x, **arguments).float().sum().backward()
            return layer.weight.grad.clone()

        expected, result = train(), []
        self.record(lambda: result.append(train()), OPERANDS)
        self.assertTrue(torch.equal(expected, result[0]))

    def test_data_loader_workers(self):
        data = torch.utils.data.TensorDataset(torch.arange(32.0))

        def action():
            for workers in (0, 2):
                total = sum(batch[0].sum().item() for batch in torch.utils.data.DataLoader(data, 4, num_workers=workers))
                self.assertEqual(total, 496.0)

        self.record(action, OPERANDS)


class Modules(AdapterTest):
    def setUp(self):
        self.assertEqual(lib.recorder_modules(1), 0)
        self.assertEqual(lib.recorder_modules(1), 0)  # idempotent

    def tearDown(self):
        self.assertEqual(lib.recorder_modules(0), 0)

    def test_dotted_paths(self):
        net = Net()
        record = self.record(lambda: net(torch.ones(1, 1, 8, 8)), MARKS)
        entered = [name for kind, name in record.modules if kind == "enter"]
        self.assertEqual(entered, ["Net", "features", "features.0", "features.1", "features.2", "head"])
        self.assertEqual(record.modules[-1], ("exit", "Net"))
        self.assertEqual(record.modules[1:3], [("enter", "features"), ("enter", "features.0")])

    def test_a_forward_that_raises(self):
        net = Net()

        def action():
            for _ in range(2):
                with self.assertRaises(RuntimeError):
                    net(torch.ones(1, 1, 9, 9))
            net(torch.ones(1, 1, 8, 8))

        record = self.record(action, MARKS)
        depth = 0
        for kind, _ in record.modules:
            depth += 1 if kind == "enter" else -1
            self.assertGreaterEqual(depth, 0)
        self.assertEqual(depth, 0)
        self.assertEqual([name for kind, name in record.modules if kind == "enter"].count("Net"), 3)

    def test_switched_off(self):
        lib.recorder_modules(0)
        self.assertEqual(self.record(lambda: Net()(torch.ones(1, 1, 8, 8)), MARKS).modules, [])

    @unittest.skipIf(TORCH < (2, 1), "torch.compile needs a newer PyTorch for this Python")
    def test_a_compiled_graph_is_not_broken(self):
        layer = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
        compiled = torch.compile(layer, fullgraph=True, backend="eager")
        x = torch.ones(2, 4)
        record = self.record(lambda: self.assertTrue(torch.equal(compiled(x), compiled(x))), MARKS)
        self.assertTrue(record.named("aten::addmm") or record.named("aten::linear"))


def inductor_lacks():
    if TORCH < (2, 1):
        return "a newer PyTorch"
    if shutil.which("g++") is None:
        return "g++"
    try:
        importlib.import_module("setuptools.command.build_ext")
    except ImportError:
        return "setuptools"
    return ""


@unittest.skipIf(inductor_lacks(), "inductor lacks " + inductor_lacks())
class Inductor(AdapterTest):
    def test_extern_ops_are_seen_and_results_are_the_same(self):
        def function(x, w):
            return (torch.mm(x, w).relu() * 2 + 1).sum()

        def run(f):
            x = torch.linspace(0, 1, 64).reshape(8, 8).requires_grad_()
            w = torch.linspace(-1, 1, 64).reshape(8, 8)
            loss = f(x, w)
            loss.backward()
            return loss, x.grad

        compiled = torch.compile(function)
        expected, results = run(compiled), []
        record = self.record(lambda: results.append(run(compiled)), OPERANDS)
        self.assertTrue(torch.equal(expected[0], results[0][0]) and torch.equal(expected[1], results[0][1]))
        self.assertTrue([op for op in record.ops() if "mm" in op.name])

    def test_compiling_while_operands_are_recorded(self):
        result = []
        self.record(lambda: result.append(torch.compile(lambda x: (x * 3).tanh().sum())(torch.ones(5))), OPERANDS)
        self.assertAlmostEqual(result[0].item(), torch.tensor(3.0).tanh().item() * 5, places=5)


class Allocator(AdapterTest):
    def test_touch(self):
        self.assertEqual(lib.recorder_touch(), 0)
        self.assertEqual(self.record(lambda: lib.recorder_touch()).events, [])

    def test_installed_allocator_serves_a_training(self):
        """In a process of its own: there is no way back."""
        script = (
            "import gc, torch, recorder, training_test as t\n"
            "plain = t.losses()\n"
            "assert recorder.lib.recorder_install() == 0\n"
            "before = recorder.lib.recorder_allocations()\n"
            "assert recorder.lib.recorder_touch() == 0\n"
            "assert recorder.lib.recorder_allocations() == before + 1\n"
            "assert t.losses() == plain\n"
            "x = torch.ones(3); x.resize_(300); y = x.clone(); del x, y\n"
            "gc.collect()\n"
            "used = recorder.lib.recorder_allocations() - before\n"
            "assert used > 100, used\n"
            "assert recorder.lib.recorder_allocations() - recorder.lib.recorder_releases() < used // 2\n"
            "try:\n"
            "    torch.empty(1 << 60, dtype=torch.uint8)\n"
            "except RuntimeError as error:\n"
            "    assert 'allocate' in str(error), error\n"
            "else:\n"
            "    raise AssertionError('no error')\n"
        )
        subprocess.run([sys.executable, "-B", "-c", script], check=True)


if __name__ == "__main__":
    unittest.main()
