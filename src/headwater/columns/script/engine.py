"""The parser library's object for a dialect, made once in a process: it holds settings and no state."""

import functools

from sqlglot.dialects.dialect import Dialect


@functools.cache
def engine(name: str) -> Dialect:
    """The dialect of that name, plain SQL for one there is not."""
    try:
        return Dialect.get_or_raise(name or None)
    except ValueError:
        return Dialect.get_or_raise("")
