"""``reweigh inspect``: what is in a dataset, before anyone trains on it."""

from collections.abc import Iterator
from textwrap import fill
from typing import TYPE_CHECKING

from reweigh.cli.arguments import AnyData, Label, Labels, Root
from reweigh.cli.printing import bars, echo

if TYPE_CHECKING:
    from reweigh.data import Dataset
    from reweigh.data.findings import Findings

FAMILIES = 3  # the paper's K
EXAMPLES = 3  # of conflicting labels
WIDTH = 78


def inspect(data: AnyData, label: Label = None, labels: Labels = None, root: Root = None) -> None:
    """Look at training data before training.

    Shows class sizes and families, contradicting and broken samples, and what is likely to go wrong.
    """
    from reweigh.cli.source import find
    from reweigh.data import inspect as look
    from reweigh.plan.mistakes import raise_all

    source, mistakes = find(data, label, labels, root)
    raise_all(mistakes, "reweigh inspect")
    dataset = source.read()
    findings = look(dataset)
    show_findings(data, dataset, findings)
    echo("Next, train with and without weights (reweigh issues RUN lists doubtful labels):")
    echo(f"reweigh compare demo {source.as_changes()} 'data.bias=[]' --methods erm,cmw-net --seeds 1")


def show_findings(data: str, dataset: "Dataset", findings: "Findings") -> None:
    """Print what was found."""
    shape = " x ".join(map(str, findings.shape))
    echo(f"{data}: {findings.num_samples} samples of {shape}, {len(findings.class_names)} classes\n")
    for line in bars(dict(zip(findings.class_names, findings.class_sizes, strict=True))):
        echo(line)
    echo("\nFamilies of classes that would share a weighting curve:")
    for words in families(dataset):
        echo(fill(words, WIDTH, initial_indent="  ", subsequent_indent="    "))
    echo()
    for name, value in facts(findings).items():
        echo(fill(value, WIDTH, initial_indent=f"{name:20}", subsequent_indent=" " * 20))
    for line in conflicts(findings):
        echo(fill(line, WIDTH, initial_indent="  ", subsequent_indent="    "))
    echo()
    troubles = [*findings.trouble, *known_mistakes(dataset)]
    if not troubles:
        echo("Nothing looks wrong so far; wrong labels will show in training.")
    for sentence in troubles:
        echo(fill(sentence, WIDTH, initial_indent="- ", subsequent_indent="  "))
    echo()


def families(dataset: "Dataset") -> list[str]:
    """A description of each family, the rarest first."""
    from reweigh.families import by_size
    from reweigh.report.families import describe

    found = by_size(dataset.class_sizes, min(FAMILIES, len(dataset.class_sizes.unique())))
    described = describe(found.num_families, found.of_class.tolist(), dataset.class_names, dataset.class_sizes.tolist())
    return [family.words for family in described]


def facts(findings: "Findings") -> dict[str, str]:
    """What was looked for, and how much of it there is."""
    from reweigh.report.words import several

    copies = sum(len(group) - 1 for group in findings.duplicates)
    missing = ", ".join(f"{count} in {name!r}" for name, count in findings.missing.items())
    found = {
        "imbalance factor": f"{findings.imbalance_factor:.3g}",
        "exact copies": str(copies or "none"),
        "conflicting labels": several(len(findings.conflicting), "input") if findings.conflicting else "none",
        "unreadable files": str(len(findings.unreadable) or "none"),
        "constant inputs": str(len(findings.constant) or "none"),
        "constant features": str(len(findings.constant_features) or "none"),
        "missing values": missing or "none",
    }
    if len(findings.shape) != 1:
        del found["constant features"]
    return found


def known_mistakes(dataset: "Dataset") -> Iterator[str]:
    """How many labels are wrong, where the true ones are known."""
    wrong = 0 if dataset.true_labels is None else int((dataset.labels != dataset.true_labels).sum())
    if wrong:
        yield f"{wrong} labels ({wrong / len(dataset):.1%}) differ from the true labels, which are also in the data."


def conflicts(findings: "Findings") -> Iterator[str]:
    """The first few identical inputs with different labels, by name."""
    if findings.conflicting:
        yield "Identical inputs with different labels:"
    for group in findings.conflicting[:EXAMPLES]:
        yield "  " + ", ".join(f"{findings.called(row)} is {findings.class_names[label]!r}" for row, label in group)
    if len(findings.conflicting) > EXAMPLES:
        yield f"  and {len(findings.conflicting) - EXAMPLES} more"
