"""Arguments and output of commands on instances; and `headwater report`, which reports a state by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from headwater.cli import output, server
from headwater.cli.people.metadata import author
from headwater.errors import InvalidQuestion, NotFound

if TYPE_CHECKING:
    from collections.abc import Sequence

Entity = Annotated[str, typer.Argument(metavar="ENTITY", help="The entity's name, or ENTITY@INSTANCE.")]
Instances = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="INSTANCES…", help="2024-03-10, 2024-W10, 2024-03-01..2024-03-31, 2024-03 for all in it, static, or *."
    ),
]
AsOf = Annotated[str | None, typer.Option(metavar="TIME", help="Show what was known and declared then.")]
As = Annotated[
    str | None, typer.Option("--as", help="Set the author, on a server without sign-in. Default: your user name here.")
]
Note = Annotated[str, typer.Option("--note", "--reason", help="Record a note for readers of the incident.")]
Limit = Annotated[
    int, typer.Option(min=1, max=10_000, help="Show at most this many lines of a list, and the number of the rest.")
]
Url = Annotated[str | None, typer.Option(help=server.URL_HELP)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

WHAT = (
    "started", "produced", "failed", "deleted", "said", "doubted", "trusted", "withheld", "released", "left_wrong", "planned",
    "unplanned",
)  # fmt: skip
"""The kinds of reports: `headwater.intake.status.request.What`, which a client does not import."""
_SHOWN = 6


def short(texts: Sequence[str]) -> str:
    """Format instances in a line: the first few, and the number of further texts."""
    shown = ", ".join(texts[:_SHOWN])
    return f"{shown} and {len(texts) - _SHOWN:,} more" if len(texts) > _SHOWN else shown


def read_instances(entity: str, instances: list[str] | None) -> tuple[str, list[str]]:
    """Return the entity and its instances of `ENTITY INSTANCES…` or `ENTITY@INSTANCE,INSTANCE`. Raises InvalidQuestion if neither names any."""
    name, at, part = entity.rpartition("@")
    if instances:
        return entity, instances
    if not at or not name or not part:
        raise InvalidQuestion(f"name instances, as in {entity.rstrip('@')}@2024-03-10", given=entity)
    return name, part.split(",")


def report(
    entity: Entity,
    what: Annotated[
        str,
        typer.Argument(
            metavar="WHAT",
            help=f"{', '.join(WHAT)}.",
        ),
    ],
    instances: Instances = None,
    ref: Annotated[
        str,
        typer.Option(
            help="Name the run, check, withholding party, incident or plan; for `deleted`: retention or external."
        ),
    ] = "",
    state: Annotated[list[str] | None, typer.Option(help="Add a state to what was produced. Repeatable.")] = None,
    remove: Annotated[list[str] | None, typer.Option(help="Remove a state. Repeatable.")] = None,
    read: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ENTITY=INSTANCES", help="Record what it was made from, as `ready` prints it. Repeatable."
        ),
    ] = None,
    seq: Annotated[
        int | None, typer.Option(help="Say at which seq its inputs were known, as `ready` prints it.")
    ] = None,
    code: Annotated[str | None, typer.Option(help="Name the code that made it, such as a commit.")] = None,
    fingerprint: Annotated[str | None, typer.Option(help="Record the fingerprint of its content.")] = None,
    delta: Annotated[
        str | None,
        typer.Option(
            metavar="TABLE@VERSION",
            help="Name the Delta table's version that holds it, so that a plan can restore it.",
        ),
    ] = None,
    right: Annotated[
        bool, typer.Option("--right", help="Mark it as checked by a person: right, regardless of incidents.")
    ] = False,
    future: Annotated[
        bool, typer.Option("--future", help="Accept instances that have not begun, as those of a forecast.")
    ] = False,
    reason: Annotated[str, typer.Option(help="Record why, for readers of the history.")] = "",
    at: Annotated[str | None, typer.Option(metavar="TIME", help="Set when it happened. Default: now.")] = None,
    key: Annotated[
        str | None, typer.Option(help="Give the report a key: reports with the same key count as one.")
    ] = None,
    as_: As = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Report a state of instances by hand.

    Usually a scheduler or a callback reports it.

    Examples:

      headwater report reads@2024-03-10 produced --ref run-17

      headwater report reads deleted 2023 --ref retention

      headwater report reads doubted 2024-03-10 --ref row_count --reason "half of what it was"

      headwater report weekly produced 2024-W10 --read reads=2024-03-04..2024-03-10 --seq 42
    """
    if what not in WHAT:
        raise InvalidQuestion(f"{what!r} is not a kind of report; use one of {', '.join(WHAT)}", given=what)
    entity, instances = read_instances(entity, instances)
    said: dict[str, Any] = {
        "entity": entity, "what": what, "instances": instances, "ref": ref, "states": state, "remove": remove,
        "reads": [_read(text) for text in read] if read else None, "seq": seq, "code": code, "fingerprint": fingerprint,
        "storage": _delta(delta) if delta else None,
        "right": right or None, "future": future or None, "reason": reason, "at": server.time(at), "key": key,
    }  # fmt: skip
    body = {"reports": [{word: value for word, value in said.items() if value is not None}]}
    answer = server.send(url, "POST", "/api/v2/instances", body, **author(as_))
    (taken,) = msgspec.json.decode(answer)["results"]
    if refused := taken.get("refused"):
        kind = NotFound if refused["code"] == "not_found" else InvalidQuestion
        raise kind(refused["message"], **refused["detail"])
    if json:
        output.raw(answer)
    elif taken.get("duplicate"):
        output.line(f"report {taken['seq']} was already reported", "dim")
    else:
        changed = "" if taken.get("changed") else "; nothing changed"
        output.line(output.printable(f"{entity} {short(instances)}: {what}, report {taken['seq']}{changed}"))
        if corrected := taken.get("corrected_at"):
            output.line(
                f"its time is in the future, or by a clock that is off; {output.moment(corrected)} UTC was recorded instead",
                "yellow",
            )
        if late := taken.get("late"):
            output.line(
                f"there is a newer version of {output.printable(short(late))}, which stays the current one", "yellow"
            )


def _delta(text: str) -> dict[str, Any]:
    table, _, version = text.rpartition("@")
    if not table or not version.isdigit():
        raise InvalidQuestion(f"--delta {text!r}: write TABLE@VERSION, such as s3://lake/reads@17", given=text)
    return {"delta_version": int(version), "table": table}


def _read(text: str) -> dict[str, Any]:
    entity, equals, instances = text.partition("=")
    if not entity or not equals or not instances:
        raise InvalidQuestion(
            f"--read {text!r}: write ENTITY=INSTANCES, such as reads=2024-03-04..2024-03-10", given=text
        )
    return {"entity": entity, "instances": instances.split(",")}
