"""# Photos with wrong labels

Some photos are in the wrong folder. Train on all of them, look at the labels that training distrusts, and write a
corrected copy. Small pictures of digits stand for the photos, so that this page takes seconds.
"""

# %%
# Three in twenty labels become another digit. Labels are strings, as names of folders are.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from reweigh import RobustClassifier

rng = np.random.default_rng(0)
digits = load_digits(n_class=5)
photos = (digits.images[:500, None] * 15.9).astype(np.uint8)  # samples, channels, height, width
truth = digits.target[:500].astype(str)
given = np.where(rng.random(len(truth)) < 0.15, rng.permutation(truth), truth)
print(photos.shape, f"{(given != truth).sum()} wrong labels")

# %%
# Photos with three channels get pretrained features if `reweigh[pretrained]` is installed. These are gray: a small
# network is trained from scratch.
classifier = RobustClassifier("two-looks", epochs=6, random_state=0).fit(photos, given)
print(classifier.finding_.words)
issues = classifier.label_issues_
print(issues.head())

# %%
# The twelve labels of lowest quality. The title shows the given and the suggested label.
figure, axes = plt.subplots(2, 6, figsize=(9, 3.6), layout="constrained")
for axis, (row, issue) in zip(axes.flat, issues.head(12).iterrows(), strict=True):
    axis.imshow(photos[row, 0], cmap="gray_r")
    axis.set_title(f"{issue.given_label} → {issue.suggested_label}")
    axis.axis("off")

# %%
# The truth is known here, so we can count. On your own data you would [review](../review.md) the list instead.
listed = issues.index[issues.is_label_issue]
wrong = np.flatnonzero(given != truth)
print(f"{len(listed)} labels listed, {np.isin(listed, wrong).sum()} of them wrong; {len(wrong)} are wrong in all")
corrected = given.copy()
corrected[listed] = classifier.suggested_labels_[listed]
print(f"wrong labels: {(given != truth).sum()} before, {(corrected != truth).sum()} after")
