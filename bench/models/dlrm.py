#!/usr/bin/env python3
"""DLRM (Naumov et al., 2019): large sparse embedding tables, a bottom MLP, pairwise dot interactions, a top MLP.

No click log ships with a package, so the samples come from text that does: the Python standard library's sources,
split into identifiers, numbers, marks and blanks. A sample is a position in the text. Table k looks up the hashed
(k+1)-grams that end at the last --bag positions, whose counts are skewed as those of clicks are; the 13 dense
features are counts and lengths around the position. The label is the class of the next token (identifier, number,
line end, bracket, other mark, blank).

The tables are nn.EmbeddingBag(sparse=True) under SparseAdam or SGD, the MLPs under Adam or SGD."""
import zlib

import common
import data
import torch
from torch import nn
import torch.nn.functional as F

SIZES = [
    common.Size("batch", 2048, 64, "samples per step"),
    common.Size("tables", 8, 4, "embedding tables"),
    common.Size("rows", 200000, 2000, "rows of a table"),
    common.Size("width", 64, 16, "width of an embedding"),
    common.Size("bag", 8, 4, "look-ups per table and sample"),
    common.Size("hidden", 512, 64, "width of the MLPs' hidden layers"),
    common.Size("text_bytes", 4000000, 200000, "bytes of text read"),
]
CLASSES = 6
DENSE_FEATURES = 13
RECENT = (1, 4, 16, 64)


def token_class(word):
    if word[0] == "\n":
        return 2
    if word[0] in "()[]{}":
        return 3
    if word.isspace():
        return 5
    if word.isdigit():
        return 1
    return 0 if word[0].isalpha() or word[0] == "_" else 4


class Samples:
    """Features at every position of the text; `batch(n)` draws n positions."""

    def __init__(self, words, options):
        self.options = options
        hashes = torch.tensor([zlib.crc32(word.encode()) for word in words], dtype=torch.long)
        self.classes = torch.tensor([token_class(word) for word in words], dtype=torch.long)
        self.grams = self._grams(hashes)
        self.dense = self._dense(words)
        self.first = max(options.bag, RECENT[-1]) + options.tables
        self._generator = torch.Generator().manual_seed(options.seed)
        self._bag = torch.arange(options.bag)

    def _grams(self, hashes):
        """Row k: for every position, the (k+1)-gram ending there, hashed to a row of table k."""
        rows, gram = [], torch.zeros_like(hashes)
        for k in range(self.options.tables):
            gram = (gram * 1000003 + hashes.roll(k)) & 0x7FFFFFFF
            rows.append(gram % self.options.rows)
        return torch.stack(rows)

    def _dense(self, words):
        """Per position: the token's length, the column, and how often each of 3 classes came in 4 recent spans,
        less the one that the others imply; logarithmic, as DLRM does with its counts."""
        columns, column = [], 0
        for word in words:
            column = len(word) - 1 if word[0] == "\n" else column + len(word)
            columns.append(column)
        features = [torch.tensor([len(word) for word in words]), torch.tensor(columns)]
        for wanted in (0, 3, 4):
            total = (self.classes == wanted).long().cumsum(0)
            features += [total - total.roll(span) for span in RECENT]
        return torch.stack(features[:DENSE_FEATURES], dim=1).clamp(min=0).float().log1p()

    def batch(self, count):
        at = torch.randint(self.first, len(self.classes) - 1, (count,), generator=self._generator)
        bags = (at[:, None] - self._bag).flatten()
        return self.dense[at], self.grams[:, bags].view(self.options.tables, count, -1), self.classes[at + 1]


def mlp(*widths):
    layers = []
    for inputs, outputs in zip(widths, widths[1:]):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return layers


class DLRM(nn.Module):
    def __init__(self, options):
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(options.rows, options.width, mode="sum", sparse=True)
                                    for _ in range(options.tables))
        for table in self.tables:
            nn.init.uniform_(table.weight, -options.rows ** -0.5, options.rows ** -0.5)
        self.bottom = nn.Sequential(*mlp(DENSE_FEATURES, options.hidden, options.hidden // 2, options.width))
        vectors = options.tables + 1
        pairs = vectors * (vectors - 1) // 2
        self.top = nn.Sequential(*mlp(options.width + pairs, options.hidden, options.hidden),
                                 nn.Linear(options.hidden, CLASSES))
        self.register_buffer("pairs", torch.tril_indices(vectors, vectors, -1), persistent=False)

    def forward(self, dense, lookups):
        x = self.bottom(dense)
        vectors = torch.stack([x] + [table(rows) for table, rows in zip(self.tables, lookups)], dim=1)
        products = torch.bmm(vectors, vectors.transpose(1, 2))[:, self.pairs[0], self.pairs[1]]
        return self.top(torch.cat([x, products], dim=1))


def add_options(parser):
    parser.add_argument("--optimizer", choices=("adam", "sgd"), default="adam",
                        help="SparseAdam for the tables and Adam for the MLPs, or SGD for both")


def optimizers(model, kind):
    tables, dense = list(model.tables.parameters()), [*model.bottom.parameters(), *model.top.parameters()]
    if kind == "sgd":
        return [torch.optim.SGD(tables, lr=0.1), torch.optim.SGD(dense, lr=0.1)]
    return [torch.optim.SparseAdam(tables, lr=1e-3), torch.optim.Adam(dense, lr=1e-3)]


def build(options):
    samples = Samples(data.split_words(options.text_bytes), options)
    model = DLRM(options)
    steppers = optimizers(model, options.optimizer)

    def step():
        dense, lookups, labels = samples.batch(options.batch)
        for optimizer in steppers:
            optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(dense, lookups), labels)
        loss.backward()
        for optimizer in steppers:
            optimizer.step()
        return [loss.detach()]

    return common.Workload(step, {"model": model},
                           f"hashed n-grams at {len(samples.classes)} positions of the Python standard library's "
                           "sources, predicting the next token's class", samples.grams)


if __name__ == "__main__":
    common.main("dlrm", __doc__, SIZES, build, add_options)
