import pytest
from torch import nn

from reweigh.errors import RecipeError
from reweigh.training import processes


def test_several_processes_refuse_a_compiled_part(monkeypatch: pytest.MonkeyPatch) -> None:
    model = nn.Sequential(nn.Linear(2, 2))
    model[0].compile(backend="eager")
    assert processes.together(model) is model
    monkeypatch.setattr(processes, "_joined", True)
    with pytest.raises(RecipeError, match="in one process, without torchrun"):
        processes.together(model)
