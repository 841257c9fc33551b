"""What RobustClassifier costs: python benchmarks/estimator.py [--quick] [--rounds 3] [--json PATH]

- time: fitting with CMW-Net, which learns in each tenth step, over the same estimator with plain training; 100,000 rows
  of 100 features in 10 classes, a fifth of the labels wrong. Ten epochs, one of them warm-up: the share that longer
  trainings have too. The median of rounds that take both in turn.
- memory: what the process holds at most during that fit beyond what it held before the array was made, in sizes of the
  array.
- sparse: the same peak for a matrix of 5,000,000 entries, over what it would take as a dense array.

Each is measured in a process of its own, after a fit on little data that loads all code. ``--quick`` takes a hundredth
of the rows and judges nothing. Otherwise the exit code is 1 if a limit is broken.
"""

import argparse
import json
import sys
import threading
import time
import tracemalloc
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from statistics import median
from typing import Any

import numpy as np

FEATURES, CLASSES, WRONG = 100, 10, 0.2
WORDS, WORDS_A_TEXT = 50_000, 50
LIMITS = {"time": 1.3, "memory": 1.5, "sparse": 0.1}


def table(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian clusters, two a class, made without a copy in double precision; and labels of which some are wrong."""
    rng = np.random.default_rng(0)
    X = np.empty((rows, FEATURES), dtype=np.float32)
    centers = rng.normal(size=(2 * CLASSES, FEATURES)).astype(np.float32)
    cluster = rng.integers(0, 2 * CLASSES, rows)
    for start in range(0, rows, 1000):
        part = slice(start, start + 1000)
        X[part] = rng.standard_normal((len(X[part]), FEATURES), dtype=np.float32) * 3 + centers[cluster[part]]
    y = cluster % CLASSES
    return X, np.where(rng.random(rows) < WRONG, rng.integers(0, CLASSES, rows), y)


def texts(rows: int) -> tuple[Any, np.ndarray]:
    """Word counts: some words belong to a class, the others are everyone's."""
    from scipy import sparse

    rng = np.random.default_rng(0)
    y = rng.integers(0, CLASSES, rows)
    words = rng.integers(0, WORDS, (rows, WORDS_A_TEXT), dtype=np.int32)
    words[:, :5] = y[:, None] * 100 + rng.integers(0, 100, (rows, 5), dtype=np.int32)
    pointers = np.arange(rows + 1, dtype=np.int32) * WORDS_A_TEXT
    return sparse.csr_array((np.ones(words.size, np.float32), words.ravel(), pointers), (rows, WORDS)), y


def fit(X: Any, y: np.ndarray, method: str = "cmw-net", epochs: int = 10) -> float:
    """Seconds of a fit."""
    from reweigh import RobustClassifier

    start = time.perf_counter()
    RobustClassifier(method, epochs=epochs, random_state=0, device="cpu", scoring="in-training").fit(X, y)
    return time.perf_counter() - start


def warm_up() -> None:
    """Load all code, so that the first measurement is like the others."""
    warnings.filterwarnings("ignore", category=DeprecationWarning)  # torch's, of its own compiler
    for method in ("erm", "cmw-net"):
        fit(*table(2000), method, epochs=2)


def time_ratio(rows: int, rounds: int) -> dict[str, Any]:
    """CMW-Net over plain training."""
    warm_up()
    X, y = table(rows)
    seconds = [(fit(X, y, "erm"), fit(X, y, "cmw-net")) for _ in range(rounds)]
    ratios = [cmw / plain for plain, cmw in seconds]
    return {"measured": median(ratios), "rounds": ratios, "seconds_erm": [plain for plain, _ in seconds]}


def memory_ratio(rows: int, rounds: int) -> dict[str, Any]:
    """Peak over the array, the array itself included."""
    warm_up()
    with Watch() as watch:
        X, y = table(rows)
        fit(X, y, epochs=2)
    tracemalloc.start()
    fit(X, y, epochs=1)
    _, numpy_peak = tracemalloc.get_traced_memory()
    return {
        "measured": watch.grown / X.nbytes,
        "array_mb": X.nbytes / 1e6,
        "beyond_the_array_by_numpy_and_python": numpy_peak / X.nbytes,
    }


def sparse_ratio(rows: int, rounds: int) -> dict[str, Any]:
    """Peak over the dense array that is never made."""
    warm_up()
    with Watch() as watch:
        X, y = texts(rows)
        seconds = fit(X, y, epochs=2)
    held = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    return {
        "measured": watch.grown / (4 * rows * WORDS),
        "entries": X.nnz,
        "matrix_mb": held / 1e6,
        "peak_mb": watch.grown / 1e6,
        "seconds": seconds,
    }


class Watch:
    """How much more memory of its own the process came to hold than at the start, in bytes.

    Files that are mapped into memory, such as torch itself, come and go as the system likes, and are not counted.
    """

    interval = 0.002

    def __enter__(self) -> "Watch":
        self.start = self.peak = held()
        self.done = threading.Event()
        self.thread = threading.Thread(target=self._look, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.done.set()
        self.thread.join()

    @property
    def grown(self) -> int:
        return self.peak - self.start

    def _look(self) -> None:
        while not self.done.wait(self.interval):
            self.peak = max(self.peak, held())


def held() -> int:
    """Bytes of its own that the process holds; where Linux does not tell, the most it ever held."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return getrusage(RUSAGE_SELF).ru_maxrss * 1024
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon:"))


MEASURES: dict[str, Callable[[int, int], dict[str, Any]]] = {
    "time": time_ratio,
    "memory": memory_ratio,
    "sparse": sparse_ratio,
}


def main() -> int:
    """Measure all, and say which keep to their limit."""
    parser = argparse.ArgumentParser(description="What RobustClassifier costs.")
    parser.add_argument("--quick", action="store_true", help="a hundredth of the rows, to see that it runs")
    parser.add_argument("--rounds", type=int, default=3, help="of the time")
    parser.add_argument("--json", type=Path, help="write the numbers there")
    chosen = parser.parse_args()
    rows, rounds = (1000, 1) if chosen.quick else (100_000, chosen.rounds)
    found = []
    for name, measure in MEASURES.items():
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            numbers = pool.submit(measure, rows, rounds).result()
        kept = numbers["measured"] <= LIMITS[name]
        found.append({"name": name, "rows": rows, "limit": LIMITS[name], **numbers})
        verdict = "too small to judge" if chosen.quick else "ok" if kept else "BROKEN"
        print(f"{name:8} {numbers['measured']:8.3f}   at most {LIMITS[name]:g}   {verdict}", flush=True)
    if chosen.json:
        chosen.json.write_text(json.dumps(found, indent=2) + "\n")
    return int(not chosen.quick and any(row["measured"] > row["limit"] for row in found))


if __name__ == "__main__":
    sys.exit(main())
