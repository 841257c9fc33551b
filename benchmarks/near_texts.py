"""Planted near-duplicates and foreign lines among text: python benchmarks/near_texts.py --noise FOLDER

Three sets: Hausa headlines (``--noise`` holds hausa-news-train.csv), first sentences of English docstrings, and English
prose, sentences of the Python reference, on which no threshold was chosen. 90 more lines are copies: with doubled
spaces; with other punctuation or in capitals; with one word replaced. 2 % more are foreign: English among Hausa, Hausa
among English. Precision and recall of ``features.neighbors`` beside cleanlab's Datalab (extra ``bench``), on the mean
token vectors of wordllama (extra ``wordllama``), which stand for an encoder of text. Lines that are nearly the same by
themselves, of which documentation is full, count as mistakes of both.
"""

import argparse
import logging
import re
import sys
from pathlib import Path
from pydoc_data.topics import topics

import numpy as np
import pandas as pd
import torch

from neighbors import compare
from reweigh.data.tables.vectors import mean_vectors
from reweigh.features.neighbors import TEXT
from words import english

COPIES, FOREIGN = 90, 0.02


def prose() -> list[str]:
    """Sentences of the Python reference, each once."""
    found: dict[str, None] = {}
    for name in sorted(topics):
        for paragraph in re.split(r"\n\s*\n", topics[name]):
            for sentence in re.split(r"(?<=[.:!?]) (?=[A-Z])", " ".join(paragraph.split())):
                if 30 < len(sentence) < 200 and sentence.count(" ") > 4 and sentence[0].isupper():
                    found[sentence] = None
    return list(found)


def copied(text: str, number: int, word: str, place: int) -> str:
    """A near-duplicate of a text."""
    if number % 3 == 0:
        return "  ".join(text.split()) + " "
    if number % 3 == 1:
        return text.rstrip(".").replace(",", "") + "!" if number % 2 else text.upper()
    words = text.split()
    words[place % len(words)] = word
    return " ".join(words)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--noise", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=2)
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    hausa = pd.read_csv(arguments.noise / "hausa-news-train.csv")["text"].drop_duplicates().tolist()
    docstrings = english()[0]["text"].tolist()
    sets = {"headlines": (hausa, docstrings), "docstrings": (docstrings, hausa), "prose": (prose(), hausa)}
    for name, (own, other) in sets.items():
        rng = np.random.default_rng(arguments.seed)
        words = " ".join(own).split()
        originals = rng.permutation(len(own))[:COPIES]
        copies = [
            copied(own[place], number, words[rng.integers(len(words))], int(rng.integers(1000)))
            for number, place in enumerate(originals)
        ]
        foreign = [other[place] for place in rng.permutation(len(other))[: round(FOREIGN * len(own))]]
        rows = torch.from_numpy(np.nan_to_num(mean_vectors([*own, *copies, *foreign]))).float()
        pairs = {frozenset((len(own) + number, int(place))) for number, place in enumerate(originals)}
        print(f"{name}: {len(own)} lines, {COPIES} copies, {len(foreign)} foreign")
        compare(rows, pairs, {*range(len(own) + COPIES, len(rows))}, np.arange(len(rows)) % 2, TEXT)
    return 0


if __name__ == "__main__":
    sys.exit(main())
