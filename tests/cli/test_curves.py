"""The drawing shows each family's curve where it is, without colors too."""

from reweigh.cli.outcome import draw


def plot(curves, **size):
    """The rows of the plot between the axes, and the rest."""
    labels = [f"family {place}" for place in range(len(curves))]
    lines = draw(curves, labels, max_loss=6.0, **size).plain.splitlines()
    rows = [line[7:] for line in lines if line[6:7] in ("┤", "│")]
    return rows, lines


def test_a_falling_line_falls_and_a_constant_stays():
    rows, _ = plot([[1.0, 0.0], [0.5, 0.5]], height=5, width=5)
    assert rows == ["a    ", " a   ", "bbabb", "   a ", "    a"]


def test_the_rarest_family_is_on_top_where_curves_meet():
    rows, _ = plot([[0.3, 0.3], [0.3, 0.3]], height=11, width=4)
    assert rows[7] == "aaaa"
    assert all("b" not in row for row in rows)


def test_axes_and_legend_name_the_range_and_the_families():
    _, lines = plot([[0.2, 0.4], [0.1, 0.9]])
    assert lines[0] == "weight"
    assert lines[1].startswith(" 1.00 ┤")
    assert any(line.split() == ["0", "6", "loss"] for line in lines)
    assert [line.split() for line in lines[-2:]] == [["a", "family", "0"], ["b", "family", "1"]]


def test_weights_above_one_stretch_the_axis():
    rows, lines = plot([[2.0, 2.0]], height=3, width=3)
    assert rows[0] == "aaa"
    assert lines[1].startswith(" 2.00")


def test_between_points_a_curve_is_straight():
    rows, _ = plot([[0.0, 0.2, 1.0]], height=11, width=5)
    assert [next(row for row, cells in enumerate(rows) if cells[place] == "a") for place in range(5)] == [
        10,
        9,
        8,
        4,
        0,
    ]
