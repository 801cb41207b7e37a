"""Capture without code: Python imports this module by itself if its folder is on PYTHONPATH (`headwater.capture.spark.environment`).

It runs the sitecustomize that it hides, and waits for the import of `pyspark.sql.session`; until then it costs nothing. It never breaks an
interpreter: after any error here, the program runs without capture.
"""

import contextlib
import importlib.machinery
import importlib.util
import os
import sys
from types import ModuleType
from typing import Any

_HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib is not loaded yet, and slow to load
_WANTED = "pyspark.sql.session"


def _hand_on() -> None:
    """Run the next sitecustomize on the path."""
    paths = [path for path in sys.path if os.path.abspath(path or ".") != _HERE]  # noqa: PTH100
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", paths)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)


class _Waiting:
    """A finder that finds nothing, but adds a step to the import of one module."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != _WANTED:
            return None
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


if os.environ.get("HEADWATER_CAPTURE") == "spark":
    with contextlib.suppress(Exception):
        sys.meta_path.insert(0, _Waiting())
with contextlib.suppress(ImportError):
    _hand_on()
