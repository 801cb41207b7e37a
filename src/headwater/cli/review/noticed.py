"""The parties that notice a review's changes, as a Headwater server knows them: dashboards, people and pipelines of the query logs, owners; and what
the changed tables cost. Asks `POST /api/v2/whatif` once for each change, and sends no more of the pull request's files than names of tables and
columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from headwater.capture.dbt.tiers import tier_of_tags
from headwater.cli import server
from headwater.cli.review.results import CHANGES, MAY_CHANGE, ORDER, Changed, Review
from headwater.errors import Ambiguous, InvalidQuestion, NotFound

MOST_QUESTIONS: Final = 50
_PLAIN: Final = {"drop_table": "drop", "drop_column": "drop", "rename_column": "rename"}


class Party(msgspec.Struct):
    """A dashboard, a person, a pipeline, or an owner or team to warn. `runs`, `last_at`: of its statements, if a log has them."""

    kind: str
    name: str
    severity: str
    because: list[str]
    runs: int | None = None
    last_at: str | None = None


class Cost(msgspec.Struct):
    """A changed table, and what its statements cost, in the currency of the prices; `keep_month`: to keep it."""

    table: str
    money: float | None
    keep_month: float | None
    executions: int


class Noticed(msgspec.Struct):
    """`tables`: each changed table that the server knows, with the worst effect on what it knows; "" if nothing notices. `unknown`: those that it
    does not know. `unasked`: changes past the limit of 50. `tiers`: of the tables, by the server's tags (`tier:gold`, `tier-1`)."""

    tables: dict[str, str] = {}
    parties: list[Party] = []
    costs: list[Cost] = []
    unknown: list[str] = []
    unasked: int = 0
    tiers: dict[str, str] = {}


def ask_server(url: str | None, review: Review, *, with_tiers: bool = False) -> Noticed:
    """Return the parties, and the tiers of the tables if they are asked for. Raises what the server's client raises; a table that the server does not
    know is listed instead."""
    parties: dict[tuple[str, str], Party] = {}
    known: dict[str, str] = {}
    tables: dict[str, str] = {}
    unknown: dict[str, None] = {}
    questions = list(dict.fromkeys(_questions(review)))
    for table, option, value, is_sure in questions[:MOST_QUESTIONS]:
        try:
            body = server.send(url, "POST", "/api/v2/whatif", {option: value})
        except (NotFound, Ambiguous, InvalidQuestion):
            unknown[table] = None
            continue
        answer = msgspec.json.decode(body)
        if answer["unknown"]:
            unknown[table] = None
        for change in answer["changes"]:
            known[change["dataset"]] = table
            worst = _weakened(answer["severity"] or "", is_sure=is_sure)
            tables[table] = max(tables.get(table, ""), worst, key=ORDER.index)
        for party in _parties(answer):
            party.severity = _weakened(party.severity, is_sure=is_sure)
            _merge(parties, party)
    order = {kind: place for place, kind in enumerate(("dashboard", "person", "owner", "team", "pipeline"))}
    ordered = sorted(
        parties.values(), key=lambda one: (order[one.kind], -ORDER.index(one.severity), -(one.runs or 0), one.name)
    )
    costs = [_cost(url, node, table) for node, table in sorted(known.items())]
    return Noticed(
        tables,
        ordered,
        [one for one in costs if one is not None],
        list(unknown),
        max(0, len(questions) - MOST_QUESTIONS),
        {table: tier for node, table in sorted(known.items()) if with_tiers and (tier := _tier(url, node))},
    )


def put_tiers(review: Review, tiers: Mapping[str, str]) -> Review:
    """Give tables that have no tier in their project the one that the server's tags have."""
    affected = [msgspec.structs.replace(one, tier=one.tier or tiers.get(one.table, "")) for one in review.affected]
    return msgspec.structs.replace(review, affected=affected)


def _weakened(severity: str, *, is_sure: bool) -> str:
    """Return what an edit does to its readers, by what other values would do to them: no more than it does to its own table."""
    return MAY_CHANGE if severity == CHANGES and not is_sure else severity


def _questions(review: Review) -> Iterator[tuple[str, str, str, bool]]:
    """The table of each change, its question (an option of what-if and its value), and whether the table surely changes."""
    for change in review.changes:
        if option := _PLAIN.get(change.action):
            yield change.table, option, _place(change), True
    for one in review.affected:
        if one.edited and one.table:
            # Other values: of these columns, or of all rows.
            names = ", ".join(f"{_quoted(column)} = null" for column in one.columns)
            table = ".".join(map(_quoted, one.table.split(".")))
            asked = " ".join(("update", table, "set", names) if names else ("truncate", table))
            yield one.table, "sql", asked, one.severity != MAY_CHANGE


def _place(change: Changed) -> str:
    name = f"{change.table}.{change.column}" if change.column else change.table
    return f"{name}:{change.to}" if change.action == "rename_column" else name


def _quoted(name: str) -> str:
    return name if name.isidentifier() else '"' + name.replace('"', '""') + '"'


def _parties(answer: dict[str, Any]) -> Iterator[Party]:
    for one in answer["dashboards"]:
        yield Party("dashboard", one["name"] or one["id"], one["severity"], one["columns"], last_at=one["last_at"])
    for kind, key in (("person", "people"), ("pipeline", "pipelines")):
        for one in answer[key]:
            yield Party(kind, one["actor"], one["severity"], one["jobs"], one["executions"], one["last_at"])
    for one in answer["warn"]:
        if one["role"] in {"owner", "team"}:
            yield Party(one["role"], one["who"], one["severity"], one["because"])


def _merge(parties: dict[tuple[str, str], Party], party: Party) -> None:
    """Join what several changes say of one party: the worst effect, the most runs (they are the same statements), the last time."""
    before = parties.setdefault((party.kind, party.name), party)
    if before is party:
        return
    before.severity = max(before.severity, party.severity, key=ORDER.index)
    before.because = list(dict.fromkeys([*before.because, *party.because]))
    before.runs = max(before.runs or 0, party.runs or 0) or None
    before.last_at = max(before.last_at or "", party.last_at or "") or None


def _tier(url: str | None, node: str) -> str:
    found = server.resolve(url, node, "DATASET")
    return tier_of_tags(server.get(url, server.path("datasets", found["namespace"], found["name"]))["tags"])


def _cost(url: str | None, node: str, table: str) -> Cost | None:
    found = server.get(url, "/api/v2/cost", grain="table", node=node, limit=1)["costs"]
    return Cost(table, found[0]["money"], found[0]["keep_month"], found[0]["executions"]) if found else None
