"""What options of pretrained features are worth: python benchmarks/feature_options.py --data FOLDER

CIFAR-10 images with 40 % of their labels drawn anew, EfficientNet-Lite0 and everything else default: frozen; with
``features.views=2``, which trains on photos and their mirror images; and with ``features.unfreeze=last-block``,
fine-tuned afterward. Prints accuracy on clean test images, average precision of the ranking of wrong labels, which
fine-tuning leaves as it is, and processor seconds, without any cache. ``--data`` holds cifar-10-batches-bin.
"""

import argparse
import sys
import time
import warnings
from pathlib import Path

import torch
from sklearn.metrics import average_precision_score

from cells import cifar
from reweigh import RobustClassifier
from reweigh.bias import BIASES

OPTIONS: dict[str, dict[str, object]] = {"frozen": {}, "views": {"views": 2}, "last-block": {"unfreeze": "last-block"}}


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", choices=OPTIONS)
    parser.add_argument("--images", type=int, default=2000)
    parser.add_argument("--test-images", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    folder = arguments.data / "cifar-10-batches-bin"
    images, true = cifar(folder / "data_batch_1.bin", arguments.images)
    test_images, test = cifar(folder / "test_batch.bin", arguments.test_images)
    given = BIASES["symmetric"](torch.from_numpy(true).long(), 10, arguments.seed, rate=0.4).labels.numpy()
    for name, options in OPTIONS.items():
        if arguments.only not in (None, name):
            continue
        begun = time.process_time()
        features = {"name": "efficientnet-lite0", "cache": False, **options}
        model = RobustClassifier(features=features, random_state=arguments.seed).fit(images, given)
        accuracy = 100 * float((model.predict(test_images) == test).mean())
        precision = float(average_precision_score(given != true, 1 - model.label_quality_))
        print(f"{name:10} {accuracy:.1f}, {precision:.3f} ({time.process_time() - begun:.0f} s)", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
