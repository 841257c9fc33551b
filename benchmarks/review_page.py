"""How long a reviewer of many samples waits: python benchmarks/review_page.py --samples 50000

Trains one epoch on a made table or on made images, starts ``reweigh review``, opens its page in Chromium and decides by
keyboard. Prints the seconds until the first card, from opening the address, and from each key to the next card; and the
processor seconds of the server, which other work on the machine does not change. Needs the extras review and test.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

CLASSES, COLUMNS, SIDE = 30, 20, 28


def made(kind: str, samples: int, folder: Path) -> list[str]:
    """Write samples around thirty centers, a fifth of the labels wrong; returns what to add to ``reweigh train``."""
    draw = np.random.default_rng(0)
    labels = draw.integers(0, CLASSES, samples)
    given = np.where(draw.random(samples) < 0.2, draw.integers(0, CLASSES, samples), labels)
    if kind == "images":
        centers = draw.integers(0, 200, (CLASSES, SIDE, SIDE))
        pixels = (centers[labels] + draw.integers(0, 56, (samples, SIDE, SIDE))).astype(np.uint8)
        np.savez(folder / "data.npz", X=pixels[:, None], y=given)
        return ["--data", str(folder / "data.npz")]
    import pandas as pd

    rows = draw.normal(0, 2, (CLASSES, COLUMNS))[labels] + draw.normal(size=(samples, COLUMNS))
    frame = pd.DataFrame(rows.round(3)).add_prefix("c").assign(kind=[f"class {number}" for number in given])
    frame.to_csv(folder / "data.csv", index=False)
    return ["--data", str(folder / "data.csv"), "--label", "kind"]


def spent(process: int) -> float:
    """Processor seconds of a process so far (Linux)."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=50_000)
    parser.add_argument("--kind", choices=("table", "images"), default="table")
    parser.add_argument("--decisions", type=int, default=30)
    parser.add_argument("--run", type=Path, help="Review this run instead.")
    args = parser.parse_args()
    reweigh = [sys.executable, "-m", "reweigh"]
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        run = args.run or Path(name, "run")
        if args.run is None:
            words = ["method.name=erm", "train.epochs=1", "features.name=none", "--out", str(run)]
            subprocess.run([*reweigh, "train", *made(args.kind, args.samples, Path(name)), *words], check=True)
        began = time.perf_counter()
        server = subprocess.Popen([*reweigh, "review", str(run)], stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        lines = iter(server.stdout.readline, "")
        address = next(found[1] for line in lines if (found := re.search(r"Open (\S+)", line)))
        start, used = time.perf_counter() - began, spent(server.pid)
        path = os.environ.get("CHROMIUM") or shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        tab = browser.new_page()
        began = time.perf_counter()
        tab.goto(address)
        tab.wait_for_selector(".labels")
        first, used_first = time.perf_counter() - began, spent(server.pid) - used
        waits, before = [], spent(server.pid)
        for number in range(args.decisions):
            shown = tab.locator(".called").inner_text()
            began = time.perf_counter()
            tab.keyboard.press("ak"[number % 2])
            tab.wait_for_function("text => document.querySelector('.called')?.textContent !== text", arg=shown)
            waits.append(time.perf_counter() - began)
        each = (spent(server.pid) - before) / args.decisions
        server.terminate()
        browser.close()
    print(f"{args.samples:,} samples ({args.kind}); processor seconds of the server in parentheses")
    print(f"server ready after {start:.1f} s ({used:.1f}), first card {first:.2f} s ({used_first:.2f}) later;")
    print(f"next card: median {np.median(waits):.3f} s, longest {max(waits):.3f} s ({each:.3f} each)")


if __name__ == "__main__":
    main()
