"""The command ``reweigh``, of which the second process kills itself once: when the first epoch is done.

torchrun ... dying.py train RECIPE ... --out FOLDER
"""

import os
import signal
import sys
import threading
import time
from pathlib import Path

from reweigh.cli import main


def die(after: Path) -> None:
    """Whoever kills from outside may come too late on a busy machine."""
    while not after.exists():
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    if os.environ["RANK"] == "1" and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
        threading.Thread(target=die, args=(Path(sys.argv[-1]) / "metrics.jsonl",), daemon=True).start()
    main()
