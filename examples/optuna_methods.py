"""Optuna over methods and learning rates: python examples/optuna_methods.py

The score of a trial is balanced accuracy on held-out labels. Some of these are wrong too, which lowers every score,
but a method that memorizes wrong labels does not predict other wrong labels better.
"""

import numpy as np
import optuna
from sklearn.datasets import load_wine
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import train_test_split

from reweigh import RobustClassifier


def main(trials: int = 8) -> optuna.Study:
    rng = np.random.default_rng(0)
    X, truth = load_wine(return_X_y=True)
    given = np.where(rng.random(len(truth)) < 0.25, rng.permutation(truth), truth)
    X_train, X_held, y_train, y_held = train_test_split(X, given, test_size=0.3, stratify=given, random_state=0)

    def score(trial: optuna.Trial) -> float:
        method = trial.suggest_categorical("method", ["erm", "gce", "elr", "cmw-net"])
        lr = trial.suggest_float("lr", 1e-4, 3e-2, log=True)
        classifier = RobustClassifier(method, lr=lr, epochs=10, random_state=0).fit(X_train, y_train)
        return balanced_accuracy_score(y_held, classifier.predict(X_held))

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0))
    study.optimize(score, n_trials=trials)
    return study


if __name__ == "__main__":
    found = main()
    print(f"best of {len(found.trials)} trials: {found.best_params}, {found.best_value:.3f} on held-out labels")
