"""`headwater verdict`: say of what a check doubts that it is wrong, or fine."""

from __future__ import annotations

import enum
from typing import Annotated, Any

import typer

from headwater.cli import meaning, output, server
from headwater.cli.people.metadata import author
from headwater.cli.status import taint
from headwater.cli.status.instances import As, Json, Limit, Note, Url
from headwater.errors import InvalidQuestion


class Verdict(enum.StrEnum):
    wrong = "wrong"
    fine = "fine"


def verdict(
    what: Annotated[
        str,
        typer.Argument(
            metavar="X",
            help="A dataset (all that it holds), DATASET@VERSION, a run, ENTITY@INSTANCE, or an incident's id.",
        ),
    ],
    is_: Annotated[Verdict, typer.Argument(metavar="wrong|fine", help="The verdict.")],
    note: Note = "",
    as_: As = None,
    limit: Limit = 50,
    url: Url = None,
    json: Json = False,
) -> None:
    """Decide about something that a check doubts: it is wrong, or fine.

    `wrong` opens an incident, as `headwater taint` does. `fine` ends the doubt, also of what was made from it; a check that fails later doubts it
    again. `fine` of an incident retracts it.

    Examples:

      headwater verdict marts/orders fine --note "a holiday: no orders"

      headwater verdict marts/orders@42 wrong --note "half of the rows are missing"

      headwater verdict reads@2024-03-10 fine
    """
    if is_ is Verdict.wrong:
        reason = note or "a check failed"
        taint.taint(what, None, reason=reason, column=None, dry_run=False, as_=as_, limit=limit, url=url, json=json)
        return
    if answer := _retracted(url, what, note, as_):
        output.raw(answer) if json else output.line(f"incident {output.printable(what)}: retracted")
        return
    found = meaning.find_object(url, what)
    if found["type"] == "INSTANCE":
        answer = _trust(url, found, note, as_)
    else:
        body = {"fine": [_subject(url, found, what)], "note": note}
        answer = server.send(url, "POST", "/api/v2/verdicts", body, **author(as_))
    if json:
        output.raw(answer)
    else:
        output.line(f"{output.printable(meaning.described(found))} is fine")


def _retracted(url: str | None, what: str, note: str, as_: str | None) -> bytes | None:
    """The server's answer, if the text is the id of an incident."""
    incidents = server.get(url, "/api/v2/incidents", limit=1000)["incidents"]
    if what not in {one["id"] for one in incidents}:
        return None
    return server.send(url, "POST", server.path("incidents", what, "retract"), {"note": note}, **author(as_))


def _trust(url: str | None, found: dict[str, Any], note: str, as_: str | None) -> bytes:
    """Trust an instance against every check that doubts it."""
    from headwater.model.checks import DOUBT

    entity, instance = found["entity"], found["instance"]
    one = server.get(url, server.path("entities", entity, "instances", instance))
    checks = [mark["ref"] for mark in one["marks"] if mark["kind"] == "doubted"]
    if one["doubts"]:
        checks.append(DOUBT)
    if not checks:
        raise InvalidQuestion(
            f"no check doubts {entity} {instance}; `headwater status {entity}@{instance}` shows its state"
        )
    reports = [
        {"entity": entity, "what": "trusted", "instances": [instance], "ref": each, "reason": note} for each in checks
    ]
    return server.send(url, "POST", "/api/v2/instances", {"reports": reports}, **author(as_))


def _subject(url: str | None, found: dict[str, Any], what: str) -> dict[str, str]:
    if found["type"] in {"RUN", "VERSION", "DATASET"}:
        return {"kind": found["type"], "ref": found["id"]}
    raise InvalidQuestion(
        f"{meaning.described(found)}; a verdict is about a dataset, DATASET@VERSION, a run, ENTITY@INSTANCE or an incident",
        given=what,
    )
