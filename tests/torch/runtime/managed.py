"""Real programs whose tensors lie in packed arenas: with Hearth they print, to the last bit, what they print without.

Every program here must have taken tensors from a plan, as its report tells: one that was never managed proves nothing.
"""
import functools
import unittest
from concurrent.futures import ThreadPoolExecutor

from runs import run_python, run_with_report

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


@functools.cache
def plain_run(script):
    """Without Hearth; once for each script, whatever settings it is to be compared with."""
    return run_python(script)


def run_both(script, **variables):
    """The plain run, the run under Hearth and its report. Both at once: each has one thread."""
    with ThreadPoolExecutor(1) as other:
        plain = other.submit(plain_run, script)
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
