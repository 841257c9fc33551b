"""# Photos with wrong labels

Some photos have the wrong label. Train on all of them, look at the labels that training distrusts, and correct them.
Small images of digits stand in for the photos, so this page takes seconds.
"""

# %%
# Replace 15 % of the labels by random ones. Labels are strings, like the names of folders.
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
# Train. These images are gray, so a small network is trained from scratch. Color photos get
# [pretrained features](../features.md) if `reweigh[pretrained]` is installed.
classifier = RobustClassifier("two-looks", epochs=6, random_state=0).fit(photos, given)
print(classifier.finding_.words)
issues = classifier.label_issues_
print(issues.head())

# %%
# Show the twelve labels of lowest quality. Each title has the given and the suggested label.
figure, axes = plt.subplots(2, 6, figsize=(9, 3.6), layout="constrained")
for axis, (row, issue) in zip(axes.flat, issues.head(12).iterrows(), strict=True):
    axis.imshow(photos[row, 0], cmap="gray_r")
    axis.set_title(f"{issue.given_label} → {issue.suggested_label}")
    axis.axis("off")

# %%
# Here the true labels are known, so we can count. On your own data, [review](../review.md) the list instead.
listed = issues.index[issues.is_label_issue]
wrong = np.flatnonzero(given != truth)
print(f"{len(listed)} labels listed, {np.isin(listed, wrong).sum()} of them wrong; {len(wrong)} wrong labels in total")
corrected = given.copy()
corrected[listed] = classifier.suggested_labels_[listed]
print(f"wrong labels: {(given != truth).sum()} before, {(corrected != truth).sum()} after")
