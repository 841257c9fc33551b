"""What a recipe of the paper would cost on this computer: a few plain steps are timed, the rest is arithmetic."""

import time

FEW, STEPS = 16, 2  # images in a timed step, and steps
SHAPES = {"mnist": (1, 28, 28), "fashion-mnist": (1, 28, 28), "kmnist": (1, 28, 28)}
SMALL = (3, 32, 32)


def hours(recipe: str, samples: int, classes: int) -> float:
    """Hours that plain training by a recipe takes here, without reading its data.

    Args:
        recipe: name of a shipped recipe.
        samples: number of training samples.
        classes: number of classes.
    """
    import torch
    import torch.nn.functional as F

    from reweigh.fit.trainer import builder
    from reweigh.recipes.check import check
    from reweigh.recipes.read import read

    plan = check(read(recipe))
    size = plan.source.options.get("size")
    shape = (3, size, size) if size else SHAPES.get(plan.source.name, SMALL)
    assert plan.model is not None
    model = builder(plan.model)(shape, classes)
    images, labels = torch.randn(FEW, *shape), torch.arange(FEW) % classes
    taken = []
    for _ in range(1 + STEPS):  # the first is slower than the others
        begun = time.perf_counter()
        F.cross_entropy(model(images), labels).backward()
        taken.append(time.perf_counter() - begun)
    return min(taken) / FEW * samples * plan.train["epochs"] / 3600
