"""# Three annotators

Three people label the same samples, each only some of them. Which label is right, who can be trusted, and whom to ask
next?
"""

# %%
# Ann is careful, Bob less so, and Eve often guesses. Each of them labels seven of ten samples.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_wine

from reweigh import RobustClassifier, Votes

X, truth = load_wine(return_X_y=True, as_frame=True)
rng = np.random.default_rng(0)
votes = pd.DataFrame(index=X.index)
for name, wrong in (("ann", 0.05), ("bob", 0.2), ("eve", 0.5)):
    said = np.where(rng.random(len(X)) < wrong, rng.integers(0, 3, len(X)), truth)
    votes[name] = pd.Series(said, X.index).where(rng.random(len(X)) < 0.7)
print(votes.head())

# %%
# The columns of `votes` are the labelers, and gaps are normal. Training and the consensus help each other: predictions
# show who is right, and the consensus is what is learned.
classifier = RobustClassifier(epochs=10, random_state=0).fit(X, votes)
print(classifier.finding_.words)
print(classifier.consensus_.head())

# %%
# What is known about each labeler, beside the true accuracy, which training did not see.
labelers = classifier.labelers_
labelers["true accuracy"] = [(votes[name] == truth)[votes[name].notna()].mean() for name in labelers.index]
print(labelers[["votes", "accuracy", "low", "high", "true accuracy", "mistakes"]])
figure, axis = plt.subplots(figsize=(5, 2.5))
errors = [labelers["accuracy"] - labelers["low"], labelers["high"] - labelers["accuracy"]]
axis.errorbar(labelers["accuracy"], labelers.index, xerr=errors, fmt="o", label="estimated, 90 % limits")
axis.plot(labelers["true accuracy"], labelers.index, "x", label="true")
axis.set(xlabel="accuracy")
axis.legend()

# %%
# The consensus, beside a majority vote.
majority = Votes.of(votes).tally().argmax(1).numpy()
print("majority:", (majority == truth).mean(), "consensus:", (classifier.consensus_["label"] == truth).mean())

# %%
# The votes that are least credible, and the samples that need another label, if Eve cannot be asked and Ann costs
# twice as much as Bob.
print(classifier.vote_issues_.head())
print(classifier.next_labels(5, cost={"ann": 2, "bob": 1}))
