"""What was tried to make training cheaper and did not pay, as ratios within one run.

    OMP_NUM_THREADS=1 python benchmarks/tried.py [--rounds 5] [--only folds,bf16,compile]

folds: five perceptrons trained as one batched network (``torch.vmap``), against one after the other.
bf16: a plain and a learning step under autocast, against a plain step in single precision.
compile: a Jacobian-vector product compiled by ``torch.compile``, and as written with ``torch.func``, against ours.

Process time; each round measures both sides in turn, and the median of the ratios counts.
"""

import argparse
import copy
import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import torch
import torch.nn.functional as F
from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table
from torch import Tensor
from torch.func import functional_call, jvp, stack_module_state, vmap

from engines import Case, prepare
from peers import CLASSES, cross_entropy
from reweigh.core.jvp.forward import forward
from reweigh.core.objective import reweighted
from reweigh.core.rerun import Params, Randomness, Rerun
from reweigh.core.speed import Tricks
from reweigh.memory import keep_freed_memory
from reweigh.models import MODELS

FOLDS = 5
SIZES = [(13, 64, 16), (64, 256, 64), (784, 256, 128), (1280, 256, 128)]  # features, hidden units, batch
STEPS = {"mlp": 20, "resnet32": 1}

Work = Callable[[], Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="default: %(default)s")
    parser.add_argument("--only", default=",".join(TRIED), help="default: %(default)s")
    options = parser.parse_args()
    if unknown := set(options.only.split(",")) - set(TRIED):
        parser.error(f"--only: no {', '.join(sorted(unknown))}; there are: {', '.join(TRIED)}")
    keep_freed_memory()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    table = Table("tried", "against", "ratio", box=MARKDOWN)
    for name in options.only.split(","):
        for tried, against, new, old, repeats in TRIED[name]():
            table.add_row(tried, against, f"{ratio(new, old, repeats, options.rounds):.2f}")
    Console(width=120).print(table)


def ratio(new: Work, old: Work, repeats: int, rounds: int) -> float:
    """Median of the process time of ``new`` over that of ``old``, after one round to warm up."""
    found = [seconds(new, repeats) / seconds(old, repeats) for _ in range(rounds + 1)]
    return median(found[1:])


def seconds(work: Work, repeats: int) -> float:
    start = time.process_time()
    for _ in range(repeats):
        work()
    return time.process_time() - start


def folds() -> Iterator[tuple[str, str, Work, Work, int]]:
    """Steps of AdamW on perceptrons with BatchNorm, each with a batch of its own."""
    for features, hidden, batch in SIZES:
        models = [MODELS["mlp"]((features,), CLASSES, hidden=[hidden, hidden]) for _ in range(FOLDS)]
        inputs, labels = torch.randn(FOLDS, batch, features), torch.randint(CLASSES, (FOLDS, batch))
        name = f"{FOLDS} perceptrons {features}-{hidden}-{hidden}-{CLASSES}, batches of {batch}"
        yield (
            f"{name}, as one",
            "one by one",
            _as_one(copy.deepcopy(models), inputs, labels),
            _in_turn(models, inputs, labels),
            10,
        )


def _in_turn(models: list[torch.nn.Module], inputs: Tensor, labels: Tensor) -> Work:
    optimizers = [torch.optim.AdamW(model.parameters(), fused=True) for model in models]

    def step() -> None:
        for model, optimizer, x, y in zip(models, optimizers, inputs, labels, strict=True):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()

    return step


def _as_one(models: list[torch.nn.Module], inputs: Tensor, labels: Tensor) -> Work:
    params, buffers = stack_module_state(models)
    params = {name: param.detach().requires_grad_() for name, param in params.items()}
    optimizer, skeleton = torch.optim.AdamW(params.values(), fused=True), copy.deepcopy(models[0]).to("meta")

    def one(params: Params, buffers: Params, inputs: Tensor) -> Tensor:
        return functional_call(skeleton, (params, buffers), (inputs,))

    def step() -> None:
        optimizer.zero_grad()
        logits = vmap(one, randomness="different")(params, buffers, inputs)
        (len(models) * F.cross_entropy(logits.flatten(0, 1), labels.flatten())).backward()
        optimizer.step()

    return step


def bf16() -> Iterator[tuple[str, str, Work, Work, int]]:
    """Autocast on the CPU."""

    def under_autocast(step: Work) -> Work:
        def work() -> None:
            with torch.autocast("cpu", torch.bfloat16):
                step()

        return work

    for model, repeats in STEPS.items():
        plain = prepare(Case(model, "plain"))
        for engine in ("plain", "forward"):
            step = under_autocast(prepare(Case(model, engine)))
            yield f"{model}, {engine} step in bf16", "plain step in float32", step, plain, repeats


def compiled() -> Iterator[tuple[str, str, Work, Work, int]]:
    """The derivative of the losses of a batch along a direction of all parameters."""
    model = MODELS["mlp"]((784,), CLASSES, hidden=[256, 256])
    inputs, labels = torch.randn(100, 784), torch.randint(CLASSES, (100,))
    at: Params = {name: param.detach() for name, param in model.named_parameters()}
    along: Params = {name: torch.randn_like(param) for name, param in at.items()}
    buffers = {name: buffer.clone() for name, buffer in model.named_buffers()}
    objective = reweighted(cross_entropy, inputs, labels)
    tricks, again = Tricks(model, None), Rerun(model, Randomness.now(inputs.device))
    tricks.first(objective, products=True)(model)  # as in training, whose forward leaves the products of its layers

    def ours() -> Tensor:
        return forward(lambda params: again(tricks.again(objective, params), params).coefficients, at, along)

    def losses(params: Params) -> Tensor:
        outputs = functional_call(model, (params, {name: b.clone() for name, b in buffers.items()}), (inputs,))
        return cross_entropy(outputs, labels)

    def written() -> Tensor:
        with torch.no_grad():
            return jvp(losses, (at,), (along,))[1]

    made = torch.compile(written)
    torch.testing.assert_close(written(), ours(), rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(made(), ours(), rtol=1e-3, atol=1e-3)
    yield "Jacobian-vector product, torch.func", "ours", written, ours, STEPS["mlp"]
    yield "Jacobian-vector product, torch.func, compiled", "ours", made, ours, STEPS["mlp"]


TRIED = {"folds": folds, "bf16": bf16, "compile": compiled}


if __name__ == "__main__":
    main()
