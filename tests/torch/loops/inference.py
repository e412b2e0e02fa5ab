"""No optimizer at all: a model of twelve equal layers reads batches from a DataLoader."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from digits import digits, show

torch.manual_seed(0)
images, labels = digits()
loader = DataLoader(TensorDataset(images[:1000], labels[:1000]), batch_size=32)  # 31 x 32 and 8


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(8, 32)
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(32, 4, 64, batch_first=True) for _ in range(12))
        self.head = nn.Linear(32, 10)

    def forward(self, x):
        x = self.embed(x.view(-1, 8, 8))
        for layer in self.layers:
            x = layer(x)
        return self.head(x.mean(1))


model = Reader()
model.train()  # no fused path, but no dropout either
for module in model.modules():
    if isinstance(module, nn.Dropout):
        module.p = 0.0
with torch.no_grad():
    for epoch in range(3):
        correct = 0
        for x, y in loader:
            scores = model(x)
            correct += (scores.argmax(1) == y).sum()
        show(correct)
        show(scores.sum())
