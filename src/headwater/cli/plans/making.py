"""Ask the server what `headwater run --period` may make, and print it on stderr."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from headwater.runner.making import Making
    from headwater.runner.readiness import Server


def asked_for(folder: Path, period: str, *, state: str | None, wait: float, force: bool) -> tuple[Making, Server]:
    """Return what the run makes and where it reports. If no server answers, `force` makes the period as it was written.

    Raises NotReady, InvalidManifest, ServerUnavailable, and what the server refuses.
    """
    from headwater.cli import server as where
    from headwater.errors import ServerUnavailable
    from headwater.runner.entities import package_entities
    from headwater.runner.making import Making
    from headwater.runner.readiness import Server, prepared
    from headwater.runner.reading import FILE

    made = package_entities(folder.absolute() / FILE)
    server = Server(where.address(None), where.key(None))
    try:
        making = prepared(server, made, period, state=state, wait=wait, force=force)
    except ServerUnavailable as error:
        if not force:
            raise ServerUnavailable(
                f"{error.message}; --force makes {period} without asking", **error.detail
            ) from error
        print(f"warning: {error.message}: {period} is made without asking", file=sys.stderr, flush=True)
        states = dict.fromkeys(made.entities, state) if state is not None else {}
        return Making(period=period, entities=made.entities, states=states), server
    for line in making.missing:
        print(f"warning: made without: {line}", file=sys.stderr, flush=True)
    for name, best in making.states.items():
        print(f"{name} {period} {best}", file=sys.stderr, flush=True)
    return making, server
