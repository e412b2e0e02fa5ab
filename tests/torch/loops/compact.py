"""Compacts a recording (recorder.cpp) into the form that the unit tests read:  compact.py RAW OUT

Events are words: o12 outermost op of name 12, n3 three nested ops, a4096 an allocation, f2 two frees, S5:1 / E5:1 a step
of name 5 by optimizer 1 begins / ends; <D,N stands for the N words that began D words ago (it may overlap itself: a
repetition). Lines that begin with # say which name a number stands for.
"""
import sys
from itertools import groupby

LEAST_COPY = 6


def words_of(lines):
    names, words = [], []
    for line in lines:
        kind, _, rest = line.rstrip("\n").partition(" ")
        if kind == "N":
            names.append(rest)
        else:
            words.append(kind + rest.replace(" ", ":"))
    return names, words


def merged(words):
    """Runs of nested ops and of frees become one word each."""
    for word, run in groupby(words):
        run = list(run)
        if word in ("n", "f"):
            yield f"{word}{len(run)}"
        else:
            yield from run


def copies(words):
    """Greedy LZ77 over whole words."""
    latest = {}
    at = 0
    while at < len(words):
        key = tuple(words[at:at + LEAST_COPY])
        source = latest.get(key) if len(key) == LEAST_COPY else None
        length = 1
        if source is not None:
            length = LEAST_COPY
            while at + length < len(words) and words[source + length] == words[at + length]:
                length += 1
            yield f"<{at - source},{length}"
        else:
            yield words[at]
        for i in range(at, at + length):
            latest[tuple(words[i:i + LEAST_COPY])] = i
        at += length


def main(raw, out):
    with open(raw) as file:
        names, words = words_of(file)
    words = list(merged(words))
    with open(out, "w") as file:
        for number, name in enumerate(names, 1):
            if f"o{number}" in words or "step#" in name:
                file.write(f"# {number} {name}\n")
        line = ""
        for word in copies(words):
            if len(line) + len(word) >= 118:
                file.write(line.rstrip() + "\n")
                line = ""
            line += word + " "
        file.write(line.rstrip() + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
