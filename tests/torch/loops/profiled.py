"""Under PyTorch's profiler, which puts a scope with a number of its own around each step, also where it records none."""
import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule

from digits import digits, show

torch.manual_seed(0)
images, labels = digits()
model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=1000, warmup=1, active=1)) as profiler:
    for step in range(30):
        batch = slice(32 * step, 32 * (step + 1))
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images[batch]), labels[batch])
        loss.backward()
        optimizer.step()
        profiler.step()
        show(loss)
