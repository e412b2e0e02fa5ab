"""Sequences of another length in every batch."""
import torch
from torch import nn

from digits import digits, show

torch.manual_seed(0)
images, labels = digits()
rnn = nn.GRU(8, 48, batch_first=True)
head = nn.Linear(48, 10)
optimizer = torch.optim.Adam([*rnn.parameters(), *head.parameters()], lr=1e-3)
for step in range(40):
    batch = slice(32 * step, 32 * (step + 1))
    rows = 3 + step * 7 % 6
    output, _ = rnn(images[batch].view(-1, 8, 8)[:, :rows])
    loss = nn.functional.cross_entropy(head(output[:, -1]), labels[batch])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    show(loss)
