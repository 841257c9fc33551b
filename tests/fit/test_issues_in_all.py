"""Numbers in the sentence about wrong labels are those of the list: training samples and held-out ones together."""

import torch

from reweigh.fit.issues import in_all
from reweigh.issues import Finding, Samples

NAMES = ("cat", "dog", "owl")


def samples(wrong: int, right: int) -> Samples:
    """So many dogs given as cats, and cats that are."""
    given = torch.zeros(wrong + right, dtype=torch.int64)
    suggested = torch.cat([torch.ones(wrong), torch.zeros(right)]).long()
    return Samples(given, suggested, torch.ones(len(given)), suggested != given, torch.zeros(len(given)))


def test_pairs_count_all_labels() -> None:
    between = "mostly dog given as cat (40)"
    said = f"About 20% of the labels are wrong, {between}."
    finding = Finding([0.2], [0.1], [0.3], f"{said} And so on.", said, between)
    found = in_all(finding, samples(40, 160), samples(11, 39), NAMES)
    assert found is not None
    assert found.claim == "About 20% of the labels are wrong, mostly dog given as cat (51)."
    assert found.words == f"{found.claim} And so on."
    assert in_all(finding, samples(40, 160), None, NAMES) == finding
    assert in_all(None, samples(40, 160), samples(11, 39), NAMES) is None
