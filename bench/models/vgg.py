#!/usr/bin/env python3
"""VGG (Simonyan and Zisserman, ICLR 2015) of 19 layers, or of 416 as AutoTM (Hildebrand et al., ASPLOS 2020) has it; plain
SGD, on real images."""
import sys

import common
import data
import torch
from torch import nn
import torch.nn.functional as F

SIZES = [
    common.Size("batch", 4, 2, "images per step"),
    common.Size("image", 224, 64, "height and width of an image, a multiple of 32"),
    common.Size("width", 64, 8, "channels of the first stage"),
    common.Size("hidden", 4096, 128, "features of the classifier's hidden layers"),
    common.Size("layers", 19, 19, "19 or 416"),
]
CLASSES = 1000


def stages_19(width):
    """The channels of each stage's convolutions; a stage ends with pooling."""
    return [[width << min(i, 3)] * count for i, count in enumerate((2, 2, 4, 4, 4))]


def stages_416(width):
    """zoo/vgg.jl of AutoTM's repository: 80 to 83 convolutions in each stage, and the channels double before a stage's
    pooling, not after it. With the four that widen and three linear layers: 416."""
    stages = [[width] * 81 + [width * 2]]
    stages += [[width << i] * count + [width << (i + 1)] for i, count in ((1, 81), (2, 82))]
    return stages + [[width * 8] * 83] * 2


STAGES = {19: stages_19, 416: stages_416}


class VGG(nn.Module):
    def __init__(self, stages, image, hidden):
        super().__init__()
        layers, inputs = [], 3
        for stage in stages:
            for outputs in stage:
                layers += [nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU(inplace=True)]
                inputs = outputs
            layers.append(nn.MaxPool2d(2))
        self.features = nn.Sequential(*layers)
        side = image >> len(stages)
        self.classify = nn.Sequential(nn.Linear(inputs * side * side, hidden), nn.ReLU(inplace=True),
                                      nn.Linear(hidden, hidden), nn.ReLU(inplace=True), nn.Linear(hidden, CLASSES))
        common.keep_scale(self)

    def forward(self, x):
        return self.classify(self.features(x).flatten(1))


def build(options):
    if options.layers not in STAGES:
        sys.exit(f"no VGG of {options.layers} layers; there are: {', '.join(map(str, STAGES))}")
    images = data.images(options, options.image)
    model = VGG(STAGES[options.layers](options.width), options.image, options.hidden)
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
    common.main("vgg", __doc__, SIZES, build, data.add_image_option)
