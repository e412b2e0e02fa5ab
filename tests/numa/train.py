"""A training in Python, of a size for an emulated machine: every loss printed with all its bits.

usage: train.py STEPS [PAUSE_AFTER]

After step PAUSE_AFTER it prints 'paused' and the ranges of some tensors, and waits for a line of input: the time to
look from outside where its pages lie.
"""
import sys

import torch
from torch import nn


def show_range(name, tensor):
    begin = tensor.data_ptr()
    print(f"range {name} {begin:x}-{begin + tensor.numel() * tensor.element_size():x}")


def main(steps, pause_after=0):
    torch.set_num_threads(1)
    torch.manual_seed(7)
    patterns = torch.randn(10, 1, 8, 8)
    network = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(1024, 512), nn.ReLU(),
                            nn.Linear(512, 10))
    optimizer = torch.optim.SGD(network.parameters(), lr=0.05, momentum=0.9)
    for step in range(1, steps + 1):
        labels = torch.randint(10, (64,))
        images = patterns[labels] + 0.3 * torch.randn(64, 1, 8, 8)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(network(images), labels)
        loss.backward()
        optimizer.step()
        print("loss", loss.item().hex())
        if step == pause_after:
            show_range("weight", network[3].weight)
            show_range("gradient", network[3].weight.grad)
            show_range("images", images)
            print("paused", flush=True)
            sys.stdin.readline()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
