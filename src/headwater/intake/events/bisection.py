"""Find the items that are refused among many that are tried together."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


async def isolate_failures(
    things: Sequence[T],
    attempt: Callable[[Sequence[T]], Awaitable[None]],
    refuses: type[Exception] | tuple[type[Exception], ...],
    refused: Callable[[int, Exception], None],
    never: tuple[type[Exception], ...] = (),
) -> None:
    """Try all items in order: first together, then in runs that halve at each refusal and double at each success.

    `attempt` takes a whole run, or raises one of `refuses` and takes none of it. `refused(place, error)` is called for each item that is
    refused alone. Errors in `never`, and all others, propagate. The cost is linear in the number of items even if all are refused: short
    runs follow a refused run.
    """
    at, size = 0, len(things)
    while at < len(things):
        run = things[at : at + size]
        try:
            await attempt(run)
        except never:
            raise
        except refuses as error:
            if len(run) > 1:
                size = len(run) // 2
                continue
            refused(at, error)
            at += 1
        else:
            at += len(run)
            size *= 2
