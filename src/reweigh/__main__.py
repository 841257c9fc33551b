"""``python -m reweigh`` is the command ``reweigh``."""

from reweigh.cli import main

if __name__ == "__main__":
    main()
