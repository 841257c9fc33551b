"""# A rare class in a table

One class has far fewer rows than the others, and some labels are wrong. Plain training all but ignores the rare class;
`two-looks`, the default for tables, does not.
"""

# %%
# The table has three kinds of customers. The kind that matters most is 3 % of the rows. One label in ten is drawn at
# random.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import make_classification
from sklearn.metrics import recall_score

from reweigh import RobustClassifier

names = np.array(["leaves", "stays", "unsure"])
X, kind = make_classification(
    3000, 12, n_informative=8, n_classes=3, weights=[0.03, 0.57, 0.4], flip_y=0, class_sep=1.2, random_state=1
)
table = pd.DataFrame(X, columns=[f"feature {number}" for number in range(12)])
rng = np.random.default_rng(0)
noisy = np.where(rng.random(3000) < 0.1, rng.integers(0, 3, 3000), kind)
train, test = slice(0, 1000), slice(1000, None)
print(pd.Series(names[noisy[train]]).value_counts())

# %%
# Train both methods on the same labels, and test them on right labels.
recall = {}
for method in ("erm", "two-looks"):
    classifier = RobustClassifier(method, epochs=10, random_state=0).fit(table[train], names[noisy[train]])
    predicted = classifier.predict(table[test])
    recall[method] = recall_score(names[kind[test]], predicted, average=None, labels=names)
print(pd.DataFrame(recall, index=names).round(3))

# %%
# The recall is the share of each class that is found.
figure, axis = plt.subplots(figsize=(6, 3))
pd.DataFrame(recall, index=names).plot.barh(ax=axis)
axis.set_xlabel("recall on 2,000 rows with right labels")
