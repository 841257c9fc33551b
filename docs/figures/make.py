"""Pictures of the README: python docs/figures/make.py

Trains the demo, photographs its report and its review page in Chromium, and draws the learned curves. Needs the extras
test and review, and Chromium (Debian's, or what $CHROMIUM names).
"""

import io
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

from reweigh import load_weighting
from reweigh.report.figures import plot_weighting
from reweigh.review import Review, of_run

HERE = Path(__file__).parent
TO_THE_CARDS = 1340  # pixels from the top of the report to the end of its first cards
COLORS = 128  # of a picture: a third of the bytes, and nobody sees it


def keep(picture: bytes, name: str) -> None:
    """Write a picture with few colors."""
    with Image.open(io.BytesIO(picture)) as image:
        image.convert("RGB").quantize(COLORS).save(HERE / name, optimize=True)


def photograph(browser: Any, address: str, name: str, wait_for: str, height: int = 760) -> None:
    """The top of a page."""
    tab = browser.new_page(viewport={"width": 1180, "height": height}, color_scheme="light")
    tab.goto(address)
    tab.wait_for_selector(wait_for)
    tab.wait_for_load_state("networkidle")
    keep(tab.screenshot(), name)


def main() -> None:
    """Make all pictures."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        run = Path(folder, "digits")
        for words in (["train", "demo", "--out", run.name], ["report", run.name]):
            subprocess.run([sys.executable, "-m", "reweigh", *words], check=True, capture_output=True, cwd=folder)
        net, _ = load_weighting(run / "weighting.safetensors")
        figure = plot_weighting(net, labels=["small classes", "medium classes", "large classes"])
        with io.BytesIO() as file:
            figure.savefig(file, dpi=130, bbox_inches="tight", facecolor="white")
            keep(file.getvalue(), "curves.png")
        path = os.environ.get("CHROMIUM") or shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        photograph(browser, (run / "report.html").as_uri(), "report.png", ".gallery", TO_THE_CARDS)
        review = Review(of_run(run), "ann").start()
        photograph(browser, review.address, "review.png", ".tile img")
        review.stop()
        browser.close()


if __name__ == "__main__":
    main()
