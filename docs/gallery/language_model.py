"""# A language model and 200 labels of mine

A language model labels everything, with probabilities; a person labels 200 samples. Both are labelers.
"""

# %%
# The notes are made from lists of words. The model confuses sea and sky, and is sure of it.
import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer

from reweigh import RobustClassifier, Votes

WORDS = {
    "food": "salt bread soup spoon oven sugar plate bake cup taste",
    "music": "drum string song choir note stage sing wing chord beat",
    "sea": "wave salt ship sail harbor tide anchor gull deck storm",
    "sky": "cloud wind bird moon star storm wing plane sun rain",
}
rng = np.random.default_rng(0)
truth = rng.choice(list(WORDS), 800)
notes = [" ".join(rng.choice(WORDS[topic].split(), 5)) for topic in truth]
X = TfidfVectorizer().fit_transform(notes)
said = np.where((truth == "sky") & (rng.random(800) < 0.6), "sea", truth)
said = np.where(rng.random(800) < 0.1, rng.choice(list(WORDS), 800), said)
sure = rng.uniform(0.6, 0.95, 800)
topics = np.array(sorted(WORDS))
by_model = pd.DataFrame(np.where(topics == said[:, None], sure[:, None], (1 - sure[:, None]) / 3), columns=topics)
mine = np.full(800, None, dtype=object)
mine[:200] = truth[:200]

# %%
# A labeler's column may be a table of probabilities; a gap is None.
votes = Votes.of({"model": by_model, "me": mine})
classifier = RobustClassifier(epochs=10, random_state=0).fit(X, votes)
print(classifier.labelers_[["votes", "accuracy", "low", "high", "mistakes"]])

# %%
# The 200 labels show what the model gets wrong, and the consensus corrects it where there is no label of mine.
rest = slice(200, None)
print("model:", (said[rest] == truth[rest]).mean())
print("consensus:", (classifier.consensus_["label"][rest] == truth[rest]).mean())

# %%
# How often the label is right, by topic, where there is none of mine.
right = pd.DataFrame({"model": said == truth, "consensus": classifier.consensus_["label"] == truth})[rest]
axis = right.groupby(truth[rest]).mean().plot.bar(figsize=(6, 3), rot=0)
axis.set(ylabel="share of right labels")

# %%
# Where a label of mine would help most.
print(classifier.next_labels(5, cost={"me": 1}))
