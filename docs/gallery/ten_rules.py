"""# Ten rules

Rules label what they fire on, and abstain on the rest: the usual way to begin without labels.
"""

# %%
# Notes about food or music, in which one word of six is from the other topic. Each rule is a word that speaks for a
# topic, and fires on few notes. The last two rules look for the same word, so that they count once.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer

from reweigh import RobustClassifier, Votes

WORDS = {
    "food": "bread soup spoon oven sugar plate bake cup taste salt",
    "music": "drum string song choir note stage sing wing chord beat",
}
rng = np.random.default_rng(0)
truth = rng.choice(list(WORDS), 800)
notes = []
for topic in truth:
    other = "food" if topic == "music" else "music"
    notes.append(" ".join(rng.choice(WORDS[topic if rng.random() < 5 / 6 else other].split()) for _ in range(4)))
RULES = {"bread": "food", "soup": "food", "oven": "food", "cup": "food", "sugar": "food"}
RULES |= {"drum": "music", "song": "music", "choir": "music", "wing": "music"}
votes = pd.DataFrame({word: [label if word in note else None for note in notes] for word, label in RULES.items()})
votes["wings"] = votes["wing"]
print(f"{votes.notna().mean().mean():.0%} of the cells are filled; {votes.isna().all(axis=1).mean():.0%} have no vote")

# %%
# Notes on which no rule fires are predicted.
X = TfidfVectorizer().fit_transform(notes)
classifier = RobustClassifier(epochs=10, random_state=0).fit(X, votes)
table = classifier.labelers_
table["true accuracy"] = [(votes[rule] == truth)[votes[rule].notna()].mean() for rule in table.index]
print(table[["votes", "accuracy", "low", "high", "true accuracy", "repeats"]])

# %%
# Accuracies of rules are rough, because the model reads the words of the rules too; the limits say so.
figure, axis = plt.subplots(figsize=(6, 3))
errors = [table["accuracy"] - table["low"], table["high"] - table["accuracy"]]
axis.errorbar(table["accuracy"], table.index, xerr=errors, fmt="o", label="estimated, 90 % limits")
axis.plot(table["true accuracy"], table.index, "x", label="true")
axis.set(xlabel="accuracy")
axis.legend()

# %%
# The labels of all notes, those without a vote among them, beside a majority vote of the rules.
consensus = classifier.consensus_
majority = np.array(["food", "music"])[Votes.of(votes).tally().argmax(1)]
for name, some in (("with votes", consensus["votes"] > 0), ("without", consensus["votes"] == 0)):
    right = (consensus["label"] == truth)[some].mean()
    print(f"{name}: {right:.1%} of {some.sum()} right; majority {(majority == truth)[some].mean():.1%}")
