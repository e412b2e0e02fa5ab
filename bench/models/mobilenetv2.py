#!/usr/bin/env python3
"""MobileNetV2 (Sandler et al., CVPR 2018), RMSprop as in the paper, on real images."""
import common
import data
import torch
from torch import nn
import torch.nn.functional as F

SIZES = [
    common.Size("batch", 32, 8, "images per step"),
    common.Size("image", 112, 32, "height and width of an image"),
    common.Size("percent", 100, 25, "width multiplier, in percent"),
]
# Table 2 of the paper: expansion, channels, repeats, stride of the first.
STAGES = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))


def conv(inputs, outputs, kernel, stride=1, groups=1):
    return [nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, groups=groups, bias=False),
            nn.BatchNorm2d(outputs)]


class InvertedResidual(nn.Module):
    def __init__(self, inputs, outputs, stride, expansion):
        super().__init__()
        hidden = inputs * expansion
        layers = [] if expansion == 1 else conv(inputs, hidden, 1) + [nn.ReLU6(inplace=True)]
        layers += conv(hidden, hidden, 3, stride, groups=hidden) + [nn.ReLU6(inplace=True)]
        layers += conv(hidden, outputs, 1)
        self.layers = nn.Sequential(*layers)
        self.residual = stride == 1 and inputs == outputs

    def forward(self, x):
        return x + self.layers(x) if self.residual else self.layers(x)


class MobileNetV2(nn.Module):
    def __init__(self, percent, classes):
        super().__init__()

        def scaled(channels):
            return max(8, channels * percent // 100 // 8 * 8)

        inputs = scaled(32)
        layers = conv(3, inputs, 3, 2) + [nn.ReLU6(inplace=True)]
        for expansion, channels, repeats, stride in STAGES:
            for i in range(repeats):
                layers.append(InvertedResidual(inputs, scaled(channels), stride if i == 0 else 1, expansion))
                inputs = scaled(channels)
        outputs = max(1280, scaled(1280)) if percent >= 100 else scaled(1280)
        self.features = nn.Sequential(*layers, *conv(inputs, outputs, 1), nn.ReLU6(inplace=True))
        self.classify = nn.Sequential(nn.Dropout(0.2), nn.Linear(outputs, classes))

    def forward(self, x):
        return self.classify(self.features(x).mean((2, 3)))


def build(options):
    images = data.images(options, options.image)
    model = MobileNetV2(options.percent, images.classes)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=2e-4, alpha=0.9, momentum=0.9, weight_decay=4e-5)

    def step():
        pixels, labels = images.batch(options.batch)
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(pixels), labels)
        loss.backward()
        optimizer.step()
        return [loss.detach()]

    return common.Workload(step, {"model": model}, images.description, images.pixels)


if __name__ == "__main__":
    common.main("mobilenetv2", __doc__, SIZES, build, data.add_image_option)
