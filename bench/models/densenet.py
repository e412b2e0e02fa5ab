#!/usr/bin/env python3
"""DenseNet-264 (Huang et al., CVPR 2017) as AutoTM (Hildebrand et al., ASPLOS 2020) has it; plain SGD, on real images.

zoo/densenet.jl of AutoTM's repository: growth 32, and every transition goes back to as many channels as the first block
begins with, where the paper of DenseNet halves them."""
import common
import data
import torch
from torch import nn
import torch.nn.functional as F

SIZES = [
    common.Size("batch", 8, 2, "images per step"),
    common.Size("image", 224, 64, "height and width of an image, a multiple of 32"),
    common.Size("growth", 32, 8, "channels that a layer adds"),
    common.Size("percent", 100, 20, "of the layers of each block"),
]
BLOCKS = (6, 12, 64, 48)
CLASSES = 1000


class Layer(nn.Module):
    def __init__(self, inputs, growth):
        super().__init__()
        self.layers = nn.Sequential(
            nn.BatchNorm2d(inputs), nn.ReLU(inplace=True), nn.Conv2d(inputs, 4 * growth, 1),
            nn.BatchNorm2d(4 * growth), nn.ReLU(inplace=True), nn.Conv2d(4 * growth, growth, 3, padding=1))

    def forward(self, x):
        return torch.cat([x, self.layers(x)], 1)


class DenseNet(nn.Module):
    def __init__(self, blocks, growth):
        super().__init__()
        first = 2 * growth
        layers = [nn.Conv2d(3, first, 7, 2, padding=3), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, padding=1)]
        for i, count in enumerate(blocks):
            layers += [Layer(first + j * growth, growth) for j in range(count)]
            outputs = first + count * growth
            if i + 1 < len(blocks):
                layers += [nn.BatchNorm2d(outputs), nn.ReLU(inplace=True), nn.Conv2d(outputs, first, 1), nn.AvgPool2d(2)]
        self.features = nn.Sequential(*layers)
        self.classify = nn.Linear(outputs, CLASSES)
        common.keep_scale(self)

    def forward(self, x):
        return self.classify(self.features(x).mean((2, 3)))


def build(options):
    images = data.images(options, options.image)
    model = DenseNet([max(1, count * options.percent // 100) for count in BLOCKS], options.growth)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def step():
        pixels, labels = images.batch(options.batch)
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(pixels), labels)
        loss.backward()
        optimizer.step()
        return [loss.detach()]

    return common.Workload(step, {"model": model}, images.description, images.pixels)


if __name__ == "__main__":
    common.main("densenet", __doc__, SIZES, build, data.add_image_option)
