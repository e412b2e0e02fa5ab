#!/usr/bin/env python3
"""BERT-base (Devlin et al., 2019): 12 post-norm layers of width 768, masked language model, AdamW.

The text is the Python standard library's sources; tokens are identifiers, numbers, marks and blanks. 15 % of them are
to be predicted; of these 80 % are masked, 10 % replaced by a random token, 10 % left (section 3.1 of the paper)."""
import math

import common
import data
import torch
from torch import nn
import torch.nn.functional as F

SIZES = [
    common.Size("batch", 2, 2, "sequences per step"),
    common.Size("length", 64, 32, "tokens per sequence"),
    common.Size("layers", 12, 2, "transformer layers"),
    common.Size("width", 768, 64, "model width"),
    common.Size("heads", 12, 4, "attention heads"),
    common.Size("vocabulary", 12000, 500, "most frequent tokens kept"),
    common.Size("text_bytes", 4000000, 200000, "bytes of text read"),
]
PADDING, MASK, OTHER = 0, 1, 2
RESERVED = 3
IGNORED = -100


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.norm1 = nn.LayerNorm(width)
        self.grow, self.shrink = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norm2 = nn.LayerNorm(width)
        self.dropout = nn.Dropout(0.1)

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)

    def forward(self, x, bias):
        query, key, value = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1]) + bias
        attended = self.dropout(scores.softmax(-1)) @ value
        x = self.norm1(x + self.dropout(self.out(attended.transpose(1, 2).reshape(x.shape))))
        return self.norm2(x + self.dropout(self.shrink(F.gelu(self.grow(x)))))


class Model(nn.Module):
    def __init__(self, options):
        super().__init__()
        self.tokens = nn.Embedding(options.vocabulary, options.width, padding_idx=PADDING)
        self.positions = nn.Embedding(options.length, options.width)
        self.norm = nn.LayerNorm(options.width)
        self.dropout = nn.Dropout(0.1)
        self.layers = nn.ModuleList(Layer(options.width, options.heads) for _ in range(options.layers))
        self.transform = nn.Sequential(nn.Linear(options.width, options.width), nn.GELU(), nn.LayerNorm(options.width))
        self.bias = nn.Parameter(torch.zeros(options.vocabulary))
        self.apply(initialise)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]))
        x = self.dropout(self.norm(x))
        bias = torch.zeros(tokens.shape).masked_fill(tokens == PADDING, float("-inf"))[:, None, None, :]
        for layer in self.layers:
            x = layer(x, bias)
        return F.linear(self.transform(x), self.tokens.weight, self.bias)


def initialise(module):
    if isinstance(module, (nn.Linear, nn.Embedding)):
        nn.init.normal_(module.weight, 0.0, 0.02)


def mask_tokens(tokens, vocabulary):
    chosen = torch.rand(tokens.shape) < 0.15
    target = tokens.masked_fill(~chosen, IGNORED)
    fate = torch.rand(tokens.shape)
    masked = tokens.masked_fill(chosen & (fate < 0.8), MASK)
    random = torch.randint(RESERVED, vocabulary, tokens.shape)
    return torch.where(chosen & (fate >= 0.9), random, masked), target


def build(options):
    tokens = data.word_tokens(options.text_bytes, options.vocabulary, RESERVED)
    windows = data.Windows(tokens, options.seed)
    model = Model(options)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01)

    def step():
        text, _ = windows.batch(options.batch, options.length)
        batch, target = mask_tokens(text, options.vocabulary)
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(batch).flatten(0, 1), target.flatten(), ignore_index=IGNORED)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return [loss.detach()]

    return common.Workload(step, {"model": model},
                           f"{len(tokens)} word tokens of the Python standard library's sources", tokens)


if __name__ == "__main__":
    common.main("bert_base", __doc__, SIZES, build)
