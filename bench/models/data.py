"""Real input that needs no network: images bundled with scikit-learn, text of the Python standard library.

Everything is returned as PyTorch tensors in PyTorch's own memory, so that a memory profiler of tensors sees it.
"""
import collections
import pathlib
import re
import sys
import sysconfig

import torch
import torch.nn.functional as F

_TOKEN = re.compile(r"[A-Za-z_]+|\d+|\n[ \t]*|[^\w\s]|[ \t]+|[^\x00-\x7f]+")


class Images:
    """`batch(n)` gives n labelled images of size x size in random order, epoch after epoch."""

    def __init__(self, pixels, labels, classes, size, channels, seed, description):
        self.pixels, self.labels, self.classes, self.size = pixels, labels, classes, size
        self.channels, self.description = channels, description
        self._generator = torch.Generator().manual_seed(seed)
        self._order = torch.empty(0, dtype=torch.long)

    def batch(self, count):
        while len(self._order) < count:
            self._order = torch.cat([self._order, torch.randperm(len(self.pixels), generator=self._generator)])
        chosen, self._order = self._order[:count], self._order[count:]
        images = F.interpolate(self.pixels[chosen], size=(self.size, self.size), mode="bilinear", align_corners=False)
        return images.expand(-1, self.channels, -1, -1).contiguous(), self.labels[chosen]


def add_image_option(parser):
    parser.add_argument("--images", choices=("digits", "photos"), default="digits",
                        help="scikit-learn's handwritten digits, or crops of its two sample photos (needs Pillow)")


def images(options, size, channels=3):
    try:
        from sklearn import datasets
    except ImportError as error:
        sys.exit(f"this workload trains on images that scikit-learn bundles: {error}; "
                 "install it with `pip install scikit-learn` or `apt-get install python3-sklearn`")
    make = _photos if options.images == "photos" else _digits
    return make(datasets, size, channels, options.seed)


def _digits(datasets, size, channels, seed):
    digits = datasets.load_digits()
    pixels = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 8.0 - 1.0  # 0..16 -> -1..1
    return Images(pixels, torch.tensor(digits.target, dtype=torch.long), 10, size, channels, seed,
                  f"scikit-learn's {len(pixels)} handwritten digits, scaled from 8x8 to {size}x{size}")


def _photos(datasets, size, channels, seed):
    try:
        photos = datasets.load_sample_images().images
    except ImportError:
        sys.exit("--images photos decodes JPEG files, and there is no Pillow: install it with `pip install pillow` or "
                 "`apt-get install python3-pil`, or use --images digits")
    crops, labels = [], []
    for label, photo in enumerate(photos):
        tensor = torch.tensor(photo, dtype=torch.float32).permute(2, 0, 1) / 127.5 - 1.0
        if channels == 1:
            tensor = tensor.mean(0, keepdim=True)
        tiles = tensor.unfold(1, 64, 21).unfold(2, 64, 21).permute(1, 2, 0, 3, 4).reshape(-1, tensor.shape[0], 64, 64)
        crops.append(tiles)
        labels.append(torch.full((len(tiles),), label, dtype=torch.long))
    pixels = torch.cat(crops)
    return Images(pixels, torch.cat(labels), len(photos), size, channels, seed,
                  f"{len(pixels)} overlapping 64x64 crops of scikit-learn's sample photos, scaled to {size}x{size}; "
                  "the label is the photo")


def library_text(limit):
    """The first `limit` bytes of the standard library's top-level modules, in order of their names."""
    folder = pathlib.Path(sysconfig.get_paths()["stdlib"])
    parts, total = [], 0
    for path in sorted(folder.glob("*.py")):
        parts.append(path.read_bytes())
        total += len(parts[-1])
        if total >= limit:
            break
    if not total:
        sys.exit(f"no Python sources in {folder}: this workload reads the text of the standard library")
    return b"".join(parts)[:limit]


def byte_tokens(limit):
    return torch.tensor(list(library_text(limit)), dtype=torch.long)


def split_words(limit):
    return _TOKEN.findall(library_text(limit).decode("utf-8", "replace"))


def word_tokens(limit, vocabulary, reserved=1):
    """Ids of identifiers, numbers, marks and blanks: the frequent ones from `reserved` on, other ones `reserved`-1."""
    words = split_words(limit)
    ranked = sorted(collections.Counter(words).items(), key=lambda item: (-item[1], item[0]))
    ids = {word: i for i, (word, _) in enumerate(ranked[:vocabulary - reserved], start=reserved)}
    return torch.tensor([ids.get(word, reserved - 1) for word in words], dtype=torch.long)


class Windows:
    """`batch(n, length)` gives n random windows of a token stream, each with the window one token later."""

    def __init__(self, tokens, seed):
        self.tokens = tokens
        self._generator = torch.Generator().manual_seed(seed)

    def batch(self, count, length):
        starts = torch.randint(len(self.tokens) - length - 1, (count, 1), generator=self._generator)
        positions = starts + torch.arange(length)
        return self.tokens[positions], self.tokens[positions + 1]
