"""What training on text costs: the fit with label issues, and a training step on sparse rows against dense ones.

    python benchmarks/text.py [--csv FILE --text COLUMN --label COLUMN] [--methods two-looks,erm] [--rounds 15]

Without a file: 4,700 synthetic texts of 12 words from a vocabulary of 6,300, five classes, a fifth of the labels wrong.
Process time of one thread. A round measures a step of each kind once; cleanlab on logistic regression is the peer, if
it is installed. Memory is the peak of the process above what it held before the fit.
"""

import argparse
import random
import time
from collections.abc import Callable
from resource import RUSAGE_SELF, getrusage
from statistics import median
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer, TfidfVectorizer

from reweigh import RobustClassifier
from reweigh.data.sparse import SparseRows
from reweigh.models import MODELS
from reweigh.training import OPTIMIZERS

ROWS, WORDS, CLASSES = 4700, 6300, 5


def synthetic() -> tuple[Any, np.ndarray]:
    """TF-IDF rows and given labels: half of the words of a text belong to its topic, a fifth of the labels is wrong."""
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(WORDS, 0.02), CLASSES).cumsum(1)
    common = rng.dirichlet(np.full(WORDS, 0.1)).cumsum()
    labels = rng.integers(CLASSES, size=ROWS)
    words = [
        np.searchsorted(common if rng.random() < 0.5 else topics[label], rng.random() * 0.999999)
        for label in labels
        for _ in range(12)
    ]
    counts = sparse.csr_matrix((np.ones(12 * ROWS), (np.repeat(np.arange(ROWS), 12), words)), (ROWS, WORDS))
    wrong = rng.random(ROWS) < 0.2
    given = np.where(wrong, rng.integers(CLASSES, size=ROWS), labels)
    return TfidfTransformer().fit_transform(counts).astype(np.float32), given


def from_file(path: str, text: str, label: str) -> tuple[Any, np.ndarray]:
    import pandas as pd

    table = pd.read_csv(path)
    words = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True)
    rows: Any = words.fit_transform(table[text].map(str))
    return rows.astype(np.float32), table[label].to_numpy()


def fit(method: str, rows: Any, labels: np.ndarray) -> str:
    RobustClassifier(method, random_state=0, epochs=4).fit(rows[:300], labels[:300])  # imports what a fit imports
    before, start = getrusage(RUSAGE_SELF).ru_maxrss, time.process_time()
    issues = RobustClassifier(method, random_state=0).fit(rows, labels).label_issues_
    seconds, grown = time.process_time() - start, (getrusage(RUSAGE_SELF).ru_maxrss - before) / 2**10
    dense = rows.shape[0] * rows.shape[1] * 4 / 2**20
    return f"{method}: {seconds:.1f} s, {len(issues)} issues, {grown:.0f} MB more (a dense copy: {dense:.0f} MB)"


def peer(rows: Any, labels: np.ndarray) -> str:
    try:
        from cleanlab.filter import find_label_issues
    except Exception as error:
        return f"cleanlab is left out: {type(error).__name__}: {error}"
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict

    start = time.process_time()
    numbers = np.unique(labels, return_inverse=True)[1]
    probabilities = cross_val_predict(LogisticRegression(max_iter=1000), rows, numbers, method="predict_proba")
    issues = find_label_issues(numbers, np.asarray(probabilities), n_jobs=1)
    return f"cleanlab, logistic regression: {time.process_time() - start:.1f} s, {int(issues.sum())} issues"


def step_on(rows: Any, is_sparse: bool) -> Callable[[], None]:
    """One training step of a perceptron on a mixed batch, as methods take it."""
    torch.manual_seed(0)
    inputs, labels = SparseRows(rows), torch.randint(CLASSES, (rows.shape[0],))
    model = MODELS["mlp"]((rows.shape[1],), CLASSES, hidden=(128, 128), sparse=is_sparse)
    optimizer = OPTIMIZERS["adamw"](model.parameters())

    def step() -> None:
        index, partner = torch.randint(len(inputs), (128,)), torch.randperm(128)
        batch = inputs[index] if is_sparse else inputs[index].dense()
        loss = F.cross_entropy(model(0.7 * batch + 0.3 * batch[partner]), labels[index])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def steps(rows: Any, rounds: int) -> str:
    """Median process time of a step on sparse rows, and of the same on dense ones."""
    both = {True: step_on(rows, True), False: step_on(rows, False)}
    times: dict[bool, list[float]] = {True: [], False: []}
    for number in range(rounds + 1):
        for kind in random.Random(number).sample([True, False], 2):
            start = time.process_time()
            both[kind]()
            times[kind].append(time.process_time() - start)
    quick, slow = (median(times[kind][1:]) for kind in (True, False))
    return f"a step, sparse: {1000 * quick:.1f} ms; dense: {1000 * slow:.1f} ms; ratio {slow / quick:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--csv", metavar="FILE")
    parser.add_argument("--text", default="text", metavar="COLUMN")
    parser.add_argument("--label", default="given", metavar="COLUMN")
    parser.add_argument("--methods", default="two-looks,erm", help="default: %(default)s; empty: none")
    parser.add_argument("--rounds", type=int, default=15, help="default: %(default)s")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows, labels = from_file(options.csv, options.text, options.label) if options.csv else synthetic()
    print(f"{rows.shape[0]} rows, {rows.shape[1]} words, {rows.nnz / rows.shape[0]:.0f} in a row")
    for method in filter(None, options.methods.split(",")):
        print(fit(method, rows, labels), flush=True)
    print(peer(rows, labels), flush=True)
    print(steps(rows, options.rounds))


if __name__ == "__main__":
    main()
