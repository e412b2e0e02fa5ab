"""The usual loop: zero_grad, forward, backward, step."""
import torch
from torch import nn

from digits import digits, show

torch.manual_seed(0)
images, labels = digits()
model = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
                      nn.MaxPool2d(2), nn.Flatten(), nn.Linear(512, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for step in range(30):
    batch = slice(32 * step, 32 * (step + 1))
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(images[batch].view(-1, 1, 8, 8)), labels[batch])
    loss.backward()
    optimizer.step()
    show(loss)
