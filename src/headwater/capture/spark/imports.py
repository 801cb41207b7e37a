"""Do something to a module as soon as the program has imported it, without importing it first. Errors of that are the caller's to handle."""

import contextlib
import importlib.util
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

Act = Callable[[ModuleType], None]


def after_import(name: str, act: Act) -> None:
    """Call `act` with the module `name`: now if it is imported, else once its import is done."""
    if (module := sys.modules.get(name)) is not None:
        act(module)
        return
    _waiting.acts.setdefault(name, []).append(act)
    if _waiting not in sys.meta_path:
        sys.meta_path.insert(0, _waiting)


class _Waiting:
    """A finder that finds nothing, but adds a step to the import of each wanted module."""

    def __init__(self) -> None:
        self.acts: dict[str, list[Act]] = {}

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        acts = self.acts.pop(name, None)
        if acts is None:
            return None
        if not self.acts:
            with contextlib.suppress(ValueError):
                sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def load_and_act(module: ModuleType) -> None:
                load(module)
                for act in acts:
                    act(module)

            with contextlib.suppress(AttributeError):  # a loader that takes no attributes: the module is not seen
                spec.loader.exec_module = load_and_act  # type: ignore[method-assign]
        return spec


_waiting = _Waiting()
