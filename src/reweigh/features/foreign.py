"""Networks from outside the package: timm, torchvision, transformers, sentence-transformers, or the user's own code."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from torch import Tensor, nn

from reweigh.core.rerun import last_layer
from reweigh.errors import DataError, ModelError
from reweigh.features.network import Network, Resize, check_images, probed
from reweigh.features.text_network import TEXT_SOURCES, TextNetwork, text_network
from reweigh.models.foreign import imported, own, untrusted

SIZE = 224
IMAGENET = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # mean and standard deviation


def foreign(name: str, trust_code: bool = False) -> Callable[..., Network | TextNetwork]:
    """The builder of a network whose name has a colon. Nothing is imported before it is called.

    Args:
        name: ``timm:NAME``, ``torchvision:NAME``, ``hf:NAME`` (transformers: images or text),
            ``sentence-transformers:NAME`` (text), or ``package.module:Class``, a module of the user's own that takes
            pixels in [0, 1].
    """
    source, _, member = name.partition(":")
    if not source or not member:
        forms = ", ".join(f"{each}:NAME" for each in SOURCES | TEXT_SOURCES)
        raise ModelError(f"features {name!r}: write {forms} or package.module:Class.")
    return partial(_opened, name, source, member, trust_code)


def _opened(
    name: str,
    source: str,
    member: str,
    trust_code: bool,
    input_shape: tuple[int, ...],
    /,
    *,
    resize: Resize = "crop",
) -> Network | TextNetwork:
    """A network from outside the package, with its own input size and normalization.

    Args:
        input_shape: Shape of one sample; () for text.
        resize: Whether to crop what is not square, or to pad it.
    """
    if not trust_code:
        raise untrusted(name, "features")
    if len(input_shape) == 1 and source in TEXT_SOURCES:
        raise DataError(f"features {name!r}: needs images or text, and no column is text; see reweigh inspect")
    if input_shape:
        if source not in SOURCES and source in TEXT_SOURCES:
            raise DataError(f"features {name!r}: for text, but the samples are images; leave features out")
        check_images(name, input_shape)
    elif resize != "crop":
        raise ModelError("features.resize: for images, but the samples are text; remove it")
    try:
        if not input_shape:
            return text_network(name, source, member)
        if source in SOURCES:
            module, size, mean, std = SOURCES[source](member)
        else:
            module, size, mean, std = own(source, member, input_shape), None, (), ()
    except ModelError:
        raise
    except Exception as error:  # anything: a network that is down, a name that is unknown, a file that is broken
        first = str(error).strip().splitlines()[0] if str(error).strip() else ""
        offline = "use efficientnet-lite0, which works offline"
        if not input_shape:
            offline = f"give a folder that holds them ({source}:./FOLDER)"
        raise ModelError(
            f"features {name!r}: the network or its weights cannot be loaded ({type(error).__name__}: {first}); check "
            f"the name and the connection, or {offline}"
        ) from error
    if not isinstance(module, nn.Module):
        raise ModelError(f"features {name!r}: got an object of type {type(module).__name__}, not a torch.nn.Module")
    return own_network(name, module, input_shape, size, mean, std, resize)


def own_network(
    name: str,
    module: nn.Module,
    input_shape: tuple[int, ...],
    size: int | None = None,
    mean: tuple[float, ...] = (),
    std: tuple[float, ...] = (),
    resize: Resize = "crop",
) -> Network:
    """A module as features. Without size and mean it gets the samples as they are, bytes divided by 255."""
    found = Network(name, module.eval(), 0, size, mean, std, resize)
    return replace(found, width=probed(found, input_shape))


Source = tuple[nn.Module, int, tuple[float, ...], tuple[float, ...]]  # module, size, mean, standard deviation


def _timm(member: str) -> Source:
    timm = imported("timm", "install it: pip install timm")
    model = timm.create_model(member, pretrained=True, num_classes=0)
    config = imported("timm.data", "update timm").resolve_model_data_config(model)
    return model, config["input_size"][-1], tuple(config["mean"]), tuple(config["std"])


def _torchvision(member: str) -> Source:
    models = imported("torchvision.models", "install the torchvision that matches your torch")
    weights = models.get_model_weights(member).DEFAULT
    model = models.get_model(member, weights=weights)
    last = last_layer(model, dict(model.named_parameters()))
    parent, _, name = last.rpartition(".")
    setattr(model.get_submodule(parent), name, nn.Identity())
    form = weights.transforms()
    crop = getattr(form, "crop_size", [SIZE])
    mean, std = getattr(form, "mean", IMAGENET[0]), getattr(form, "std", IMAGENET[1])
    return model, crop[0] if isinstance(crop, list | tuple) else crop, tuple(mean), tuple(std)


class Pooled(nn.Module):
    """A vision model of transformers whose output is one row per image."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, images: Tensor) -> Tensor:
        """The pooled output if the model has one, else the mean over tokens or pixels."""
        outputs = self.model(pixel_values=images)
        pooled = getattr(outputs, "pooler_output", None)
        if pooled is not None:
            return pooled.flatten(1)
        hidden = outputs.last_hidden_state
        return hidden.mean(1) if hidden.ndim == 3 else hidden.flatten(2).mean(2)


def _hf(member: str) -> Source:
    transformers = imported("transformers", "install it: pip install transformers")
    model = transformers.AutoModel.from_pretrained(member, use_safetensors=True, trust_remote_code=False)
    model = getattr(model, "vision_model", model)  # of a model for images and text the half for images
    form = transformers.AutoImageProcessor.from_pretrained(member, trust_remote_code=False)
    sizes = [getattr(form, name, None) for name in ("crop_size", "size")]
    numbers = [value for size in sizes if size for value in dict(size).values() if value]
    mean, std = getattr(form, "image_mean", None), getattr(form, "image_std", None)
    return Pooled(model), int(min(numbers, default=SIZE)), tuple(mean or IMAGENET[0]), tuple(std or IMAGENET[1])


SOURCES: dict[str, Callable[[str], Source]] = {"timm": _timm, "torchvision": _torchvision, "hf": _hf}
