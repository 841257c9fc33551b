"""Networks from outside the package: timm, torchvision, transformers, sentence-transformers, or the user's own code."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from reweigh.core.rerun import last_layer
from reweigh.errors import DataError, ModelError
from reweigh.features.network import Network, Resize, check_images, key_of, probed
from reweigh.models.foreign import imported, own, untrusted

MAX_TOKENS = 512  # tokens of a text that are read, at most
TRIED = ["a few words"]


class Texts:
    """Strings as inputs of a network."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, index: Tensor, /) -> list[str]:
        return [self.texts[int(place)] for place in index]

    def content(self, place: int) -> Sequence[bytes]:
        """What determines the features of a text."""
        return [self.texts[place].encode("utf-8", "surrogatepass")]


@dataclass(frozen=True)
class TextNetwork:
    """A frozen network for text.

    Attributes:
        module: N strings to features (n, width), in evaluation mode.
        reads: What else the features depend on: how text becomes tokens.
    """

    name: str
    module: nn.Module
    width: int
    reads: str = ""

    def rows(self, texts: list[str], device: torch.device | str) -> Tensor:
        """The features of strings, shape (n, width); the module is on the device."""
        return self.module(texts)

    def key(self) -> str:
        """A name that changes with anything that the features depend on."""
        return key_of(self.name, self.module, self.reads)


class Tokens(nn.Module):
    """An encoder of transformers behind its tokenizer; the mean over the tokens of a text.

    The half for text of a model for images and text returns its pooled output, which that model was trained for.
    """

    def __init__(self, model: nn.Module, tokenizer: Any, longest: int, pooled: bool) -> None:
        super().__init__()
        self.model, self.tokenizer, self.longest, self.pooled = model, tokenizer, longest, pooled

    def forward(self, texts: list[str]) -> Tensor:
        """Features of n strings, shape (n, width)."""
        device = next(self.model.parameters()).device
        read = self.tokenizer(texts, padding=True, truncation=True, max_length=self.longest, return_tensors="pt")
        tokens = {name: read[name].to(device) for name in ("input_ids", "attention_mask")}
        outputs = self.model(**tokens)
        if self.pooled:
            return outputs.pooler_output
        mask = tokens["attention_mask"][:, :, None]
        return (outputs.last_hidden_state * mask).sum(1) / mask.sum(1).clamp_min(1)


class Sentences(nn.Module):
    """A model of sentence-transformers, with its own tokenizer, pooling and prompt."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, texts: list[str]) -> Tensor:
        """Features of n strings, shape (n, width)."""
        return self.model.encode(texts, batch_size=len(texts), convert_to_tensor=True, show_progress_bar=False)


def _hf_text(member: str) -> tuple[nn.Module, str]:
    transformers = imported("transformers", "install it: pip install transformers")
    model = transformers.AutoModel.from_pretrained(member, use_safetensors=True, trust_remote_code=False)
    tokenizer = transformers.AutoTokenizer.from_pretrained(member, trust_remote_code=False)
    if not {*tokenizer.get_vocab()} - {*tokenizer.all_special_tokens}:
        raise ModelError(f"features 'hf:{member}': its tokenizer knows no words; tokenizer.json or the like is missing")
    if getattr(model.config, "is_encoder_decoder", False):
        model = model.get_encoder()
    half = getattr(model, "text_model", None)  # of a model for images and text
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    model = model if half is None else half
    known = (tokenizer.model_max_length, getattr(model.config, "max_position_embeddings", None) or MAX_TOKENS)
    longest = min(MAX_TOKENS, *known)
    return Tokens(model, tokenizer, longest, half is not None), f"{longest} {_of_tokenizer(tokenizer)}"


def _sentence_transformers(member: str) -> tuple[nn.Module, str]:
    package = imported("sentence_transformers", "install it: pip install sentence-transformers")
    model = package.SentenceTransformer(
        member, device="cpu", trust_remote_code=False, model_kwargs={"use_safetensors": True}
    )
    read = (model.max_seq_length, model.prompts, model.default_prompt_name, model.truncate_dim)
    return Sentences(model), f"{read} {_of_tokenizer(model.tokenizer)}"


TEXT_SOURCES: dict[str, Callable[[str], tuple[nn.Module, str]]] = {
    "hf": _hf_text,
    "sentence-transformers": _sentence_transformers,
}


def text_network(name: str, source: str, member: str) -> TextNetwork:
    """An encoder of text, tried on a few words."""
    if source not in TEXT_SOURCES:
        forms = " or ".join(f"{each}:NAME" for each in TEXT_SOURCES)
        raise ModelError(f"features {name!r}: for images, but the samples have text; give {forms}, or leave it out")
    if member[0] in "./~" and not Path(member).is_dir():
        raise ModelError(
            f"features {name!r}: there is no folder {member} in {Path.cwd()}; give one that save_pretrained wrote. "
            "A trained run needs its encoder at the same path"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about weights of heads that are not used
        module, reads = TEXT_SOURCES[source](member)
    module.eval()
    with torch.inference_mode():
        rows = module(TRIED)
    if not isinstance(rows, Tensor) or rows.ndim != 2 or len(rows) != len(TRIED):
        got = tuple(rows.shape) if isinstance(rows, Tensor) else type(rows).__name__
        raise ModelError(f"features {name!r}: returns {got} for one text, and not one row of features")
    return TextNetwork(name, module, rows.shape[1], reads)


def _of_tokenizer(tokenizer: Any) -> str:
    """All that determines how text becomes tokens, as the tokenizer describes itself."""
    fast = getattr(tokenizer, "backend_tokenizer", None)
    return fast.to_str() if fast is not None and hasattr(fast, "to_str") else f"{tokenizer!r} {tokenizer.get_vocab()}"


USUAL_SIDE = 224
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
    name: str, source: str, member: str, trust_code: bool, input_shape: tuple[int, ...], /, *, resize: Resize = "crop"
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
    crop = getattr(form, "crop_size", [USUAL_SIDE])
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
    return Pooled(model), int(min(numbers, default=USUAL_SIDE)), tuple(mean or IMAGENET[0]), tuple(std or IMAGENET[1])


SOURCES: dict[str, Callable[[str], Source]] = {"timm": _timm, "torchvision": _torchvision, "hf": _hf}
