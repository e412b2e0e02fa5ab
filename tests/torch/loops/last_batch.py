"""Epochs over a DataLoader whose last batch is smaller."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from digits import digits, show

torch.manual_seed(0)
images, labels = digits()
loader = DataLoader(TensorDataset(images[:600], labels[:600]), batch_size=64, shuffle=True)  # 9 x 64 and 24
model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
optimizer = torch.optim.Adam(model.parameters())
for epoch in range(5):
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        show(loss)
