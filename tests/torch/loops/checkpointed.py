"""Activations are recomputed in the backward pass."""
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from digits import digits, show

torch.manual_seed(0)
images, labels = digits()
first = nn.Linear(64, 128)
blocks = nn.ModuleList(nn.Sequential(nn.Linear(128, 256), nn.GELU(), nn.Linear(256, 128)) for _ in range(4))
last = nn.Linear(128, 10)
parameters = [p for module in (first, blocks, last) for p in module.parameters()]
optimizer = torch.optim.AdamW(parameters, lr=1e-3)
for step in range(20):
    batch = slice(32 * step, 32 * (step + 1))
    x = first(images[batch])
    for block in blocks:
        x = x + checkpoint(block, x, **({} if torch.__version__.startswith("1.") else {"use_reentrant": False}))
    loss = nn.functional.cross_entropy(last(x), labels[batch])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    show(loss)
