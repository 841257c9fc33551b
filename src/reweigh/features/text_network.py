"""Networks that turn text into features: encoders of transformers and of sentence-transformers."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from reweigh.errors import ModelError
from reweigh.features.network import key_of
from reweigh.models.foreign import imported

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
        name: Name in messages, and of its cache.
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


def _hf(member: str) -> tuple[nn.Module, str]:
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
    "hf": _hf,
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
