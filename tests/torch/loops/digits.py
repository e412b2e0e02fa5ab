"""Handwritten digits (scikit-learn ships them) for the loops, and how the loops print."""
import importlib.util
from pathlib import Path

import numpy
import torch


def digits():
    """1797 images of 64 pixels in 0..1, and their labels."""
    # The file itself: importing scikit-learn takes longer than most of the loops.
    package = Path(importlib.util.find_spec("sklearn").origin).parent
    rows = numpy.loadtxt(package / "datasets" / "data" / "digits.csv.gz", delimiter=",")
    return torch.tensor(rows[:, :-1], dtype=torch.float32) / 16, torch.tensor(rows[:, -1], dtype=torch.int64)


def show(value):
    """Every bit of it, so that two runs can be compared."""
    print(float(value.item()).hex())
