"""A small recipe for any method, to be trained, killed and resumed."""

from pathlib import Path

from reweigh.fit.run_folder import begin, resume
from reweigh.recipes.read import check, read

RECIPE = """
[data]
name = "digits"
train_size = 300
bias = [{{ name = "symmetric", rate = 0.4 }}]
[model]
name = "mlp"
hidden = [16]
dropout = 0.1
[method]
name = "{method}"
[train]
epochs = {epochs}
warmup_epochs = 1
batch_size = 32
checkpoint_steps = 3
[optimizer]
name = "sgd"
lr = 0.1
"""


def job(path: Path, method: str, epochs: str = "20") -> None:
    """Train to the end in a run folder, begun or continued."""
    if (path / "recipe.toml").exists():
        resume(path)
        return
    recipe = path.parent / "recipe.toml"
    recipe.write_text(RECIPE.format(method=method, epochs=epochs))
    begin(check(read(str(recipe), [])), path)
