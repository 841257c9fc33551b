"""What a remedy costs where there is little to cure: python benchmarks/do_no_harm.py --data FOLDER

FOLDER holds cifar-10-batches-bin (``reweigh data get cifar10 --root FOLDER``). Setting and choices are those of the
recipe ``cifar10-small``. Prints a table and which bars are reached; the exit code is 1 if one is missed. Finished runs
are kept (``--out``), so an interrupted call goes on where it was. For clean Fashion-MNIST see fashion_mnist.py.
"""

import sys
from pathlib import Path

from accuracy import Bar, arguments, check_bars, run, table

BIASES = ["clean", "symmetric-0.4", "asymmetric-0.4"]
METHODS = ["erm", "cmw-net", "cmw-net-sl"]
BARS = [Bar(bias, method, "erm", -0.5) for bias in BIASES for method in METHODS[1:]]


def main() -> int:
    """Run, and say what came out."""
    given = arguments(__doc__ or "", BIASES, METHODS)
    rows = run("cifar10-small", given, given.out or Path("runs", "do-no-harm-benchmark"), lambda bias: [])
    print(table(rows))
    return 1 if check_bars(rows, BARS) or any(row.last is None for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
