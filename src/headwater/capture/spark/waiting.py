"""Wait for the program's first SparkSession, and capture it: the import of this module is all that the variable HEADWATER_CAPTURE turns on.

Python imports it by itself when it starts: through `headwater_capture.pth` where Headwater is installed, or through `site/sitecustomize.py` on
PYTHONPATH. Until the program imports a module of sessions it costs nothing. It never breaks an interpreter: after any error here, the program
runs without capture. Sessions through Spark Connect are of another module.
"""

import contextlib
import importlib.util
import sys
from types import ModuleType
from typing import Any

_WANTED = ("pyspark.sql.session", "pyspark.sql.connect.session")


class _Waiting:
    """A finder that finds nothing, but adds a step to the import of each wanted module."""

    def __init__(self) -> None:
        self.wanted = {name for name in _WANTED if name not in sys.modules}

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name not in self.wanted:
            return None
        self.wanted.discard(name)
        if not self.wanted:
            with contextlib.suppress(ValueError):
                sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def load_and_wrap(module: ModuleType) -> None:
                load(module)
                with contextlib.suppress(Exception):
                    _wrap(module.SparkSession)

            with contextlib.suppress(Exception):
                spec.loader.exec_module = load_and_wrap  # type: ignore[method-assign]
        return spec


def _wrap(session: Any) -> None:
    """Wrap `__init__`, through which the builder, newSession and direct calls create every session."""
    create = session.__init__

    def create_and_attach(self: Any, *args: Any, **kwargs: Any) -> None:
        create(self, *args, **kwargs)
        try:
            from headwater.capture.spark import attach

            attach(self)
        except Exception as error:  # noqa: BLE001 - never the program's trouble
            import logging

            logging.getLogger("headwater").warning("headwater capture: not attached: %s", error)

    create_and_attach.__wrapped__ = create  # type: ignore[attr-defined]
    session.__init__ = create_and_attach


with contextlib.suppress(Exception):
    for _name in _WANTED:
        if _name in sys.modules:
            _wrap(sys.modules[_name].SparkSession)
    sys.meta_path.insert(0, _Waiting())
