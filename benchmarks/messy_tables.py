"""Wrong labels found in messy tables: read as they are, after cleaning by hand, and by cleanlab after cleaning.

    python benchmarks/messy_tables.py --seeds 3

Three tables are made, each once as people have them and once cleaned by hand (numbers as numbers, dates as days, one
spelling of each category and label, no id, no copy of a column). A share of the labels is wrong, and known to be.

    sales     semicolons, decimal commas, currency, thousands separators, dates with the day first, gaps as ? and N/A
    patients  thirty classes with a long tail, labels in several spellings, some missing, units, yes and no in words
    sorted    an integer id in a file sorted by label, percent signs, parentheses for negative numbers, near-copies

For each way: precision and recall of the labels that are flagged as wrong, over all rows that have a label.
"""

import argparse
import json
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

WRONG = 0.15


class Table(NamedTuple):
    """A table in two forms.

    Attributes:
        raw: Cells as people write them; None where nothing is written.
        separator: What stands between the cells in the file.
        clean: Features as numbers and categories, in the order of ``raw``.
        given: The given label of each row, in one spelling.
        true: The true label.
        label: Name of the column of labels.
    """

    raw: pd.DataFrame
    separator: str
    clean: pd.DataFrame
    given: np.ndarray
    true: np.ndarray
    label: str


def german(value: float) -> str:
    """1234.5 as 1.234,50."""
    return f"{value:,.2f}".replace(",", "_").replace(".", ",").replace("_", ".")


def some_gaps(draw: np.random.Generator, cells: list[str], gaps: list[str], share: float) -> list[str]:
    """The cells, a share of them replaced by ways to write that there is no value."""
    gone = draw.random(len(cells)) < share
    return [str(draw.choice(gaps)) if none else cell for cell, none in zip(cells, gone, strict=True)]


def without(clean: pd.Series, cells: list[str], gaps: list[str]) -> pd.Series:
    """The clean column, missing where the cell is a gap."""
    return clean.where([cell not in gaps for cell in cells])


def flip(draw: np.random.Generator, true: np.ndarray, classes: int) -> np.ndarray:
    """Labels, WRONG of which are one of the two classes beside the true one."""
    wrong = draw.random(len(true)) < WRONG
    return np.where(wrong, (true + draw.choice([1, classes - 1], len(true))) % classes, true)


def sales(draw: np.random.Generator) -> Table:
    """What customers buy; the file has semicolons and German numbers."""
    count, names = 1500, np.array(["basic", "plus", "gold"])
    true = draw.integers(0, 3, count)
    given = flip(draw, true, 3)
    amount = np.exp(draw.normal(8 + 0.8 * true, 0.45))
    height = draw.normal(160 + 9 * true, 6)
    days = (draw.normal(19000 + 260 * true, 140)).astype(int)
    city = np.where(draw.random(count) < 0.7, np.array(["Ulm", "Bonn", "Kiel"])[true], "Trier")
    visits = draw.poisson(3 + 5 * true)
    gaps = ["?", "N/A", "", "-"]
    amounts = some_gaps(draw, [f"{german(value)} €" for value in amount], gaps, 0.02)
    heights = some_gaps(draw, [f"{value:.1f}".replace(".", ",") for value in height], gaps, 0.01)
    dates = [f"{day:%d.%m.%Y}" for day in pd.to_datetime(days, unit="D")]
    visited = some_gaps(draw, [str(value) for value in visits], gaps, 0.02)
    cities = [draw.choice([name, name.upper(), name + " "]) for name in city]
    ids = draw.permutation(np.arange(100_000, 100_000 + count))
    raw = pd.DataFrame(
        {
            "Kunde": ids,
            "Umsatz": amounts,
            "Größe": heights,
            "seit": dates,
            "Besuche": visited,
            "Ort": cities,
            "Art": names[given],
        }
    )
    clean = pd.DataFrame(
        {
            "amount": without(pd.Series(amount), amounts, gaps),
            "height": without(pd.Series(height), heights, gaps),
            "since": days,
            "visits": without(pd.Series(visits.astype(float)), visited, gaps),
            "city": city,
        }
    )
    return Table(raw, ";", clean, names[given], names[true], "Art")


def patients(draw: np.random.Generator) -> Table:
    """Thirty diagnoses with a long tail, spelled in several ways; some labels are missing."""
    classes, count = 30, 4000
    share = 0.87 ** np.arange(classes)
    true = np.concatenate(
        [np.arange(classes).repeat(4), draw.choice(classes, count - 4 * classes, p=share / share.sum())]
    )
    given = flip(draw, true, classes)
    centers = draw.normal(0, 2.2, (classes, 6))
    found = centers[true] + draw.normal(0, 1.0, (count, 6))
    names = np.array([f"icd {letter}{number}" for letter in "abcde" for number in range(6)])
    smokes = draw.random(count) < 0.15 + 0.7 * (true % 2)
    yes, no = ["yes", "Yes", "Y", "TRUE"], ["no", "No", "N", "false"]
    gaps = ["unknown", "n/a", "", "null"]
    weight = some_gaps(draw, [f"{70 + 6 * value:.1f} kg" for value in found[:, 0]], gaps, 0.03)
    dose = [f"{2 + abs(value):.3f} mg" for value in found[:, 1]]
    spelled = [str(draw.choice([name, name, name.title(), name.upper() + " ", name + "."])) for name in names[given]]
    labels = [None if draw.random() < 0.03 else text for text in spelled]
    raw = pd.DataFrame(
        {
            "weight": weight,
            "dose": dose,
            "smoker": [str(draw.choice(yes if smoke else no)) for smoke in smokes],
            "temp": [f"{37 + 0.5 * value:.2f}°C" for value in found[:, 2]],
            "a": [f"{value:.4f}" for value in found[:, 3]],
            "b": [f"{value:.3e}" for value in found[:, 4]],
            "c": [f"{value:+.3f}" for value in found[:, 5]],
            "hospital": "St. Mary",
            "diagnosis": labels,
        }
    )
    clean = pd.DataFrame(
        {
            "weight": without(pd.Series(70 + 6 * found[:, 0]), weight, gaps),
            "dose": 2 + np.abs(found[:, 1]),
            "smoker": smokes.astype(float),
            "temp": 37 + 0.5 * found[:, 2],
            **{name: found[:, 3 + place] for place, name in enumerate("abc")},
        }
    )
    keep = [label is not None for label in labels]
    shown = names[given].astype(object)
    shown[~np.array(keep)] = None
    return Table(raw, ",", clean, shown, names[true], "diagnosis")


def sorted_rows(draw: np.random.Generator) -> Table:
    """A file sorted by its label, with an id that counts the rows."""
    count, classes = 2400, 5
    true = np.sort(draw.integers(0, classes, count))
    given = flip(draw, true, classes)
    order = np.argsort(given, kind="stable")
    true, given = true[order], given[order]
    centers = draw.normal(0, 1.6, (classes, 4))
    found = centers[true] + draw.normal(0, 1.0, (count, 4))
    names = np.array(["I", "II", "III", "IV", "V"])

    def accounting(value: float) -> str:
        return f"({-value:,.2f})" if value < 0 else f"{value:,.2f}"

    amount = 1000 * found[:, 0]
    when = pd.to_datetime(19500 + 30 * found[:, 3], unit="D")
    raw = pd.DataFrame(
        {
            "row_id": np.arange(1, count + 1),
            "balance": [f"${accounting(value)}" if value >= 0 else accounting(value) for value in amount],
            "rate": [f"{10 + 3 * value:.2f} %" for value in found[:, 1]],
            "share": [f"{0.1 + 0.03 * value:.6f}" for value in found[:, 1]],
            "speed": [f"{80 + 8 * value:.1f} km/h" for value in found[:, 2]],
            "seen": [f"{day:%m/%d/%Y %I:%M %p}" for day in when],
            "version": "2",
            "grade": names[given],
        }
    )
    clean = pd.DataFrame({"balance": amount, "rate": found[:, 1], "speed": found[:, 2], "seen": found[:, 3]})
    return Table(raw, "\t", clean, names[given], names[true], "grade")


TABLES: dict[str, Callable[[np.random.Generator], Table]] = {
    "sales": sales,
    "patients": patients,
    "sorted": sorted_rows,
}


def by_command_line(table: Table, folder: Path, seed: int, clean: bool) -> np.ndarray:
    """Which rows ``reweigh train`` and ``reweigh issues`` flag; the raw file, or the cleaned one."""
    from typer.testing import CliRunner

    from reweigh.cli.app import app

    frame = table.clean.assign(**{table.label: table.given}) if clean else table.raw
    frame = frame[frame[table.label].notna()] if clean else frame
    rows = np.flatnonzero(pd.notna(table.given)) if clean else np.arange(len(frame))
    path = folder / f"table-{clean}.csv"
    frame.to_csv(path, sep="," if clean else table.separator, index=False, encoding="utf-8" if clean else "cp1252")
    run, out = folder / f"run-{clean}", folder / f"issues-{clean}.csv"
    join = [] if clean else ["--join-labels"]
    words = ["train", "--data", str(path), "--label", table.label, *join, "--out", str(run), f"train.seed={seed}"]
    for command in (words, ["issues", str(run), "--out", str(out)]):
        result = CliRunner().invoke(app, command)
        if result.exit_code:
            raise SystemExit(f"{' '.join(command)}:\n{result.output}")
    flagged = np.zeros(len(table.raw), dtype=bool)
    flagged[rows[pd.read_csv(out)["row"].to_numpy(dtype=int)]] = True
    return flagged


def by_cleanlab(table: Table, folder: Path, seed: int) -> np.ndarray:
    """Which rows cleanlab flags by logistic regression on the cleaned table, five-fold, as its tutorial has it."""
    from cleanlab.filter import find_label_issues
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rows = np.flatnonzero(pd.notna(table.given))
    features = pd.get_dummies(table.clean).astype(float).iloc[rows]
    features = features.fillna(features.mean()).to_numpy()
    _, labels = np.unique(table.given[rows].astype(str), return_inverse=True)
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    predicted = np.asarray(cross_val_predict(model, features, labels, cv=folds, method="predict_proba"))
    flagged = np.zeros(len(table.raw), dtype=bool)
    flagged[rows] = find_label_issues(labels, predicted)
    return flagged


def scores(flagged: np.ndarray, table: Table) -> tuple[float, float]:
    """Precision and recall, in percent, of the flagged rows among those with a label."""
    labeled = pd.notna(table.given)
    wrong = labeled & (table.given != table.true)
    hits = (flagged & wrong).sum()
    return 100 * hits / max(flagged.sum(), 1), 100 * hits / wrong.sum()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    results: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for name in args.tables.split(","):
        found = results.setdefault(name, {"raw": [], "cleaned": [], "cleanlab, cleaned": []})
        for seed in range(args.seeds):
            table = TABLES[name](np.random.default_rng(seed))
            with tempfile.TemporaryDirectory() as folder:
                start = time.process_time()
                found["raw"].append(scores(by_command_line(table, Path(folder), seed, clean=False), table))
                found["cleaned"].append(scores(by_command_line(table, Path(folder), seed, clean=True), table))
                found["cleanlab, cleaned"].append(scores(by_cleanlab(table, Path(folder), seed), table))
                shown = {way: tuple(round(value, 1) for value in its[-1]) for way, its in found.items()}
                print(f"{name}, seed {seed}: {shown} ({time.process_time() - start:.0f} s)", flush=True)
    print(f"\n{'table':10} {'way':20} precision  recall   (mean of {args.seeds} seeds)")
    for name, found in results.items():
        for way, its in found.items():
            precision, recall = np.mean(its, axis=0)
            print(f"{name:10} {way:20} {precision:9.1f} {recall:7.1f}")
    if args.json:
        args.json.write_text(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
