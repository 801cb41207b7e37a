"""Expressions of columns that are the same for every log: built once a JVM, and used by every batch and every call of the process.

To build one is hundreds of messages to the JVM. It is names and functions, which each table that it is used on gives its own meaning, so nothing of a
table stays in it. Imports no Spark before it is asked.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")

_BUILT: Final[dict[tuple[Any, ...], Any]] = {}


def once_a_jvm(build: Callable[P, T]) -> Callable[P, T]:
    """The function, called once for the same hashable arguments and the same JVM."""

    @wraps(build)
    def built(*given: P.args, **named: P.kwargs) -> T:
        from pyspark import SparkContext

        key = (build, SparkContext._gateway, given, tuple(named.items()))
        if key not in _BUILT:
            _BUILT[key] = build(*given, **named)
        return cast("T", _BUILT[key])

    return built
