#!/usr/bin/env python3
"""DCGAN (Radford et al., ICLR 2016): two networks, two Adam optimizers, two backward passes a step."""
import common
import data
import torch
from torch import nn
import torch.nn.functional as F

SIZES = [
    common.Size("batch", 64, 8, "real images per step"),
    common.Size("width", 64, 8, "channels of the layer next to the image"),
    common.Size("latent", 100, 32, "size of the generator's noise"),
]
IMAGE = 64


def generator(latent, width, channels):
    layers, inputs = [nn.ConvTranspose2d(latent, width * 8, 4, 1, 0, bias=False)], width * 8
    for outputs in (width * 4, width * 2, width):
        layers += [nn.BatchNorm2d(inputs), nn.ReLU(True), nn.ConvTranspose2d(inputs, outputs, 4, 2, 1, bias=False)]
        inputs = outputs
    layers += [nn.BatchNorm2d(inputs), nn.ReLU(True), nn.ConvTranspose2d(inputs, channels, 4, 2, 1, bias=False)]
    return nn.Sequential(*layers, nn.Tanh())


def discriminator(width, channels):
    layers, inputs = [nn.Conv2d(channels, width, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, True)], width
    for outputs in (width * 2, width * 4, width * 8):
        layers += [nn.Conv2d(inputs, outputs, 4, 2, 1, bias=False), nn.BatchNorm2d(outputs), nn.LeakyReLU(0.2, True)]
        inputs = outputs
    return nn.Sequential(*layers, nn.Conv2d(inputs, 1, 4, 1, 0, bias=False), nn.Flatten())


def initialise(module):
    if isinstance(module, (nn.Conv2d, nn.ConvTranspose2d)):
        nn.init.normal_(module.weight, 0.0, 0.02)
    elif isinstance(module, nn.BatchNorm2d):
        nn.init.normal_(module.weight, 1.0, 0.02)


def build(options):
    channels = 3 if options.images == "photos" else 1
    images = data.images(options, IMAGE, channels)
    make = generator(options.latent, options.width, channels).apply(initialise)
    judge = discriminator(options.width, channels).apply(initialise)
    judge_optimizer = torch.optim.Adam(judge.parameters(), lr=2e-4, betas=(0.5, 0.999))
    make_optimizer = torch.optim.Adam(make.parameters(), lr=2e-4, betas=(0.5, 0.999))
    is_real, is_fake = torch.ones(options.batch, 1), torch.zeros(options.batch, 1)

    def step():
        real, _ = images.batch(options.batch)
        fake = make(torch.randn(options.batch, options.latent, 1, 1))
        judge_optimizer.zero_grad(set_to_none=True)
        judge_loss = (F.binary_cross_entropy_with_logits(judge(real), is_real)
                      + F.binary_cross_entropy_with_logits(judge(fake.detach()), is_fake))
        judge_loss.backward()
        judge_optimizer.step()
        make_optimizer.zero_grad(set_to_none=True)
        make_loss = F.binary_cross_entropy_with_logits(judge(fake), is_real)
        make_loss.backward()
        make_optimizer.step()
        return [judge_loss.detach(), make_loss.detach()]

    return common.Workload(step, {"generator": make, "discriminator": judge}, images.description, images.pixels)


if __name__ == "__main__":
    common.main("dcgan", __doc__, SIZES, build, data.add_image_option)
