"""Wait for the program's first SparkContext or SparkSession, and capture it: the import of this module is all that HEADWATER_CAPTURE turns on.

Python imports it by itself when it starts: through `headwater_capture.pth` where Headwater is installed, or through `site/sitecustomize.py` on
PYTHONPATH. Until the program imports a module of sessions it costs nothing. It never breaks an interpreter: after any error here, the program
runs without capture. Sessions through Spark Connect are of another module.
"""

import contextlib
from types import ModuleType, SimpleNamespace
from typing import Any

# Modules, the class in each that a program begins with, and the attribute that holds the one that is there.
_WANTED = {
    "pyspark.core.context": ("SparkContext", "_active_spark_context"),
    "pyspark.context": ("SparkContext", "_active_spark_context"),
    "pyspark.sql.session": ("SparkSession", ""),
    "pyspark.sql.connect.session": ("SparkSession", "_default_session"),
}


def _wrap(module: ModuleType) -> None:
    """Wrap `__init__`, through which builders, `getOrCreate`, `newSession` and direct calls make every one; capture the one that is there."""
    name, active = _WANTED[module.__name__]
    kind: Any = getattr(module, name, None)
    if kind is None or kind.__module__ != module.__name__ or hasattr(kind.__init__, "__wrapped__"):
        return
    create = kind.__init__

    def create_and_attach(self: Any, *args: Any, **kwargs: Any) -> None:
        create(self, *args, **kwargs)
        _attach(self)

    create_and_attach.__wrapped__ = create  # type: ignore[attr-defined]
    kind.__init__ = create_and_attach
    if active and (present := getattr(kind, active, None)) is not None:
        _attach(present)


def _attach(made: Any) -> None:
    try:
        from headwater.capture.spark import attach

        # A program may have a context alone, without a session.
        attach(SimpleNamespace(sparkContext=made) if type(made).__name__ == "SparkContext" else made)
    except Exception as error:  # noqa: BLE001 - never the program's trouble
        import logging

        logging.getLogger("headwater").warning("headwater capture: not attached: %s", error)


with contextlib.suppress(Exception):
    from headwater.capture.spark.imports import after_import

    for _name in _WANTED:
        after_import(_name, _wrap)
