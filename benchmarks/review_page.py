"""How quick the review page is: python benchmarks/review_page.py RUN (needs chromium and the extra test)

Opens the page of a run in a browser and prints the seconds until the first wall, of an action about 50 samples and its
undo, and of scrolling past 2,000 tiles; then how many decisions a minute simulated keys and clicks make in the grid and
on cards, where every tenth suggestion is rejected. Decisions are written under a name of their own, and removed.
"""

import argparse
import re
import shutil
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from reweigh.review import Review, of_run

REVIEWER, ROUNDS, SELECTED_SAMPLES, TILES = "benchmark", 10, 50, 2000


def seconds(work: Callable[[], object]) -> float:
    """Time of a call."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def act(tab: Page, key: str) -> None:
    """Press a key that decides, or takes back, and wait until the page is done."""
    before = tab.locator("#done").inner_text()
    tab.keyboard.press(key)
    tab.wait_for_function("before => !busy && document.querySelector('#done').innerText !== before", arg=before)


def count_of(tab: Page) -> int:
    """How many samples are decided, as the page says."""
    return int(re.findall(r"[\d,]+", tab.locator("#done").inner_text())[-1].replace(",", ""))


def select(tab: Page, count: int) -> None:
    """Select the first tiles of the wall."""
    tab.evaluate("count => { wall.clear(); wall.pick(wall.order.slice(0, count)); }", count)


def scroll(tab: Page) -> float:
    """Scroll past ``TILES`` tiles, a screen at a time; the longest time of two frames in seconds."""
    return tab.evaluate(
        """async tiles => {
            let longest = 0;
            const root = document.querySelector("#main");
            const end = wall.boxOf(wall.order[Math.min(tiles, wall.order.length) - 1]).top;
            while (root.scrollTop < end) {
                const began = performance.now();
                root.scrollTop += root.clientHeight;
                await new Promise(requestAnimationFrame);
                await new Promise(requestAnimationFrame);
                longest = Math.max(longest, performance.now() - began);
            }
            return longest / 1000;
        }""",
        TILES,
    )


def grid_minute(tab: Page) -> tuple[float, float]:
    """Decisions a minute in the grid, and inputs per decision: select 20 tiles, take two out again, accept."""
    inputs, before, began = 0, count_of(tab), time.perf_counter()
    for _ in range(ROUNDS):
        tiles = tab.locator(".tile")
        tiles.first.click()
        tiles.nth(19).click(modifiers=["Shift"])
        for place in range(9, 20, 10):
            tiles.nth(place).click()
        act(tab, "a")
        inputs += 5
    count = count_of(tab) - before
    return 60 * count / (time.perf_counter() - began), inputs / count


def card_minute(tab: Page) -> tuple[float, float]:
    """The same on cards: one key per sample."""
    tab.keyboard.press("c")
    tab.wait_for_selector(".labels")
    began = time.perf_counter()
    for number in range(5 * ROUNDS):
        act(tab, "k" if number % 10 == 9 else "a")
    return 60 * 5 * ROUNDS / (time.perf_counter() - began), 1.0


def measure(run: Path) -> None:
    """All of it."""
    cpu = time.process_time()
    review = Review(of_run(run), REVIEWER).start()
    print(f"reading {len(review.session.subject.samples):,} samples: {time.process_time() - cpu:.1f} processor seconds")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 1280, "height": 800})
        tab.set_default_timeout(120_000)

        def first_wall() -> None:
            tab.goto(review.address)
            tab.wait_for_selector(".tile > *")

        cpu = time.process_time()
        print(
            f"first wall: {seconds(first_wall):.2f} s ({time.process_time() - cpu:.2f} processor seconds of the server)"
        )
        print(f"again: {seconds(first_wall):.2f} s")
        accepts, undos = [], []
        for _ in range(ROUNDS):
            select(tab, SELECTED_SAMPLES)
            accepts.append(seconds(lambda: act(tab, "a")))
            undos.append(seconds(lambda: act(tab, "z")))
        for name, times in (("accept", accepts), ("undo", undos)):
            print(f"{name} {SELECTED_SAMPLES}: median {statistics.median(times):.3f} s, longest {max(times):.3f} s")
        print(f"scrolling {TILES:,} tiles: two frames in {scroll(tab):.3f} s at most")
        tab.evaluate("document.querySelector('#main').scrollTop = 0")
        for name, work in (("grid", grid_minute), ("cards", card_minute)):
            rate, inputs = work(tab)
            print(f"{name}: {rate:,.0f} decisions a minute, {inputs:.2f} keys or clicks per decision")
        browser.close()
    review.stop()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="Folder of a run.")
    folder = parser.parse_args().run
    file = folder / "decisions.jsonl"
    kept = file.read_bytes() if file.exists() else None
    try:
        measure(folder)
    finally:
        file.unlink(missing_ok=True) if kept is None else file.write_bytes(kept)
