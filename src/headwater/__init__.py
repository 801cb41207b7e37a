"""Headwater: where data comes from, what happened to it on the way, who depends on it, and what to do when it is wrong."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headwater.client.checks import check
    from headwater.client.imports import AlreadyImported
    from headwater.client.item import Item
    from headwater.client.output import use
    from headwater.client.step import Step, carry, current_step, start_step, step

__all__ = [
    "AlreadyImported",
    "Item",
    "Step",
    "__version__",
    "carry",
    "check",
    "current_step",
    "start_step",
    "step",
    "use",
]

__version__ = "0.1.0"

# Made when they are asked for, for notebooks too: the server and the command line import this package too, and have no use for them.
_PARTS = {
    "AlreadyImported": "client.imports",
    "Item": "client.item",
    "Step": "client.step",
    "carry": "client.step",
    "check": "client.checks",
    "current_step": "client.step",
    "lineage": "cli.notebook",
    "load_ipython_extension": "cli.notebook",
    "start_step": "client.step",
    "step": "client.step",
    "use": "client.output",
}


def __getattr__(name: str) -> object:
    if name not in _PARTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found: object = getattr(import_module(f"headwater.{_PARTS[name]}"), name)
    globals()[name] = found
    return found
