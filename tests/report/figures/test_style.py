"""Colors can be told apart, also by people who see fewer of them, and stand out from the page."""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest

import reweigh.report
from reweigh.report.figures.style import DARK, LIGHT, shorten, thinned

CSS = (Path(reweigh.report.__path__[0]) / "page" / "page.css").read_text()
PAPER = dict(zip(("light", "dark"), re.findall(r"--paper: (#\w{6})", CSS), strict=True))
# Linear RGB as seen without one kind of cone: Machado, Oliveira and Fernandes 2009, severity 1.
SIGHT = {
    "full": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}


def linear(color):
    values = np.array([int(color[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    to_xyz = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]]
    xyz = np.array(to_xyz) @ rgb / [0.95047, 1, 1.08883]
    x, y, z = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def contrast(one, other):
    low, high = sorted(linear(color) @ [0.2126, 0.7152, 0.0722] for color in (one, other))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_families_and_wrong_labels_can_be_told_apart(palette, sight):
    chosen = [palette[role] for role in palette if role.startswith("family") or role == "wrong"]
    seen = [lab(np.clip(np.array(SIGHT[sight]) @ linear(color), 0, 1)) for color in chosen]
    assert min(np.linalg.norm(one - other) for one, other in itertools.combinations(seen, 2)) > 13


@pytest.mark.parametrize(("palette", "paper"), [(LIGHT, "light"), (DARK, "dark")], ids=["light", "dark"])
def test_contrast_with_the_page(palette, paper):
    for role, color in palette.items():
        least = 4.5 if role in ("ink", "muted", "accent", "wrong") else 3
        assert role == "line" or contrast(color, PAPER[paper]) >= least, role


def test_both_palettes_have_the_same_roles():
    assert LIGHT.keys() == DARK.keys()


def test_names_for_an_axis():
    assert shorten("a\n  b\t$c$") == r"a b \$c\$"
    assert len(shorten("x" * 100)) == 20
    places, names = thinned([str(n) for n in range(100)], 24)
    assert len(places) <= 24
    assert names == [str(place) for place in places]
