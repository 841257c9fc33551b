"""Objects that list what a resumed run needs of them, so that saving and restoring is written once."""

from typing import Any, ClassVar

from torch import Tensor


class Stateful:
    """Saves and restores the attributes that a class lists in ``state``, and those that its base classes list.

    An attribute is a plain value (a tensor, number, string or None, or a dict or list of these), or an object with a
    state of its own, or a list of such objects. Restored tensors are copies, on the device of those that they replace.
    """

    state: ClassVar[tuple[str, ...]] = ()

    def _listed(self) -> list[str]:
        return [name for cls in reversed(type(self).__mro__) for name in vars(cls).get("state", ())]

    def state_dict(self) -> dict[str, Any]:
        return {name.lstrip("_"): _saved(getattr(self, name)) for name in self._listed()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for name in self._listed():
            setattr(self, name, _restored(getattr(self, name), state[name.lstrip("_")]))


def _saved(value: Any) -> Any:
    if isinstance(value, list):
        return [_saved(each) for each in value]
    return value.state_dict() if hasattr(value, "state_dict") else value


def _restored(now: Any, saved: Any) -> Any:
    """What an attribute with the value ``now`` becomes, given what ``_saved`` returned for it."""
    if hasattr(now, "load_state_dict"):
        now.load_state_dict(saved)
        return now
    if isinstance(now, list) and any(hasattr(each, "load_state_dict") for each in now):
        return [_restored(*pair) for pair in zip(now, saved, strict=True)]
    if isinstance(saved, Tensor):
        return saved.to(now.device if isinstance(now, Tensor) else saved.device, copy=True)
    return saved
