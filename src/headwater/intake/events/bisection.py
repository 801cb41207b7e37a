"""Single out what is refused among many that are tried together."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


async def singled_out(
    things: Sequence[T],
    attempt: Callable[[Sequence[T]], Awaitable[None]],
    refuses: type[Exception] | tuple[type[Exception], ...],
    refused: Callable[[int, Exception], None],
    never: tuple[type[Exception], ...] = (),
) -> None:
    """Try all of them, in order: together, and after a refusal in runs that are halved at each refusal and doubled at each success.

    `attempt` takes a run whole or raises one of `refuses` and takes none of it; `refused(place, error)` is told of each that is refused
    alone. What is in `never` is raised on, and so is everything else. Work grows with the number of things, also when all are bad: bad ones
    are met one by one, for a run that was refused is followed by short ones.
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
