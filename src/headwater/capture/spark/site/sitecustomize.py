"""Capture without code where Headwater is on PYTHONPATH instead of installed: Python imports this module by itself if its folder is on
PYTHONPATH (`headwater.capture.spark.environment`). It runs the sitecustomize that it hides.
"""

import contextlib
import importlib.machinery
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib is not loaded yet, and slow to load


def _hand_on() -> None:
    """Run the next sitecustomize on the path."""
    paths = [path for path in sys.path if os.path.abspath(path or ".") != _HERE]  # noqa: PTH100
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", paths)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)


if os.environ.get("HEADWATER_CAPTURE") == "spark":
    with contextlib.suppress(Exception):
        import headwater.capture.spark.waiting  # noqa: F401
with contextlib.suppress(ImportError):
    _hand_on()
