"""An update rule written by hand; the loss is read every fifty iterations only."""
import torch
from torch import nn

from digits import digits, show

torch.manual_seed(0)
images, labels = digits()
model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10))
for step in range(300):
    batch = slice(32 * (step % 50), 32 * (step % 50 + 1))
    loss = nn.functional.cross_entropy(model(images[batch]), labels[batch])
    loss.backward()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter -= 0.1 * parameter.grad
            parameter.grad = None
    if step % 50 == 49:
        show(loss)
