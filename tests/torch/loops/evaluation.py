"""An evaluation pass after every twenty training steps."""
import torch
from torch import nn

from digits import digits, show

torch.manual_seed(0)
images, labels = digits()
train, test = slice(0, 1024), slice(1024, 1664)
model = nn.Sequential(nn.Linear(64, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Dropout(0.1), nn.Linear(128, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)


def evaluate():
    model.eval()
    correct = 0
    with torch.no_grad():
        for x, y in zip(images[test].split(64), labels[test].split(64)):
            correct += (model(x).argmax(1) == y).sum().item()
    model.train()
    return correct


for step in range(60):
    chosen = torch.randint(0, 1024, (32,))
    loss = nn.functional.cross_entropy(model(images[train][chosen]), labels[train][chosen])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    show(loss)
    if step % 20 == 19:
        print(evaluate())
