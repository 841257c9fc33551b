"""The picture of docs/probabilities.md: python docs/figures/probabilities.py"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from reweigh import RobustClassifier

BINS = 8
COLORS = {"estimated": "#00796b", "uniform": "#c2185b"}


def main() -> None:
    """Bins of equally many test samples: mean predicted probability of the rare class, and its share among them."""
    X, y = make_classification(24000, 8, n_informative=4, weights=[0.95], class_sep=0.8, random_state=0)
    X, X_test, y, y_test = train_test_split(X, y, test_size=7 / 8, stratify=y, random_state=0)
    classifier = RobustClassifier(random_state=0).fit(X, y)
    figure, axes = plt.subplots(figsize=(4.6, 4.2), layout="constrained")
    axes.plot([0, 1], [0, 1], color="gray", linewidth=1, linestyle=":")
    for shares, color in COLORS.items():
        chances = classifier.set_params(class_shares=shares).predict_proba(X_test)[:, 1]
        bins = np.digitize(chances, np.linspace(0, 1, BINS + 1)[1:-1])
        places = [bins == number for number in range(BINS) if (bins == number).any()]
        points = [(chances[place].mean(), y_test[place].mean()) for place in places]
        axes.plot(*zip(*points, strict=True), "o-", color=color, label=f'class_shares="{shares}"')
    axes.set(xlabel="predicted probability of the rare class", ylabel="share of it among these samples")
    axes.legend(frameon=False)
    figure.savefig(Path(__file__).with_name("probabilities.png"), dpi=120)


if __name__ == "__main__":
    main()
