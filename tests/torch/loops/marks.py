"""Two optimizers per iteration, in no order that a runtime could guess: the program marks its iterations itself."""
import hearth
import torch
from torch import nn

from digits import digits, show

torch.manual_seed(0)
images, labels = digits()
models = [nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Linear(width, 10)) for width in (64, 96)]
optimizers = [torch.optim.SGD(model.parameters(), lr=0.1) for model in models]


@hearth.iteration
def train(step, times):
    batch = slice(32 * step, 32 * (step + 1))
    for model, optimizer in zip(models, optimizers):
        for _ in range(times):
            loss = nn.functional.cross_entropy(model(images[batch]), labels[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return loss


for step in range(30):
    show(train(step, times=2 if step % 10 == 9 else 3))
