"""Class posteriors from a small model that was not trained on the sample in question."""

import torch
from torch import Tensor


def out_of_fold(
    inputs: Tensor, labels: Tensor, num_classes: int, seed: int, *, folds: int = 5, components: int = 64
) -> Tensor:
    """Logistic regression on whitened principal components, cross-validated.

    The components are fitted to all inputs, without labels. This takes about ten seconds for 50,000 small images.

    Args:
        inputs: Shape (N, ...), bytes or floats; flattened.
        labels: Shape (N,).
        seed: Seed of the folds and of the components.
        folds: Number of folds; each sample is predicted by the model of the other folds.
        components: Largest number of components; a larger one is slower and more accurate.

    Returns:
        Tensor: shape (N, num_classes), rows sum to one. A class with fewer samples than folds may get 0 somewhere.
    """
    import numpy as np
    from sklearn.decomposition import PCA
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import KFold, StratifiedKFold

    given, features = labels.numpy(), inputs.flatten(1).float().numpy()
    features = PCA(min(components, *features.shape), whiten=True, random_state=seed).fit_transform(features)
    sizes = np.bincount(given)
    folds = min(folds, len(given))
    kind = StratifiedKFold if sizes[sizes > 0].min() >= folds else KFold
    posteriors = np.zeros((len(given), num_classes))
    for train, held_out in kind(folds, shuffle=True, random_state=seed).split(features, given):
        probe = LogisticRegression(max_iter=1000, tol=1e-3).fit(features[train], given[train])
        posteriors[np.ix_(held_out, probe.classes_)] = probe.predict_proba(features[held_out])
    return torch.from_numpy(posteriors)
