"""Wait for the program's first SparkSession, and capture it: the import of this module is all that the variable HEADWATER_CAPTURE turns on.

Python imports it by itself when it starts: through `headwater_capture.pth` where Headwater is installed, or through `site/sitecustomize.py` on
PYTHONPATH. Until the program imports a module of sessions it costs nothing. It never breaks an interpreter: after any error here, the program
runs without capture. Sessions through Spark Connect are of another module.
"""

import contextlib
from types import ModuleType
from typing import Any

_WANTED = ("pyspark.sql.session", "pyspark.sql.connect.session")


def _wrap(module: ModuleType) -> None:
    """Wrap `__init__`, through which the builder, newSession and direct calls create every session."""
    session: Any = getattr(module, "SparkSession", None)
    if session is None:
        return
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
    from headwater.capture.spark.imports import after_import

    for _name in _WANTED:
        after_import(_name, _wrap)
