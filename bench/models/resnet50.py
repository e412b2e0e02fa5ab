#!/usr/bin/env python3
"""ResNet-50 and its deeper kin (He et al., CVPR 2016), SGD with momentum, on real images."""
import sys

import common
import data
import torch
from torch import nn
import torch.nn.functional as F

SIZES = [
    common.Size("batch", 16, 4, "images per step"),
    common.Size("image", 112, 64, "height and width of an image"),
    common.Size("width", 64, 16, "channels of the first stage"),
    common.Size("layers", 50, 50, "50, 101, 152 or 200"),
]
BLOCKS = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3), 200: (3, 24, 36, 3)}
EXPANSION = 4


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        outputs = width * EXPANSION
        self.reduce = nn.Conv2d(inputs, width, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(width)
        self.conv = nn.Conv2d(width, width, 3, stride, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(width)
        self.expand = nn.Conv2d(width, outputs, 1, bias=False)
        self.norm3 = nn.BatchNorm2d(outputs)
        nn.init.zeros_(self.norm3.weight)  # small batches diverge unless every block starts as the identity
        self.shortcut = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = F.relu(self.norm1(self.reduce(x)), inplace=True)
        y = F.relu(self.norm2(self.conv(y)), inplace=True)
        return F.relu(self.norm3(self.expand(y)) + self.shortcut(x), inplace=True)


class ResNet(nn.Module):
    def __init__(self, blocks, width, classes):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, width, 7, 2, padding=3, bias=False), nn.BatchNorm2d(width),
                                  nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, padding=1))
        stages, inputs = [], width
        for i, count in enumerate(blocks):
            inner = width << i
            for j in range(count):
                stages.append(Bottleneck(inputs, inner, 2 if i > 0 and j == 0 else 1))
                inputs = inner * EXPANSION
        self.stages = nn.Sequential(*stages)
        self.classify = nn.Linear(inputs, classes)

    def forward(self, x):
        return self.classify(self.stages(self.stem(x)).mean((2, 3)))


def build(options):
    images = data.images(options, options.image)
    if options.layers not in BLOCKS:
        sys.exit(f"no ResNet of {options.layers} layers; there are: {', '.join(map(str, BLOCKS))}")
    model = ResNet(BLOCKS[options.layers], options.width, images.classes)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)

    def step():
        pixels, labels = images.batch(options.batch)
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(pixels), labels)
        loss.backward()
        optimizer.step()
        return [loss.detach()]

    return common.Workload(step, {"model": model}, images.description, images.pixels)


if __name__ == "__main__":
    common.main("resnet50", __doc__, SIZES, build, data.add_image_option)
