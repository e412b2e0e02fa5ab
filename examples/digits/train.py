#!/usr/bin/env python3
"""Trains a small convolutional network on scikit-learn's handwritten digits (1,797 real images of 8 x 8 pixels).

An ordinary training script: nothing in it knows Hearth. Run it as it is, or with LD_PRELOAD=.../libhearth.so before
it; the losses are the same to the last bit.
"""
import argparse
import statistics
import time

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--iterations", type=int, default=300, help="training iterations (default: %(default)s)")
    parser.add_argument("--batch", type=int, default=64, help="images in a batch (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=7, help="for weights, split and batches (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=1, help="PyTorch threads (default: %(default)s)")
    arguments = parser.parse_args()
    if arguments.iterations < 1 or arguments.batch < 1 or arguments.threads < 1:
        parser.error("--iterations, --batch and --threads must be at least 1")
    return arguments


def load_images(seed):
    """Training and test images as float tensors in 0..1, with their labels; one fifth is kept for the test."""
    images, labels = load_digits(return_X_y=True)
    images = (images / 16.0).astype(np.float32).reshape(-1, 1, 8, 8)
    parts = train_test_split(images, labels, test_size=0.2, random_state=seed, stratify=labels)
    return [torch.tensor(part) for part in parts]


def make_network():
    def block(channels_in, channels_out):
        return nn.Sequential(
            nn.Conv2d(channels_in, channels_out, kernel_size=3, padding=1, bias=False),
            nn.BatchNorm2d(channels_out),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )

    return nn.Sequential(block(1, 32), block(32, 64), nn.Flatten(), nn.Linear(64 * 2 * 2, 10))


def batches(images, labels, size, generator):
    """Endless shuffled batches of one size; what does not fill a batch goes into the next epoch's shuffle."""
    size = min(size, len(images))
    while True:
        order = torch.randperm(len(images), generator=generator)
        for chosen in order[: len(images) // size * size].split(size):
            yield images[chosen], labels[chosen]


def train(network, images, labels, arguments):
    """Returns the seconds each iteration took."""
    optimizer = torch.optim.SGD(network.parameters(), lr=0.05, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    source = batches(images, labels, arguments.batch, torch.Generator().manual_seed(arguments.seed))
    network.train()
    seconds = []
    for iteration in range(1, arguments.iterations + 1):
        begin = time.perf_counter()
        batch_images, batch_labels = next(source)
        optimizer.zero_grad()
        loss = criterion(network(batch_images), batch_labels)
        loss.backward()
        optimizer.step()
        seconds.append(time.perf_counter() - begin)
        if iteration == 1 or iteration % 50 == 0 or iteration == arguments.iterations:
            value = loss.item()
            print(f"iteration {iteration:5d}  loss {value:.6f}  ({value.hex()})", flush=True)
    return seconds


@torch.no_grad()
def accuracy(network, images, labels):
    network.eval()
    return (network(images).argmax(dim=1) == labels).double().mean().item()


def main():
    arguments = parse_arguments()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(arguments.seed)
    train_images, test_images, train_labels, test_labels = load_images(arguments.seed)
    network = make_network()
    weights = sum(parameter.numel() for parameter in network.parameters())
    print(f"torch {torch.__version__}, {len(train_images)} training and {len(test_images)} test images, "
          f"{weights} weights, batches of {arguments.batch}")
    seconds = train(network, train_images, train_labels, arguments)
    print(f"step time: median {statistics.median(seconds) * 1e3:.2f} ms, longest {max(seconds) * 1e3:.2f} ms")
    print(f"test accuracy: {accuracy(network, test_images, test_labels):.4f}")


if __name__ == "__main__":
    main()
