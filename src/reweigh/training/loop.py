"""The training loop: epochs, steps and evaluations of any method; a resumed run ends as if never interrupted."""

import logging
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
from annotated_types import Ge
from torch import Generator, Tensor, nn

from reweigh.core.method import Method
from reweigh.errors import DataError, DivergedError, RecipeError
from reweigh.training import processes, randomness
from reweigh.training.judge import Judge
from reweigh.training.predictions import Record, Samples
from reweigh.training.progress import Observer, Silent
from reweigh.training.result import Result
from reweigh.training.run import Run
from reweigh.training.schedules import Schedule
from reweigh.training.state import ALONE, Branch, Keeper, Place, Stage, check_finite

CHECK_STEPS = 20  # steps after which the loss is read: to read it is to wait for the device

Evaluate = Callable[[nn.Module], Mapping[str, float]]
Augment = Callable[[Tensor, Generator], Tensor]
log = logging.getLogger(__name__)


def train(
    method: Method,
    train_set: Samples,
    schedule: Schedule,
    evaluate: Evaluate | None = None,
    run: Run | None = None,
    observer: Observer | None = None,
    augment: Augment | None = None,
    generator: Generator | None = None,
    device: str | torch.device = "cpu",
    record: Record | None = None,
    judge: Judge | None = None,
    stage: Stage = ALONE,
    branch: Branch | None = None,
    *,
    epochs: Annotated[int, Ge(1)],
    warmup_epochs: Annotated[int, Ge(0)] = 0,
    batch_size: Annotated[int, Ge(1)] = 64,
    seed: Annotated[int, Ge(0)] = 0,
    checkpoint_steps: Annotated[int, Ge(1)] | None = None,
    precision: Literal["float32", "bf16"] = "float32",
) -> Result:
    """Train a method for some epochs, or until the judge stops it.

    With a run folder it writes metrics, a summary and checkpoints there, and continues from the checkpoint if there is
    one: the weights it ends with are, bit for bit, those of a run that was never interrupted (on the CPU, with the same
    number of threads). For this, ``method.state_dict`` must hold all that ``start_epoch`` decided, the warm-up too:
    ``start_epoch`` is not called again for an epoch that is resumed in its middle.

    Args:
        schedule: sets the learning rate at the start of each epoch.
        evaluate: judges the model after each epoch, such as ``reweigh.fit.scored.judged_by`` returns.
        augment: changes a batch of inputs at random, given the generator.
        record: what is written down about the training samples, such as ``Recall``; saved and restored too.
        judge: chooses the epoch whose model is kept; otherwise it is the last one. ``evaluate`` then gets the averaged
            model of the judge.
        stage: which training of the run this is, if there are several.
        branch: checkpoint of another run to continue from, unless the run has one itself; the method has its model.
        generator: for augmentation; saved and restored, so the method may draw from the same one.
        warmup_epochs: the first epochs, trained without reweighting.
        batch_size: see ``batch_bounds`` for what becomes of a remainder.
        seed: of the order of samples, and of the generator if none is given.
        checkpoint_steps: steps between checkpoints, in addition to the one after every epoch.
        precision: "bf16" computes the forwards of training steps in half precision where that is safe (autocast);
            parameters, losses and evaluations stay as they are.

    Raises:
        RecipeError: an option is too small.
        DataError: the training set is empty; the checkpoint is damaged or of another run, or cannot be written.
        DivergedError: the loss or a parameter is no longer finite; the last good checkpoint is kept.
        Interrupted: Ctrl-C; the step under way was finished and a checkpoint written.
    """
    least = {"epochs": (epochs, 1), "warmup_epochs": (warmup_epochs, 0), "batch_size": (batch_size, 1)}
    least |= {"seed": (seed, 0), "checkpoint_steps": (1 if checkpoint_steps is None else checkpoint_steps, 1)}
    if wrong := [f"{name} = {got}, should be at least {low}" for name, (got, low) in least.items() if got < low]:
        raise RecipeError("train: " + "; ".join(wrong))
    observer = observer or Silent()
    generator = generator or randomness.seeded(seed)
    samples = len(train_set)
    bounds = batch_bounds(samples, batch_size)
    steps, half, kind = len(bounds), precision == "bf16", torch.device(device).type
    settings: dict[str, int | str] = {"samples": samples, "batch_size": batch_size, "seed": seed}
    settings |= {"data": train_set.identity} if run is not None else {}
    keeper = Keeper(run, method, generator, settings, record, judge, stage)
    place, before = keeper.load(branch), len(stage.history)
    observer.start(before + epochs, steps, (before + place.epoch) * steps + place.step)
    with _ending(place, run, observer, epochs, steps, schedule, stage), listen() as stop:
        while place.epoch < epochs and not (judge and judge.over):
            schedule.start_epoch(place.epoch)
            order = randomness.epoch_order(samples, seed, place.epoch)
            begun = time.perf_counter() - place.seconds
            if place.step == 0:
                method.start_epoch(place.epoch, place.epoch < warmup_epochs)
            indices = [order[first:end] for first, end in bounds[place.step :]]
            for batch in train_set.batches(indices, augment, generator, device):
                with torch.autocast(kind, torch.bfloat16) if half else nullcontext():
                    numbers = method.step(batch)
                if judge is not None:
                    judge.step(method.model)
                place.end_step(numbers, len(batch))
                observer.step(before + place.epoch + 1, place.step, place.means)
                if place.step % CHECK_STEPS == 0 or place.step == steps or not isinstance(numbers["loss"], Tensor):
                    _check_loss(numbers["loss"])
                stopping = processes.any_of(stop.requested)
                if stopping or (checkpoint_steps and (place.epoch * steps + place.step) % checkpoint_steps == 0):
                    place.seconds = time.perf_counter() - begun
                    check_finite(method.model)
                    keeper.save(place)
                    if stopping:
                        raise KeyboardInterrupt
            method.end_epoch()
            check_finite(method.model)
            processes.check_alike(method.model, generator)
            tested = evaluate(judge.model if judge else method.model) if evaluate else {}
            seconds = time.perf_counter() - begun
            if record is not None:
                record.end_epoch(place.epoch, method.model, method.sample_weights)
            judged = judge.end_epoch(record) if judge else {}
            if judge:
                judged["keeps"] += before
            line = place.end_epoch(schedule.optimizer.param_groups[0]["lr"], tested, judged, seconds)
            observer.epoch(line)
            keeper.end_epoch(place, line, before + epochs, keep=place.epoch == warmup_epochs)
            if processes.any_of(stop.requested):
                raise KeyboardInterrupt
    if judge is not None:
        judge.restore(method.model, record)
    return Result(place.history)


def _check_loss(loss: float | Tensor) -> None:
    if not math.isfinite(loss):
        raise DivergedError(f"the loss is {float(loss)}")


@contextmanager
def _ending(
    place: Place, run: Run | None, observer: Observer, epochs: int, steps: int, schedule: Schedule, stage: Stage
) -> Iterator[None]:
    """However training ends, stop the observer and write the summary; if early, say where and what to do."""
    status = "failed"
    try:
        yield
        status = "finished" if stage.last else "running"
    except DivergedError as error:
        status = "diverged"
        lr = schedule.optimizer.param_groups[0]["lr"]
        kept = f" The last good checkpoint is kept: {run.checkpoint}." if run and run.checkpoint.exists() else ""
        raise DivergedError(
            f"{error} in epoch {place.epoch + 1} of {epochs}, step {place.step} of {steps}, at learning rate {lr:g}; "
            f"lower the learning rate (lr), or look for extreme values in the inputs.{kept}"
        ) from error
    except KeyboardInterrupt:
        status = "interrupted"
        how = "nothing was saved" if run is None else f"continue with: reweigh train --resume {run.path}"
        where = f"in epoch {place.epoch + 1} of {epochs} after step {place.step} of {steps}"
        where = where if place.epoch < epochs else "after the last epoch"
        raise Interrupted(f"interrupted {where}; {how}", None if run is None else run.path) from None
    finally:
        observer.stop()
        if run is not None and processes.is_first():
            with suppress(OSError):  # a full disk must not hide the error; checkpoint and metrics have the same numbers
                run.write_summary(Result(place.history).summary(status, len(stage.history) + epochs))


def batch_bounds(samples: int, batch_size: int) -> list[tuple[int, int]]:
    """Start and end of each batch in the order of an epoch.

    The last batch may be smaller. If it would be a single sample, on which BatchNorm cannot train, it joins
    the batch before, so that every epoch sees every sample. A batch size above the number of samples is that number.

    Raises:
        DataError: there are no samples.
    """
    if samples == 0:
        raise DataError("the training set is empty; give it at least two samples")
    if batch_size > samples:
        log.warning("batch_size %d is larger than the training set; using its %d samples", batch_size, samples)
        batch_size = samples
    starts = list(range(0, samples, batch_size))
    if len(starts) > 1 and batch_size > 1 and samples - starts[-1] == 1:
        starts.pop()
    return list(zip(starts, [*starts[1:], samples], strict=True))


SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupted(KeyboardInterrupt):
    """The user stopped a run.

    Attributes:
        path: The run folder, whose checkpoint resumes the run; None if it was trained without one.
    """

    def __init__(self, message: str, path: Path | None) -> None:
        super().__init__(message)
        self.path = path


class Stop:
    """Whether the user asked to stop."""

    def __init__(self) -> None:
        self.requested = False


@contextmanager
def listen() -> Iterator[Stop]:
    """Turn the first SIGINT or SIGTERM into a request to stop; the second raises KeyboardInterrupt at once.

    Signals can only be caught in the main thread, and an ignored one (such as SIGINT under nohup) stays ignored; in
    both cases no request is made.
    """
    stop = Stop()

    def ask(signum: int, frame: Any) -> None:
        if stop.requested:
            raise KeyboardInterrupt
        stop.requested = True

    before = {each: signal.getsignal(each) for each in SIGNALS}
    taken = [each for each, its in before.items() if its not in (signal.SIG_IGN, None)]
    if threading.current_thread() is not threading.main_thread():
        taken = []
    for each in taken:
        signal.signal(each, ask)
    try:
        yield stop
    finally:
        for each in taken:
            signal.signal(each, before[each])
