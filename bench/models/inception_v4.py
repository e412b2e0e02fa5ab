#!/usr/bin/env python3
"""Inception v4 (Szegedy et al., AAAI 2017) as AutoTM (Hildebrand et al., ASPLOS 2020) has it: convolutions with bias and
ReLU, without batch normalization; plain SGD, on real images."""
import common
import data
import torch
from torch import nn
import torch.nn.functional as F

SIZES = [
    common.Size("batch", 8, 2, "images per step"),
    common.Size("image", 299, 107, "height and width of an image"),
    common.Size("percent", 100, 25, "of the channels"),
]
CLASSES = 1000


class Branches(nn.Module):
    """Side by side, their outputs one after the other."""

    def __init__(self, *branches):
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x):
        return torch.cat([branch(x) for branch in self.branches], 1)


class Network:
    """The blocks of the paper's figures 3 to 9, with so many percent of their channels."""

    def __init__(self, percent):
        self.percent = percent

    def conv(self, inputs, outputs, kernel, stride=1, padding=0):
        def scaled(channels):
            return channels if channels == 3 else max(4, channels * self.percent // 100 // 4 * 4)

        return nn.Sequential(nn.Conv2d(scaled(inputs), scaled(outputs), kernel, stride, padding), nn.ReLU(inplace=True))

    def chain(self, inputs, *steps):
        """Convolutions of (outputs, kernel): they keep height and width."""
        layers = []
        for outputs, kernel in steps:
            padding = tuple(side // 2 for side in kernel)
            layers.append(self.conv(inputs, outputs, kernel, 1, padding))
            inputs = outputs
        return nn.Sequential(*layers)

    def pooled(self, inputs, outputs):
        return nn.Sequential(nn.AvgPool2d(3, 1, padding=1), self.conv(inputs, outputs, 1))

    def stem(self):
        return [
            self.conv(3, 32, 3, 2), self.conv(32, 32, 3), self.conv(32, 64, 3, padding=1),
            Branches(nn.MaxPool2d(3, 2), self.conv(64, 96, 3, 2)),
            Branches(nn.Sequential(self.conv(160, 64, 1), self.conv(64, 96, 3)),
                     nn.Sequential(self.chain(160, (64, (1, 1)), (64, (7, 1)), (64, (1, 7))), self.conv(64, 96, 3))),
            Branches(self.conv(192, 192, 3, 2), nn.MaxPool2d(3, 2)),
        ]

    def block_a(self):
        return Branches(self.pooled(384, 96), self.conv(384, 96, 1), self.chain(384, (64, (1, 1)), (96, (3, 3))),
                        self.chain(384, (64, (1, 1)), (96, (3, 3)), (96, (3, 3))))

    def reduction_a(self):
        return Branches(nn.MaxPool2d(3, 2), self.conv(384, 384, 3, 2),
                        nn.Sequential(self.chain(384, (192, (1, 1)), (224, (3, 3))), self.conv(224, 256, 3, 2)))

    def block_b(self):
        return Branches(
            self.pooled(1024, 128), self.conv(1024, 384, 1),
            self.chain(1024, (192, (1, 1)), (224, (1, 7)), (256, (7, 1))),
            self.chain(1024, (192, (1, 1)), (192, (1, 7)), (224, (7, 1)), (224, (1, 7)), (256, (7, 1))))

    def reduction_b(self):
        return Branches(
            nn.MaxPool2d(3, 2), nn.Sequential(self.conv(1024, 192, 1), self.conv(192, 192, 3, 2)),
            nn.Sequential(self.chain(1024, (256, (1, 1)), (256, (1, 7)), (320, (7, 1))), self.conv(320, 320, 3, 2)))

    def fork(self, inputs):
        return Branches(self.chain(inputs, (256, (1, 3))), self.chain(inputs, (256, (3, 1))))

    def block_c(self):
        return Branches(
            self.pooled(1536, 256), self.conv(1536, 256, 1), nn.Sequential(self.conv(1536, 384, 1), self.fork(384)),
            nn.Sequential(self.chain(1536, (384, (1, 1)), (448, (1, 3)), (512, (3, 1))), self.fork(512)))

    def features(self):
        return nn.Sequential(*self.stem(), *(self.block_a() for _ in range(4)), self.reduction_a(),
                             *(self.block_b() for _ in range(7)), self.reduction_b(),
                             *(self.block_c() for _ in range(3)))


class InceptionV4(nn.Module):
    def __init__(self, percent):
        super().__init__()
        self.features = Network(percent).features()
        self.classify = nn.Linear(1536 * percent // 100, CLASSES)
        common.keep_scale(self)

    def forward(self, x):
        return self.classify(self.features(x).mean((2, 3)))


def build(options):
    images = data.images(options, options.image)
    model = InceptionV4(options.percent)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)

    def step():
        pixels, labels = images.batch(options.batch)
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(pixels), labels)
        loss.backward()
        optimizer.step()
        return [loss.detach()]

    return common.Workload(step, {"model": model}, images.description, images.pixels)


if __name__ == "__main__":
    common.main("inception_v4", __doc__, SIZES, build, data.add_image_option)
