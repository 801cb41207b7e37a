"""`headwater ready`: check whether instances may be made, from which inputs, and why not. The server decides; this prints it."""

from __future__ import annotations

import time
from typing import Annotated, Any

import msgspec
import typer

from headwater.cli import output, server
from headwater.cli.status.instances import AsOf, Entity, Json, Limit, Url, read_instances, short
from headwater.errors import InvalidQuestion

_SLICE = 20.0
"""Seconds that one request waits: less than the timeout of common proxies."""
WHY = {
    "before_start": "can never be: {entity} begins later",
    "after_end": "can never be: {entity} ends before",
    "empty_window": "no instance of {entity} exists in the needed range",
    "withheld": "withheld by {ref}",
    "wrong": "wrong, incident {ref}",
    "doubted": "doubted by {ref}",
    "running": "run {ref} is making it",
    "deleted": "deleted ({ref})",
    "not_due": "missing, expected from {until} on",
    "other_state": "there as {ref} only",
    "late": "late: expected by now",
}
_OUTCOMES = {"failed": "; the wait for it is over", "accepted": "; accepted without it"}


def ready(
    entity: Entity,
    instances: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="INSTANCES…", help="2024-W10, 2024-03-01..2024-03-31 or 2024-03; none for a static entity."
        ),
    ] = None,
    state: Annotated[str | None, typer.Option(help="Check only whether they are ready in this state.")] = None,
    wait: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="Wait up to this many seconds until all are ready.")
    ] = 0.0,
    as_of: AsOf = None,
    limit: Limit = 50,
    url: Url = None,
    json: Json = False,
) -> None:
    """Check whether instances may be made, from which inputs, and what is missing.

    Exit code 0 if all may be made, 1 if some may not.

    Examples:

      headwater ready weekly@2024-W10

      headwater ready weekly 2024-W08..2024-W11 --state completed

      headwater ready weekly 2024-W10 --wait 3600 && make weekly
    """
    if wait and as_of is not None:
        raise InvalidQuestion("--wait and --as-of exclude each other: give only one")
    if "@" in entity:
        entity, instances = read_instances(entity, instances)
    where, end = server.path("entities", entity, "readiness"), time.monotonic() + wait
    given = {"instances": instances, "state": state, "as_of": server.time(as_of)}
    while True:
        left = max(end - time.monotonic(), 0.0)
        body = server.ask(url, where, **given, wait=min(left, _SLICE) or None)
        found = msgspec.json.decode(body)
        if found["ready"] or time.monotonic() >= end:
            break
    if json:
        output.raw(body)
    else:
        _tell(found, limit)
    if not found["ready"]:
        raise typer.Exit(1)


def _tell(found: dict[str, Any], limit: int) -> None:
    every = found["instances"]
    for one in every[:limit]:
        word = f"ready as {one['state']}" if one["ready"] else "not ready"
        line = output.printable(f"{one['entity']} {one['instance']}: {word}")
        output.line(line, "green" if one["ready"] else "bold red")
        for state in one["states"]:
            _state(state, limit)
    if len(every) > limit:
        output.line(f"{output.counted(len(every) - limit, 'instance')} more; --limit shows more", "dim")
    ready_ones = sum(one["ready"] for one in every)
    output.line(f"{ready_ones:,} of {output.counted(len(every), 'instance')} ready, as of report {found['seq']}", "dim")


def _state(state: dict[str, Any], limit: int) -> None:
    word = "ready" if state["ready"] else "not ready"
    if state["accepted"]:
        word += ", though something is missing"
    elif state["failed"]:
        word += ", and the wait is over"
    output.line(output.printable(f"  {state['state']}: {word}"))
    for pin in state["pins"][:limit]:
        output.line(output.printable(f"    {short(pin['instances'])} of {pin['entity']}: there"), "dim")
    for lacking in state["missing"][:limit]:
        output.line(output.printable(f"    {words(lacking)}"), "yellow")
    for what in ("pins", "missing"):
        if (more := len(state[what]) - limit) > 0:
            output.line(f"    {more:,} more {what}; --limit shows more", "dim")


def words(lacking: dict[str, Any]) -> str:
    """Say what is missing and why: `2024-03-10 of reads: late: expected by now`."""
    if not lacking["entity"]:
        return "needs inputs that you may not see"
    values = {
        **lacking,
        "until": f"{output.moment(lacking['until'])} UTC",
        "ref": lacking["ref"] or "a report without a name",
    }
    why = WHY[lacking["why"]].format_map(values) if lacking["why"] in WHY else lacking["why"]
    why += _OUTCOMES.get(lacking["outcome"], "")
    if not lacking["instances"]:
        return f"{lacking['entity']}: {why}"
    return f"{short(lacking['instances'])} of {lacking['entity']}: {why}"
