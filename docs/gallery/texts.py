"""# Text with wrong topics

Find wrong labels of text with a scikit-learn pipeline: TF-IDF, then `RobustClassifier`. Sparse rows stay sparse.
"""

# %%
# The data are short notes about four topics, made from lists of words. One topic in five is drawn at random.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from reweigh import RobustClassifier

WORDS = {
    "sea": "wave salt ship sail harbor tide anchor gull deck storm",
    "sky": "cloud wind bird moon star storm wing plane sun rain",
    "food": "salt bread soup spoon oven sugar plate bake cup taste",
    "music": "drum string song choir note stage sing wing chord beat",
}
rng = np.random.default_rng(0)
truth = rng.choice(list(WORDS), 500)
common = ["the", "and", "of", "a", "to", "in", "it", "was"]
notes = [" ".join([*rng.choice(WORDS[topic].split(), 4), *rng.choice(common, 5)]) for topic in truth]
given = np.where(rng.random(500) < 0.2, rng.permutation(truth), truth)
print(notes[0], "|", given[0])

# %%
# Train, and look at the labels that are most likely wrong.
pipeline = make_pipeline(TfidfVectorizer(), RobustClassifier(epochs=10, random_state=0)).fit(notes, given)
classifier = pipeline[-1]
print(classifier.finding_.words)
worst = classifier.label_issues_.head(8)
print(worst.assign(note=[notes[row][:40] for row in worst.index])[["given_label", "suggested_label", "note"]])

# %%
# Notes with a wrong label hardly counted in training.
wrong = given != truth
figure, axis = plt.subplots(figsize=(6, 3))
bins = np.linspace(0, 1, 31)
axis.hist([classifier.sample_weight_[~wrong], classifier.sample_weight_[wrong]], bins, stacked=True)
axis.legend(["right label", "wrong label"])
axis.set(xlabel="learned weight", ylabel="notes")

# %%
# Compare the listed labels with the truth, and predict new notes.
found = classifier.is_label_issue_
print(pd.crosstab(wrong, found, rownames=["wrong"], colnames=["listed"]))
print(pipeline.predict(["a gull on the deck", "bake the bread"]))
