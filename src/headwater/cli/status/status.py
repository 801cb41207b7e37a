"""`headwater status`: draw an entity's calendar, show one instance in full or, without an entity, how everything is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from headwater.cli import output, server
from headwater.cli.extras import need
from headwater.cli.status.calendar_drawing import SYMBOLS, Cell, Row, rows, symbols
from headwater.cli.status.instances import AsOf, Json, Limit, Url, short
from headwater.errors import InvalidQuestion, NotFound, NotInstalled

if TYPE_CHECKING:
    from collections.abc import Iterable

_MOST = 10_000
_AHEAD = 31
"""Instances drawn at the end that are not over yet."""
_WIDEST = 53
"""Most instances in a row: weeks of a year."""


def status(
    entity: Annotated[
        str | None,
        typer.Argument(
            metavar="X",
            help="A dataset or entity, one instance of it (reads@2024-03-10), or a team or product (team:web). Without it, what needs you now.",
        ),
    ] = None,
    instances: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="INSTANCES…",
            help="2024-03-10, 2024-03-01..2024-03-31, 2024-03, or *. Default: the last 60 that are over.",
        ),
    ] = None,
    one: Annotated[
        str | None,
        typer.Option(metavar="KEY", help="Show this instance with its versions, what they read, and its history."),
    ] = None,
    as_of: AsOf = None,
    limit: Limit = 100,
    url: Url = None,
    json: Json = False,
) -> None:
    """Show how a dataset is: its instances as a calendar, or its freshness and checks.

    With a schedule it draws the calendar, and lists the instances that are not completed. Without a dataset it shows what needs you now, who
    fell silent, events with warnings, how much of the lineage is known, and the server.

    A single key shows that instance with its versions and history (as JSON: --one KEY).

    Examples:

      headwater status

      headwater status reads

      headwater status reads 2024-03 --as-of 2024-04-01

      headwater status reads@2024-03-10

      headwater status marts/daily_traffic

      headwater status team:web

      headwater status reads --one 2024-03-10 --json
    """
    if entity is None:
        if one is not None or as_of is not None:
            raise InvalidQuestion("--one and --as-of need an entity; name it")
        from headwater.cli.status.overview import show_overview

        show_overview(url, json=json)
        return
    if entity.startswith(("team:", "product:")):
        from headwater.cli.status.group import show_group

        show_group(url, entity, json=json)
        return
    if one is not None and instances:
        raise InvalidQuestion("--one KEY and INSTANCES exclude each other: give only one")
    at = server.time(as_of)
    found = _scheduled(url, entity)
    if found is None:
        if one is not None or instances or at is not None:
            raise InvalidQuestion(f"{entity!r} has no schedule, and no instances; ask without them, or declare one")
        from headwater.cli.status.health import freshness

        freshness(entity, url=url, json=json)
        return
    entity, instance = found
    if instance is not None and not instances and one is None:
        instances = [instance]
    if one is not None:
        body = _instance(url, entity, one, at)
        if json:
            output.raw(body)
        else:
            _show(msgspec.json.decode(body), limit)
        return
    where = server.path("entities", entity, "status")
    body = server.ask(url, where, instances=instances, as_of=at, limit=_MOST)
    if json:
        output.raw(body)
        return
    found = msgspec.json.decode(body)
    if len(instances or ()) == 1 and sum(found["counts"].values()) == 1:
        _show(msgspec.json.decode(_instance(url, entity, found["asked"][0], at)), limit)
        return
    _calendar(found, url, at, limit)
    _stretches(found, limit)


def _scheduled(url: str | None, text: str) -> tuple[str, str | None] | None:
    """Return the entity that a text means, and the instance if it names one; None for a dataset without a schedule."""
    from headwater.cli import meaning

    try:
        server.ask(url, server.path("entities", text))
        return text, None
    except NotFound as unknown:
        try:
            found = meaning.find_object(url, text)
        except NotFound:
            raise unknown from None
    if found.get("entity"):
        return str(found["entity"]), found.get("instance")
    if found["type"] == "DATASET":
        return None
    raise InvalidQuestion(f"{meaning.described(found)}; the status of a dataset or of an instance can be shown")


def _instance(url: str | None, entity: str, key: str, at: str | None) -> bytes:
    return server.ask(url, server.path("entities", entity, "instances", key), as_of=at)


def _calendar(found: dict[str, Any], url: str | None, at: str | None, limit: int) -> None:
    letters = symbols(found["counts"])
    period = server.get(url, server.path("entities", found["entity"]), as_of=at)["declared"].get("period")
    title = f"{found['entity']}  {short(found['asked'])}" + (f"  as of {output.moment(at)} UTC" if at else "")
    output.line(output.printable(title), "bold")
    if period is not None and found["stretches"]:
        try:
            need("server", "the drawing of a calendar")
        except NotInstalled as missing:
            output.line(missing.message, "dim")
        else:
            _draw(found["stretches"], period, letters, limit)
    for word, count in found["counts"].items():
        letter, style = letters[word]
        output.pieces([(f"  {letter} ", style), (f"{output.printable(word):<12} {count:>8,}", "")])


def _draw(
    stretches: list[dict[str, Any]], period: dict[str, Any], letters: dict[str, tuple[str, str]], limit: int
) -> None:
    from headwater.entities.time.instances import Instances

    of = Instances.of(period)
    spec = of.calendar.spec
    # Further rows are cut below; cells beyond any row are not built.
    cells, before, after = _cells(of, stretches, limit * _WIDEST)
    drawn = rows(cells, spec.unit, spec.many, spec.week_start)
    cut = drawn[-limit:]
    before += sum(status is not None for row in drawn[:-limit] for status in row.cells)
    if before:
        output.line(f"{output.counted(before, 'instance')} before; --limit shows more", "dim")
    heading = ""
    for row in cut:
        if row.heading != heading:
            heading = row.heading
            output.line(heading, "dim")
        output.pieces(_row(row, letters))
    if after:
        output.line(f"{output.counted(after, 'instance')} after, none of them over", "dim")


def _row(row: Row, letters: dict[str, tuple[str, str]]) -> Iterable[tuple[str, str]]:
    yield row.label + "  " * (row.width == 1), "dim"
    for status in row.cells:
        letter, style = letters[status] if status is not None else ("", "")
        yield f"{letter:>{row.width}}", style
    if row.note:
        yield f"  {row.note}", "dim"


def _cells(of: Any, stretches: list[dict[str, Any]], most: int) -> tuple[list[Cell], int, int]:
    """Return the last cells, how many come before them, and how many that are not over come after."""
    from headwater.entities.time import keys, ranges

    runs = [(start, end, one["status"]) for one in stretches for start, end in ranges.read(of, [one["instances"]])]
    start, end, word = runs[-1]
    after = max(end - start - _AHEAD, 0) if word == "not over" else 0
    runs[-1] = start, end - after, word
    before = max(sum(end - start for start, end, _ in runs) - most, 0)
    cells, left = [], before
    for start, end, word in runs:
        passed = min(left, end - start)
        left -= passed
        cells += [Cell(keys.key(of.calendar, ordinal), word) for ordinal in range(start + passed, end)]
    return cells, before, after


def _stretches(found: dict[str, Any], limit: int) -> None:
    """Return the stretches that are neither completed nor still to come."""
    others = [
        one for one in found["stretches"]
        if one["status"] != "not over" and (one["status"] != "completed" or len(one["marks"]) > 1)
    ]  # fmt: skip
    if others:
        output.line()
        output.table(
            ("instances", "count", "status", "what is known"),
            [(one["instances"], f"{one['count']:,}", one["status"], _marks(one["marks"])) for one in others[:limit]],
            styles={2: {word: style for word, (_, style) in SYMBOLS.items()}},
        )
    if len(others) > limit:
        output.line(f"{len(others) - limit:,} more; --limit shows more", "dim")
    if found["more"]:
        output.line(f"{found['more']:,} stretches are not shown: name fewer instances", "yellow")


def _marks(marks: list[dict[str, Any]]) -> str:
    return ", ".join(f"{mark['kind']} {mark.get('ref', '')}".strip() for mark in marks)


def _show(one: dict[str, Any], limit: int) -> None:
    output.line(output.printable(f"{one['entity']} {one['instance']}"), "bold")
    interval = f"{one['start']} to {one['end']}" if one["start"] else None
    for name, value in (
        ("period", interval),
        ("status", one["status"]),
        ("valid", "yes: it may be used" if one["valid"] else "no"),
        ("marks", _marks(one["marks"])),
        ("doubts", "; ".join(one["doubts"])),
    ):
        if value:
            output.line(f"  {name:<8}{output.printable(value)}")
    if one["versions"]:
        output.line()
        output.table(
            ("version", "", "produced (UTC)", "run", "by", "code", "fingerprint", "rows", "size", "made from"),
            [
                (
                    version["seq"],
                    "current" if version["current"] else "",
                    output.moment(version["produced_at"]),
                    version["run"],
                    version["actor"],
                    version["code"],
                    version["fingerprint"],
                    None if version["rows"] is None else f"{version['rows']:,}",
                    output.size(version["bytes"]),
                    _reads(version["reads"]),
                )
                for version in one["versions"][:limit]
            ],
            styles={1: {"current": "green"}},
        )
    if one["history"]:
        output.line()
        output.table(
            ("report", "what", "ref", "happened (UTC)", "recorded (UTC)", "by", "reason"),
            [
                (
                    said["seq"],
                    said["what"],
                    said["ref"],
                    output.moment(said["happened_at"]),
                    output.moment(said["recorded_at"]),
                    said["actor"],
                    said["reason"],
                )
                for said in one["history"][:limit]
            ],
        )
    left_out = max(len(one["versions"]) - limit, 0), max(len(one["history"]) - limit, 0)
    if any(left_out):
        output.line(f"{left_out[0]:,} versions and {left_out[1]:,} reports more; --limit shows more", "dim")


def _reads(reads: list[dict[str, Any]] | None) -> str:
    if reads is None:
        return "not reported"
    return "; ".join(f"{read['entity']} {short(read['instances'])} as of {read['seq']}" for read in reads) or "nothing"
