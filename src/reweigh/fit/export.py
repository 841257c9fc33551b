"""A trained model in the forms that other programs read."""

import json
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

import torch
from torch import Tensor, nn

from reweigh import __version__
from reweigh.errors import ModelError
from reweigh.features.foreign import TextNetwork
from reweigh.features.network import Network
from reweigh.files.tensors import pack
from reweigh.fit.decision import Decision
from reweigh.fit.run_folder import TrainedModel
from reweigh.models.ensemble import Ensemble
from reweigh.plan.edit import inline, plain
from reweigh.training.checkpoint import plain_tensor


class Normalized(nn.Module):
    """A model and the normalization before it."""

    def __init__(
        self, model: nn.Module, mean: tuple[float, ...], std: tuple[float, ...], rank: int, limit: float | None = None
    ) -> None:
        super().__init__()
        self.model, self.limit = model, limit
        shape = (1, -1, *(1,) * (rank - 1))
        # not "mean": older exporters to ONNX take it for the name of the operation
        self.register_buffer("center", torch.tensor(mean or (0.0,)).view(shape))
        self.register_buffer("scale", torch.tensor(std or (1.0,)).view(shape))

    def forward(self, inputs: Tensor) -> Tensor:
        scaled = (inputs - self.get_buffer("center")) / self.get_buffer("scale")
        return self.model(scaled if self.limit is None else scaled.clamp(-self.limit, self.limit))


class Whole(nn.Module):
    """The way from pixels to logits: a frozen network with its normalization, and the model on its features."""

    def __init__(self, network: Network, model: nn.Module) -> None:
        super().__init__()
        self.front = Normalized(network.module, network.mean, network.std, rank=3)
        self.model = model

    def forward(self, inputs: Tensor) -> Tensor:
        """Logits of images (n, 3, size, size) in [0, 1]."""
        return self.model(self.front(inputs))


class Decided(nn.Module):
    """A model and what turns its logits into those of probabilities."""

    def __init__(self, model: nn.Module, decision: Decision) -> None:
        super().__init__()
        self.model, self.scale = model, decision.scale
        self.register_buffer("offset", decision.offset.float())

    def forward(self, inputs: Tensor) -> Tensor:
        """Logits whose softmax is the probability of each class."""
        return self.model(inputs) * self.scale + self.get_buffer("offset")


def whole(trained: TrainedModel) -> tuple[nn.Module, tuple[int, ...]]:
    """The model with all that comes before and after it, and the shape of one sample that it takes, resized already.

    A network for text is not part of it.
    """
    form = trained.inputs
    bare = trained.model if trained.decision.shares is None else Decided(trained.model, trained.decision)
    model = Normalized(bare, form.mean, form.std, len(form.model_shape), form.limit).eval()
    if trained.front is None:
        return model, form.shape
    network = trained.front.network
    if isinstance(network, TextNetwork):  # tokens are the caller's, and so are its features
        return model, form.model_shape
    shape = form.shape if network.size is None else (3, network.size, network.size)
    return Whole(network, model).eval(), shape


def about(trained: TrainedModel) -> dict[str, str]:
    """What a user of the model must know, as strings."""
    form, model = trained.inputs, trained.plan.model
    assert model is not None
    known = {
        "reweigh_version": __version__,
        "model": inline(plain({"name": model.name, **model.options})),
        "class_names": json.dumps(trained.class_names, ensure_ascii=False),
        "input_shape": json.dumps(whole(trained)[1]),
        "input_scale": "bytes / 255" if form.bytes else "as is",
    }
    if trained.decision.shares is not None:
        scale, offset = trained.decision.scale, trained.decision.offset.tolist()
        known["class_shares"] = json.dumps(dict(zip(trained.class_names, trained.decision.shares, strict=True)))
        known["decision"] = json.dumps({"scale": scale, "offset": offset, "calibrated": trained.decision.calibrated})
    if isinstance(trained.model, Ensemble):
        known["ensemble"] = "probabilities: the sum over m of shares[m] * softmax(members.m), each a model as above"
    if form.mean:
        known |= {"mean": json.dumps(form.mean), "std": json.dumps(form.std), "limit": json.dumps(form.limit)}
    if form.encoding is not None:
        known["encoding"] = form.encoding.to_json()
    if trained.plan.features is not None and trained.front is not None:
        network = trained.front.network
        if isinstance(network, TextNetwork):
            assert form.encoding is not None
            of_network = {"text_columns": form.encoding.texts, "features_each": network.width}
        else:
            of_network = {"mean": network.mean, "std": network.std, "resize": network.resize}
        known["features"] = json.dumps({"name": network.name, **of_network})
    return known


def to_safetensors(trained: TrainedModel) -> bytes:
    """The weights, to be given inputs that are normalized already; those of a frozen network as ``features.``.

    How to decide is in the metadata: softmax(scale * logits + offset) is the probability of each class.
    """
    state = trained.model.state_dict()
    if trained.front is not None:
        state |= {f"features.{name}": value for name, value in trained.front.network.module.state_dict().items()}
    return pack({name: plain_tensor(value) for name, value in state.items()}, {"format": "pt", **about(trained)})


def to_onnx(trained: TrainedModel) -> bytes:
    """The model with normalization and decision: ``inputs`` (n, ...) float32 to ``logits`` (n, classes), any n.

    A frozen network for images is part of it; images must be resized to its input size before. Text must be turned into
    features before.
    """
    absent = [package for package in ("onnx", "onnxscript") if find_spec(package) is None]
    if absent:
        raise ModelError(f"writing ONNX needs {' and '.join(absent)}; install: pip install 'reweigh[export]'")
    model, shape = whole(trained)
    try:
        with _quiet():
            program = torch.onnx.export(
                model,
                (torch.zeros(2, *shape),),
                dynamo=True,
                verbose=False,
                input_names=["inputs"],
                output_names=["logits"],
                dynamic_shapes={"inputs": {0: torch.export.Dim("n")}},
            )
    except Exception as error:  # torch's exporter raises nearly anything
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ModelError(f"the model cannot be written as ONNX ({first})") from error
    assert program is not None
    program.model.metadata_props.update(about(trained))
    return program.model_proto.SerializeToString()


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence what torch's exporter reports about itself."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logger.setLevel(logging.ERROR)
        try:
            yield
        finally:
            logger.setLevel(level)
