"""Gradients of four micro-batches are added up before each step."""
import torch
from torch import nn

from digits import digits, show

torch.manual_seed(0)
images, labels = digits()
model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(20):
    optimizer.zero_grad()
    for micro in range(4):
        first = 16 * (4 * step + micro)
        loss = nn.functional.cross_entropy(model(images[first:first + 16]), labels[first:first + 16]) / 4
        loss.backward()
    optimizer.step()
    show(loss)
