"""A small real training, shared by the tests of this folder: source text to be put before or around their own."""

TRAINING = '''
import os, sys, threading
import torch, torch.nn as nn

def train(steps, hook=lambda i: None, width=256):
    torch.manual_seed(0)
    torch.set_num_threads(2)
    model = nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10))
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    x, y = torch.randn(128, 64), torch.randint(0, 10, (128,))
    losses = []
    for i in range(steps):
        hook(i)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item().hex())
    return losses
'''
