"""Autocast to bfloat16 with a gradient scaler, which skips the steps whose gradients overflow."""
import torch
from torch import nn

from digits import digits, show


class Scaler:
    """Stands in for torch.amp.GradScaler, which scales on CPUs since PyTorch 2.3 only."""

    def __init__(self, device, init_scale):
        self.factor = init_scale

    def scale(self, loss):
        return loss * self.factor

    def step(self, optimizer):
        gradients = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        for gradient in gradients:
            gradient.div_(self.factor)
        self.finite = all(bool(torch.isfinite(gradient).all()) for gradient in gradients)
        if self.finite:
            optimizer.step()

    def update(self):
        self.factor = self.factor if self.finite else self.factor / 2


torch.manual_seed(0)
images, labels = digits()
model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
GradScaler = getattr(getattr(torch, "amp", None), "GradScaler", Scaler)
scaler = GradScaler("cpu", init_scale=2.0 ** 127)  # overflows at first
for step in range(40):
    batch = slice(32 * step, 32 * (step + 1))
    x = images[batch] * (2.0 ** 40 if step == 20 else 64.0)  # one outlier
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = nn.functional.cross_entropy(model(x), labels[batch])
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    show(loss)
