"""What a training leaves behind as plain values and tensors, and back."""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from reweigh.data.encoding import Encoding
from reweigh.data.normalize import Standardize
from reweigh.estimator.features import Features
from reweigh.estimator.fitted import Fitted
from reweigh.estimator.weighting import Weighting
from reweigh.families import Families
from reweigh.pseudo_labels import Predictions, predictions
from reweigh.weighting import construction, rebuilt

SAMPLES = ("given", "suggested", "losses")  # a row a training sample


def pack(found: Fitted) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """All but the network: what JSON can hold, and tensors by name."""
    features, weighting = found.features, found.weighting
    content = {
        "classes": {"values": found.classes.tolist(), "dtype": found.classes.dtype.str},
        "features": {
            "shape": features.shape,
            "encoding": None if features.encoding is None else features.encoding.to_json(),
            "columns": features.columns,
        },
        "families": None
        if weighting is None
        else {
            "of_class": weighting.family_of_class.tolist(),
            "centers": weighting.centers.tolist(),
            "net": construction(weighting.net),
        },
        "scoring": found.scoring,
        "history": found.history,
    }
    tensors: dict[str, Tensor] = {f"samples.{name}": getattr(found, name) for name in SAMPLES}
    if found.weights is not None:
        tensors["samples.weights"] = found.weights
    if found.scores is not None:
        tensors["calibration.scores"] = found.scores
    tensors |= {f"predictions.{name}": value for name, value in found.predictions.state_dict().items()}
    if features.scale is not None:
        tensors |= {"scale.mean": features.scale.mean, "scale.std": features.scale.std}
    if weighting is not None:
        tensors |= {f"weighting.{name}": value for name, value in weighting.net.state_dict().items()}
    return content, tensors


def unpack(content: dict[str, Any], tensors: dict[str, Tensor], module: nn.Module) -> Fitted:
    """What ``pack`` packed, around the network."""
    features, classes = content["features"], content["classes"]
    values = np.empty(len(classes["values"]), dtype=np.dtype(classes["dtype"]))
    values[:] = classes["values"]
    return Fitted(
        features=Features(
            shape=tuple(features["shape"]),
            scale=Standardize(tensors["scale.mean"], tensors["scale.std"]) if "scale.mean" in tensors else None,
            encoding=None if features["encoding"] is None else Encoding.from_json(features["encoding"]),
            columns=tuple(features["columns"]),
        ),
        classes=values,
        module=module,
        weighting=_weighting(content["families"], tensors),
        scoring=content["scoring"],
        history=content["history"],
        weights=tensors.get("samples.weights"),
        scores=tensors.get("calibration.scores"),
        predictions=_predictions(tensors, len(values)),
        **{name: tensors[f"samples.{name}"] for name in SAMPLES},
    )


def under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors whose names begin with ``prefix``, without it."""
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def _predictions(tensors: dict[str, Tensor], num_classes: int) -> Predictions:
    store = predictions(tensors["samples.given"], num_classes, 0.0)
    store.load_state_dict(under("predictions.", tensors))
    return store


def _weighting(families: dict[str, Any] | None, tensors: dict[str, Tensor]) -> Weighting | None:
    if families is None:
        return None
    net = rebuilt(families["net"], under("weighting.", tensors))
    centers = torch.tensor(families["centers"], dtype=torch.float64)
    return Weighting(net, Families(torch.tensor(families["of_class"]), centers))
