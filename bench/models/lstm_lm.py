#!/usr/bin/env python3
"""Word-level LSTM language model (Zaremba et al., 2014), truncated back-propagation through time, clipped SGD.

The text is the Python standard library's sources; tokens are identifiers, numbers, marks and blanks."""
import common
import data
import torch
from torch import nn
import torch.nn.functional as F

SIZES = [
    common.Size("batch", 20, 4, "parallel streams of text"),
    common.Size("length", 64, 16, "tokens of a stream per step"),
    common.Size("width", 650, 64, "embedding and hidden size"),
    common.Size("layers", 2, 2, "LSTM layers"),
    common.Size("vocabulary", 10000, 500, "most frequent tokens kept"),
    common.Size("text_bytes", 4000000, 200000, "bytes of text read"),
]


class Model(nn.Module):
    def __init__(self, vocabulary, width, layers):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.dropout = nn.Dropout(0.5)
        self.lstm = nn.LSTM(width, width, layers, dropout=0.5)
        self.predict = nn.Linear(width, vocabulary)

    def forward(self, tokens, state):
        output, state = self.lstm(self.dropout(self.embed(tokens)), state)
        return self.predict(self.dropout(output)), state


def build(options):
    tokens = data.word_tokens(options.text_bytes, options.vocabulary)
    streams = tokens[:len(tokens) // options.batch * options.batch].view(options.batch, -1).t().contiguous()
    if len(streams) <= options.length:
        raise SystemExit(f"{len(tokens)} tokens are too few for {options.batch} streams of {options.length}")
    model = Model(options.vocabulary, options.width, options.layers)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    progress = {"at": 0, "state": None}

    def step():
        at, state = progress["at"], progress["state"]
        if at + options.length >= len(streams):
            at, state = 0, None
        batch, target = streams[at:at + options.length], streams[at + 1:at + options.length + 1]
        optimizer.zero_grad(set_to_none=True)
        logits, state = model(batch, state)
        loss = F.cross_entropy(logits.flatten(0, 1), target.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        progress.update(at=at + options.length, state=tuple(s.detach() for s in state))
        return [loss.detach()]

    return common.Workload(step, {"model": model},
                           f"{len(tokens)} word tokens of the Python standard library's sources", tokens)


if __name__ == "__main__":
    common.main("lstm_lm", __doc__, SIZES, build)
