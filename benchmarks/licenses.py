"""The license of every installed package, as its metadata say; exit code 1 if one is copyleft or says nothing.

python benchmarks/licenses.py
"""

import sys
from importlib.metadata import Distribution, distributions
from typing import Any

COPYLEFT = ("GPL", "General Public License", "MPL", "Mozilla")


def license_of(package: Distribution) -> str:
    """Its license expression; otherwise its classifiers, or the first line of what it says."""
    about: Any = package.metadata
    names = [line.rpartition(" :: ")[2] for line in about.get_all("Classifier") or [] if line.startswith("License")]
    said = next((line for line in (about.get("License") or "").splitlines() if line.strip()), "")
    return (about.get("License-Expression") or ", ".join(names) or said)[:100]


def main() -> int:
    found = {package.name.lower(): license_of(package) for package in distributions()}
    for name, words in sorted(found.items()):
        print(f"{name:28} {words or 'nothing said'}")
    doubtful = [name for name, words in found.items() if not words or any(word in words for word in COPYLEFT)]
    print(f"{len(found)} packages; to look at: {', '.join(sorted(doubtful)) or 'none'}")
    return 1 if doubtful else 0


if __name__ == "__main__":
    sys.exit(main())
