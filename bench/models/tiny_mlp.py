#!/usr/bin/env python3
"""Ten nn.Linear(32, 32) with Adam: steps of about a millisecond, the worst case for any cost per op.

The input are the middle four rows (32 pixels) of scikit-learn's handwritten digits; all sizes are those of --small."""
import common
import data
import torch
from torch import nn
import torch.nn.functional as F

SIZES = [common.Size("batch", 32, 32, "images per step")]
LAYERS, WIDTH = 10, 32
MIDDLE = slice(2, 6)


def build(options):
    images = data.images(options, 8, channels=1)
    model = nn.Sequential(*(module for _ in range(LAYERS - 1) for module in (nn.Linear(WIDTH, WIDTH), nn.ReLU())),
                          nn.Linear(WIDTH, WIDTH))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def step():
        pixels, labels = images.batch(options.batch)
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(pixels[:, 0, MIDDLE].flatten(1)), labels)
        loss.backward()
        optimizer.step()
        return [loss.detach()]

    return common.Workload(step, {"model": model}, images.description, images.pixels)


if __name__ == "__main__":
    common.main("tiny_mlp", __doc__, SIZES, build, data.add_image_option)
