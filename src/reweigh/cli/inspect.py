"""``reweigh inspect``: look at a dataset before training on it."""

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated

import typer

from reweigh.cli.arguments import AnyData, Drop, Encoding, Group, JoinLabels, Label, Labels, Root, Sep, written
from reweigh.cli.printing import bars, echo, shape_words, show_columns
from reweigh.errors import DataError
from reweigh.names import listed, plural

if TYPE_CHECKING:
    from reweigh.data import Dataset
    from reweigh.data.findings import Findings
    from reweigh.recipes.own_data import Source

NUM_FAMILIES = 3  # the paper's K
MAX_EXAMPLES = 3  # of conflicting labels
LINE_CHARS = 78


def inspect(
    data: AnyData,
    label: Label = None,
    labels: Labels = None,
    drop: Drop = None,
    sep: Sep = None,
    encoding: Encoding = None,
    join_labels: JoinLabels = False,
    group: Group = None,
    root: Root = None,
    neighbors: Annotated[
        bool,
        typer.Option("--neighbors", help="Also look for near-duplicates and outliers; needs the extra pretrained."),
    ] = False,
) -> None:
    """Check training data before you train.

    Shows how columns are read, class sizes and families, conflicting and broken samples, columns that give the label
    away, and other likely problems. With --neighbors, also looks for photos that are nearly the same or belong to no
    class, by the features of a pretrained network.
    """
    from reweigh.data import inspect as look
    from reweigh.data.findings import image_traps
    from reweigh.data.labels.class_numbers import spellings
    from reweigh.plan.check import raise_all
    from reweigh.recipes.own_data import find

    source, mistakes = find(data, label, labels, root, written(sep, encoding, drop, join_labels, group))
    raise_all(mistakes, "reweigh inspect")
    try:
        dataset = source.read(usual_size(source))
    except DataError as error:
        if error.argument or not show_broken(source):
            raise
        echo("It cannot be used for training as it is:")
        for line in str(error).splitlines():
            mark = "" if line.startswith("  - ") else "- "
            echo(fill(line, LINE_CHARS, initial_indent=mark, subsequent_indent="    " if not mark else "  "))
        return
    found = look(dataset)
    show_findings(
        data, dataset, found, [*traps_in(source, dataset), *image_traps(dataset, found.traits), *beside(source)]
    )
    show_neighbors(source, dataset, neighbors)
    join = ["--join-labels"] if spellings(dataset) else []
    echo("Next, train and find labels that look wrong (reweigh fix DATA also corrects them):")
    echo(shlex.join(["reweigh", "train", *source.as_words(), *join]))


def show_neighbors(source: "Source", dataset: "Dataset", wanted: bool) -> None:
    """Print near-duplicates and outliers if they are wanted, otherwise how to get them."""
    from reweigh.fit.near import NEIGHBORS_HINT, neighbors_of
    from reweigh.plan.choose import Facts, wants_features

    if wanted:
        at_once = dataset if source.part is not None else source.read(usual_size(source, at_least=1), memory_gb=0.0)
        lines = neighbors_of(at_once)
    elif wants_features(Facts.of(dataset), {}):
        lines = [NEIGHBORS_HINT]
    else:
        return
    for line in lines:
        echo(fill(line, LINE_CHARS, subsequent_indent="    "))
    echo()


def usual_size(source: "Source", at_least: int = 2) -> int | None:
    """The side that photos would be resized to in training; None if they have fewer than ``at_least`` sizes."""
    from reweigh.plan.check import check_slot
    from reweigh.plan.plan import SECTIONS
    from reweigh.recipes.own_data import look_at_images

    if source.part is not None:
        return None
    parts, mistakes = check_slot(source.section(False, None), "data", SECTIONS["data"])
    found = None if mistakes else look_at_images(parts[0], Path.cwd(), {})
    return None if found is None or found.sizes < at_least else found.size


def show_broken(source: "Source") -> bool:
    """Print what is known about a table or a folder of images that cannot be trained on; False if nothing is."""
    from reweigh.data import inspect as look
    from reweigh.data.parts import class_folders, split_folder
    from reweigh.data.readers import image_list, reader_of
    from reweigh.data.tables.cells import MISSING, as_text
    from reweigh.data.tables.decide import decide

    path, label = source.files.path, source.files.label
    try:
        if source.part is None and source.files.is_table:
            frame = source.files.frame()
            readings = decide(frame.drop(columns=[label] if label in frame.columns else []))
            echo(f"{path}: {len(frame):,} rows, {len(frame.columns):,} columns\n")
            show_columns(readings)
            cells = as_text(frame[label]) if label in frame.columns else []
            for line in bars(Counter(text or MISSING for text in cells)):
                echo(line)
            echo()
        elif source.part is None and reader_of(path) is image_list.FOLDER:
            names = class_folders(split_folder(path, "train"), None)
            dataset = source.read(usual_size(source), class_names=names)
            show_findings(str(path), dataset, look(dataset), usable=False)
        else:
            return False
    except DataError:
        return False
    return True


def beside(source: "Source") -> list[str]:
    """A sentence each about the test part of a folder of images, and about files that are not images of a class."""
    from reweigh.data.parts import has_test_folder, image_paths, split_folder
    from reweigh.data.readers import image_list, reader_of

    path = source.files.path
    if source.part is not None or not path.is_dir() or reader_of(path) is not image_list.FOLDER:
        return []
    found = []
    if has_test_folder(path):
        count = sum(1 for _ in image_paths(split_folder(path, "test")))
        found.append(f"{plural(count, 'file')} in {split_folder(path, 'test')}: the test set, not counted above.")
    root = split_folder(path, "train")
    stray = [file.name for file in sorted(root.iterdir()) if file.is_file() and not file.name.startswith(".")]
    if stray:
        found.append(f"In no folder of a class, so not used: {listed(stray)}.")
    return found


def traps_in(source: "Source", dataset: "Dataset") -> list[str]:
    """Columns that give the label away, an order of rows, rows that look alike, spellings of a class, and more."""
    from reweigh.data import read
    from reweigh.data.findings import in_both, leaks, order
    from reweigh.data.labels.class_numbers import in_words, spellings
    from reweigh.data.readers import has_test_part
    from reweigh.fit.near import near_rows

    found = [*leaks(dataset), *order(dataset), *near_rows(dataset)]
    if groups := spellings(dataset):
        found.append(f"There are {in_words(groups)}.")
    if source.part is None and has_test_part(source.files.path):
        size = (dataset.shape[1], dataset.shape[2]) if dataset.is_images else None
        test = read(source.files.path, split="test", size=size, class_names=dataset.class_names)
        found += in_both(dataset, test)
    return found


def show_findings(
    data: str, dataset: "Dataset", findings: "Findings", traps: Sequence[str] = (), usable: bool = True
) -> None:
    if dataset.reading.encoding is not None:
        show_columns(dataset.reading.encoding.readings)
    samples, classes = plural(findings.num_samples, "sample"), plural(len(findings.class_names), "class", "classes")
    echo(f"{data}: {samples} of {shape_words(findings.shape)}, {classes}\n")
    for line in bars(dict(zip(findings.class_names, findings.class_sizes, strict=True))):
        echo(line)
    described = families(dataset) if usable else []
    if len(described) == 1:
        echo("\nClass sizes hardly differ: all classes would share one weighting curve.")
    elif described:
        echo("\nFamilies of classes that would share a weighting curve:")
        for words in described:
            echo(fill(words, LINE_CHARS, initial_indent="  ", subsequent_indent="    "))
    echo()
    copies = sum(len(group) - 1 for group in findings.duplicates)
    facts = {
        "imbalance factor": f"{findings.imbalance_factor:.3g}",
        "exact copies": str(copies or "none"),
        "conflicting labels": plural(len(findings.conflicting), "input") if findings.conflicting else "none",
        "unreadable files": str(len(findings.unreadable) or "none"),
        "constant inputs": str(len(findings.constant) or "none"),
    }
    if len(findings.shape) == 1:
        facts["constant features"] = str(len(findings.constant_features) or "none")
    facts["missing values"] = ", ".join(f"{count} in {name!r}" for name, count in findings.missing.items()) or "none"
    for name, value in facts.items():
        echo(fill(value, LINE_CHARS, initial_indent=f"{name:20}", subsequent_indent=" " * 20))
    for line in conflicts(findings):
        echo(fill(line, LINE_CHARS, initial_indent="  ", subsequent_indent="    "))
    echo()
    troubles = [*traps, *findings.trouble]
    if wrong := 0 if dataset.true_labels is None else int((dataset.labels != dataset.true_labels).sum()):
        share = wrong / len(dataset)
        troubles.append(f"{wrong} labels ({share:.1%}) differ from the true labels, which are also in the data.")
    if not troubles and usable:
        echo("Nothing looks wrong so far; wrong labels will show in training.")
    for sentence in troubles:
        echo(fill(sentence, LINE_CHARS, initial_indent="- ", subsequent_indent="  "))
    echo()


def families(dataset: "Dataset") -> list[str]:
    """A description of each family, the rarest first; a single one if sizes differ no more than by chance."""
    from reweigh.families import by_size, sizes_differ
    from reweigh.runs.words import describe_families

    most = NUM_FAMILIES if sizes_differ(dataset.class_sizes) else 1
    found = by_size(dataset.class_sizes, min(most, len(dataset.class_sizes.unique())))
    described = describe_families(
        found.num_families, found.of_class.tolist(), dataset.class_names, dataset.class_sizes.tolist()
    )
    return [family.words for family in described]


def conflicts(findings: "Findings") -> Iterator[str]:
    """The first few identical inputs with different labels, by name."""
    if findings.conflicting:
        yield "Identical inputs with different labels:"
    for group in findings.conflicting[:MAX_EXAMPLES]:
        yield "  " + ", ".join(f"{findings.called(row)} is {findings.class_names[label]!r}" for row, label in group)
    if len(findings.conflicting) > MAX_EXAMPLES:
        yield f"  and {len(findings.conflicting) - MAX_EXAMPLES} more"
