"""The order in which common tables are resolved, where one may name another that is defined behind it."""

from collections.abc import Iterator

import msgspec

from headwater.columns import form


def in_order(definitions: list[form.Cte]) -> list[form.Cte]:
    """Hive lets a common table name one that is defined behind it: those named come first."""
    named = {one.name: set(_words(msgspec.to_builtins(one.query))) for one in definitions}
    found: dict[str, form.Cte] = {}
    waiting = list(definitions)
    while waiting:
        ready = [
            one for one in waiting if not any(other.name in named[one.name] for other in waiting if other is not one)
        ]
        found.update({one.name: one for one in ready or waiting[:1]})
        waiting = [one for one in waiting if one.name not in found]
    return list(found.values())


def _words(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _words(one)
