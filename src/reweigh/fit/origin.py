"""Where a weighting function was learned, in words that are stored with it."""

from pathlib import Path

from reweigh.fit.fitting import Fit
from reweigh.plan import Part, Plan
from reweigh.weighting import Origin, load_weighting


def origin_of(found: Fit) -> Origin:
    """Where a weighting function was learned: in this fit, or as recorded in the file that the plan names."""
    if given := found.plan.method.options.get("weighting"):
        return load_weighting(given)[1]
    assert found.weighting is not None
    centers = tuple(found.weighting.families.centers.tolist())
    loss = found.plan.own_loss or found.plan.loss.name
    return Origin(centers, loss, describe(found.plan), found.weighting.reads)


def describe(plan: Plan) -> str:
    """The data of a plan in words: digits, asymmetric (rate=0.4); own files by their name."""
    data = plan.source
    path = data.options.get("path")
    biases = [_described(bias) for bias in data.parts["bias"]]
    if data.parts["candidates"]:
        biases.append(f"candidates (q={data.parts['candidates'][0].options['q']})")
    if data.added["labeled"]:
        biases.append(f"{data.added['labeled']} labels")
    return ", ".join([Path(path).name if path else data.name, *biases])


def _described(part: Part) -> str:
    """The name of a part, and the options that have a value."""
    options = ", ".join(f"{name}={value}" for name, value in part.options.items() if value is not None)
    return f"{part.name} ({options})" if options else part.name
