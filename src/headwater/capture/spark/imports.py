"""Do something to a module as soon as the program has imported it, without importing it first. Errors of that are the caller's to handle."""

import importlib.util
import sys
import threading
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

Act = Callable[[ModuleType], None]


def after_import(name: str, act: Act) -> None:
    """Call `act` with the module `name`: now if it is imported, else once its import is done."""
    module = sys.modules.get(name)
    if module is not None and not getattr(module.__spec__, "_initializing", False):
        act(module)
        return
    _waiting.acts.setdefault(name, []).append(act)
    if _waiting not in sys.meta_path:
        sys.meta_path.insert(0, _waiting)


class _Waiting:
    """A finder that finds nothing, but adds a step to the import of each wanted module.

    A module that is only asked for (`importlib.util.find_spec`), or whose import fails, stays wanted.
    """

    def __init__(self) -> None:
        self.acts: dict[str, list[Act]] = {}
        self._asking = threading.local()

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name not in self.acts:
            self._begun_before()
            return None
        if name in vars(self._asking):
            return None
        vars(self._asking)[name] = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            del vars(self._asking)[name]
        if spec is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = _Step(spec.loader, self)  # type: ignore[assignment]
        return spec

    def done(self, module: ModuleType) -> None:
        """Take the steps that wait for the module, once each."""
        for act in self.acts.pop(module.__name__, []):
            act(module)
        if not self.acts and self in sys.meta_path:
            sys.meta_path.remove(self)

    def _begun_before(self) -> None:
        """Take the steps of modules whose import had begun when they were wanted, and has ended since."""
        for wanted in list(self.acts):
            module = sys.modules.get(wanted)
            if module is not None and not getattr(module.__spec__, "_initializing", False):
                self.done(module)


class _Step:
    """A loader of one module, which takes the steps after the load. Loaders themselves are left alone: that of an archive loads many modules."""

    def __init__(self, loader: Any, waiting: _Waiting) -> None:
        self._loader = loader
        self._waiting = waiting

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        made: ModuleType | None = self._loader.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._waiting.done(module)


_waiting = _Waiting()
