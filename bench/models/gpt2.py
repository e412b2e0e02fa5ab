#!/usr/bin/env python3
"""GPT-2-like decoder (Radford et al., 2019): pre-norm blocks, tied embeddings, AdamW with clipping.

The text is the Python standard library's sources; tokens are bytes. Attention is PyTorch's fused
scaled_dot_product_attention where this PyTorch has it (2.x), else written out. GPT-2 small is
--layers 12 --width 768 --heads 12."""
import math

import common
import data
import torch
from torch import nn
import torch.nn.functional as F

SIZES = [
    common.Size("batch", 4, 2, "sequences per step"),
    common.Size("length", 256, 32, "tokens per sequence"),
    common.Size("layers", 6, 2, "transformer blocks"),
    common.Size("width", 512, 64, "model width"),
    common.Size("heads", 8, 4, "attention heads"),
    common.Size("text_bytes", 4000000, 200000, "bytes of text read"),
]
VOCABULARY = 256


class Attention(nn.Module):
    def __init__(self, width, heads, length):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.fused = hasattr(F, "scaled_dot_product_attention")
        if not self.fused:
            self.register_buffer("mask", torch.ones(length, length, dtype=torch.bool).triu(1))

    def forward(self, x):
        batch, length, width = x.shape
        query, key, value = (part.view(batch, length, self.heads, -1).transpose(1, 2)
                             for part in self.qkv(x).split(width, dim=2))
        if self.fused:
            y = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        else:
            scores = query @ key.transpose(-2, -1) / math.sqrt(width // self.heads)
            y = scores.masked_fill(self.mask[:length, :length], float("-inf")).softmax(-1) @ value
        return self.out(y.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, width, heads, length):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = Attention(width, heads, length)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        x = x + self.dropout(self.attention(self.norm1(x)))
        return x + self.dropout(self.mlp(self.norm2(x)))


class Model(nn.Module):
    def __init__(self, options):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, options.width)
        self.positions = nn.Embedding(options.length, options.width)
        self.blocks = nn.Sequential(*(Block(options.width, options.heads, options.length)
                                      for _ in range(options.layers)))
        self.norm = nn.LayerNorm(options.width)
        self.predict = nn.Linear(options.width, VOCABULARY, bias=False)
        self.predict.weight = self.tokens.weight
        nn.init.normal_(self.tokens.weight, 0.0, 0.02)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]))
        return self.predict(self.norm(self.blocks(x)))


def build(options):
    tokens = data.byte_tokens(options.text_bytes)
    windows = data.Windows(tokens, options.seed)
    model = Model(options)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1)

    def step():
        batch, target = windows.batch(options.batch, options.length)
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(batch).flatten(0, 1), target.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return [loss.detach()]

    return common.Workload(step, {"model": model},
                           f"{len(tokens)} bytes of the Python standard library's sources", tokens)


if __name__ == "__main__":
    common.main("gpt2", __doc__, SIZES, build)
