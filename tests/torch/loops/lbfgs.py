"""LBFGS calls forward and backward itself, as often as its line search needs."""
import torch
from torch import nn

from digits import digits, show

torch.manual_seed(0)
images, labels = digits()
images, labels = images[:256], labels[:256]
model = nn.Sequential(nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 10))
optimizer = torch.optim.LBFGS(model.parameters(), max_iter=6, line_search_fn="strong_wolfe")


def closure():
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(images), labels) + 1e-3 * sum(p.square().sum() for p in model.parameters())
    loss.backward()
    return loss


for step in range(20):
    show(optimizer.step(closure))
