"""Labels that leave nothing to find or too little to go by: from training to the audit, on the command line."""

import numpy as np
import pytest

from reweigh.fit.decisions import Decision, Decisions

DRAW = np.random.default_rng(0)
TRUE = np.arange(80) % 2
ROWS = DRAW.normal(size=(80, 3)) * 0.3 + 6 * TRUE[:, None]
NAMES = np.array(["cat", "dog", "owl"])
FEW = ROWS[:6] * 0.1 - 6  # a class of six samples


def write(path, rows, labels, who=None):
    """A table with the class in column kind and, if wanted, the group of each row in column who."""
    lines = ["a,b,c,kind" + ("" if who is None else ",who")]
    for index, (row, label) in enumerate(zip(rows, labels, strict=True)):
        cells = [*(f"{value:.5f}" for value in row), label, *([] if who is None else [who[index]])]
        lines.append(",".join(cells))
    path.write_text("\n".join(lines) + "\n")
    return path


def trained(run, path, *more):
    result = run("train", "--data", path, "--label", "kind", "--out", path.parent / "run", "train.epochs=6", *more)
    assert result.exit_code == 0, result.output
    return path.parent / "run"


def said(result):
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())


def test_nothing_is_flagged_and_a_class_has_six_samples(run, tmp_path):
    labels = NAMES[np.r_[TRUE, np.full(6, 2)]]
    folder = trained(run, write(tmp_path / "right.csv", np.r_[ROWS, FEW], labels))
    listed = said(run("issues", folder))
    assert "0 of 86 labels (0.0%) look wrong" in listed
    assert "Hardly any labels look wrong" in listed
    assert "No label changes." in said(run("issues", folder, "--apply", tmp_path / "copy.csv"))
    assert (tmp_path / "copy.csv").read_text() == (tmp_path / "right.csv").read_text()
    assert "0 of 86 labels look wrong" in said(run("report", folder))
    assert "Nothing was decided yet" in said(run("audit", folder, "--n", 0))
    whole_audit(run, folder, labels)


def whole_audit(run, folder, labels):
    """Interrupted after five labels, of more labels than there are, by two people of whom one disagrees."""
    decisions = Decisions(folder / "decisions.jsonl")
    from reweigh.runs.audit import RunAudit
    from reweigh.runs.read import with_verdicts

    samples, _ = with_verdicts(folder)
    rows = samples.row[RunAudit(samples, decisions).queue].tolist()
    made = [Decision(row, str(labels[row]), str(labels[row]), "ann", audit=True) for row in rows]
    decisions.add(*made[:5])
    assert "by 5 decisions about labels drawn at random" in said(run("audit", folder, "--n", 0))
    decisions.add(*made[5:])
    done = said(run("audit", folder, "--n", 10**6, "--as", "ann"))  # all are decided about, so nothing is served
    assert "There are only 86 labels to draw." in done
    assert "Audited: 0% (0% to 0%) of the 86 labels are wrong" in done
    assert "owl" not in done  # six labels are too few for a share of their own
    decisions.add(made[0]._replace(label="owl", by="ben"))
    assert "On 1 more, nobody is sure or people disagree" in said(run("audit", folder, "--n", 0))
    listed = said(run("issues", folder))
    assert "Audited: 0%" in listed


def test_a_run_that_judged_no_labels_cannot_be_audited(run, tmp_path):
    folder = trained(run, write(tmp_path / "right.csv", ROWS, NAMES[TRUE]), "method.name=erm", "train.looks=0")
    for command in ("audit", "issues", "review"):
        result = run(command, folder)
        assert result.exit_code != 0
        assert "holds no suggested labels; train again to get them" in str(result.exception) + result.output


def test_every_row_is_there_twice_with_any_label(run, tmp_path):
    labels = NAMES[DRAW.integers(0, 2, 80)]
    folder = trained(run, write(tmp_path / "twice.csv", np.repeat(ROWS[:40], 2, 0), labels))
    listed = said(run("issues", folder))
    pairs = int((labels[::2] != labels[1::2]).sum())
    assert pairs > 10
    assert "contradict most labels of samples with equal inputs" in listed
    assert "one label per sample cannot tell more" in listed


@pytest.mark.parametrize("who", [[f"p{row}" for row in range(80)], ["p"] * 80])
def test_groups_of_one_and_one_group(run, tmp_path, who):
    path = write(tmp_path / "groups.csv", ROWS, NAMES[TRUE], who)
    if len(set(who)) > 1:
        folder = trained(run, path, "--group", "who")
        assert "0 of 80 labels (0.0%) look wrong" in said(run("issues", folder))
    else:
        result = run("train", "--data", path, "--label", "kind", "--group", "who", "--out", tmp_path / "run")
        assert result.exit_code != 0
        assert "column 'who' has one value, so all rows are in one group" in str(result.exception) + result.output
