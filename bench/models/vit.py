#!/usr/bin/env python3
"""Vision transformer (Dosovitskiy et al., ICLR 2021), the small variant, AdamW, on real images.

The layers are PyTorch's own nn.TransformerEncoderLayer, pre-norm."""
import common
import data
import torch
from torch import nn
import torch.nn.functional as F

SIZES = [
    common.Size("batch", 4, 4, "images per step"),
    common.Size("image", 112, 32, "height and width of an image"),
    common.Size("patch", 8, 8, "height and width of a patch"),
    common.Size("layers", 8, 2, "transformer layers"),
    common.Size("width", 384, 64, "model width"),
    common.Size("heads", 6, 4, "attention heads"),
]


class ViT(nn.Module):
    def __init__(self, options, classes):
        super().__init__()
        patches = (options.image // options.patch) ** 2
        self.embed = nn.Conv2d(3, options.width, options.patch, options.patch)
        self.token = nn.Parameter(torch.zeros(1, 1, options.width))
        self.positions = nn.Parameter(torch.randn(1, patches + 1, options.width) * 0.02)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(options.width, options.heads, 4 * options.width, dropout=0.1,
                                       activation="gelu", batch_first=True, norm_first=True)
            for _ in range(options.layers))
        self.norm = nn.LayerNorm(options.width)
        self.classify = nn.Linear(options.width, classes)

    def forward(self, pixels):
        patches = self.embed(pixels).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(len(pixels), -1, -1), patches], dim=1) + self.positions
        for layer in self.layers:
            x = layer(x)
        return self.classify(self.norm(x[:, 0]))


def build(options):
    if options.image % options.patch:
        raise SystemExit(f"--image {options.image} is not a multiple of --patch {options.patch}")
    images = data.images(options, options.image)
    model = ViT(options, images.classes)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.05)

    def step():
        pixels, labels = images.batch(options.batch)
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(pixels), labels)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return [loss.detach()]

    return common.Workload(step, {"model": model}, images.description, images.pixels)


if __name__ == "__main__":
    common.main("vit", __doc__, SIZES, build, data.add_image_option)
