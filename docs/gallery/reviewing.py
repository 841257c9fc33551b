"""# Review suspicious labels

Check the labels that training distrusts, then train again with your decisions. On the review page, people decide.
Here the true labels decide, so that we can see what decisions are worth.
"""

# %%
# The data are a table in which 25 % of the labels are random.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import make_classification

from reweigh import RobustClassifier

X, truth = make_classification(1600, 10, n_informative=6, n_classes=4, class_sep=1.0, flip_y=0, random_state=0)
rng = np.random.default_rng(0)
given = np.where(rng.random(1600) < 0.25, rng.integers(0, 4, 1600), truth)
train, test = slice(0, 600), slice(600, None)
classifier = RobustClassifier(epochs=10, random_state=0).fit(X[train], given[train])
print(f"{(given != truth)[train].sum()} labels are wrong; {classifier.finding_.words}")

# %%
# In a notebook, open `review.address` in the browser. Every decision is written to disk at once.
review = classifier.review(X[train], "decisions.jsonl", reviewer="ann")
session = review.session
left = [(0, *session.progress()["remaining"])]
for number, index in enumerate(session.wall({"order": "doubtful", "show": "all"})[0]["index"][:120], 1):
    state = session.decide(index, int(truth[index]))  # what a click does
    if number % 10 == 0:
        left.append((number, *state["remaining"]))
labels, checked = review.labels()
review.stop()
print(f"{checked.sum()} labels checked, {(labels != given[train]).sum()} of them changed")

# %%
# After every decision, the number of wrong labels left is estimated again. The band should contain the true number in
# nine of ten cases.
estimate = pd.DataFrame(left, columns=["decisions", "estimate", "low", "high"])
seen = session.wall({"order": "doubtful", "show": "all", "state": "any"})[0]["index"][:120]
wrong = (given != truth)[train]
actual = [wrong.sum() - wrong[seen[:count]].sum() for count in estimate.decisions]
figure, axis = plt.subplots(figsize=(6, 3.2))
axis.fill_between(estimate.decisions, estimate.low, estimate.high, alpha=0.2, linewidth=0, label="90 % limits")
axis.plot(estimate.decisions, estimate.estimate, label="estimated")
axis.plot(estimate.decisions, actual, "k--", label="actual")
axis.set(xlabel="decisions", ylabel="wrong labels left", ylim=(0, None))
axis.legend(frameon=False)

# %%
# Train again. Decided labels replace the given ones, and are trusted.
again = RobustClassifier(epochs=10, random_state=0)
again.fit(X[train], labels, X_trusted=X[train][checked], y_trusted=labels[checked])
for name, each in {"before": classifier, "after": again}.items():
    print(f"{name}: {each.score(X[test], truth[test]):.1%} of the test rows are right")
