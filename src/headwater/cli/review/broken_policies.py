"""Policies that a branch would break, by what its texts read and make, and the tagged columns that a server knows; not those broken before it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from headwater.cli import declared_text, server
from headwater.columns.project import AnalysedText
from headwater.columns.result import Flow, Input, TableName
from headwater.entities.privacy.policies import Policy, PolicyFile, read_policies
from headwater.model.patterns import Pattern

_OF_TAGS = ("never_in", "only_in")
Columns = dict[tuple[str, str], list[str]]
"""Columns that carry a tag, by table and name in lower case, each with the way to it."""


class BrokenPolicy(msgspec.Struct, frozen=True):
    """`place`, `line`: the statement that breaks it. `path`: tables and columns that lead there."""

    policy: str
    place: str
    line: int
    table: str
    column: str | None
    path: list[str]


class Policies(msgspec.Struct, frozen=True):
    """Policies to hold a branch to, and the columns that carry their tags, by tag."""

    policies: tuple[Policy, ...] = ()
    carrying: Mapping[str, tuple[tuple[str, str], ...]] = {}


def load_policies(files: Sequence[Path], url: str | None) -> Policies:
    """Read policies, by default those that are applied on the server, and ask it which columns carry their tags; without a server none does.

    Raises InvalidPolicies.
    """
    texts = [PolicyFile(str(file), declared_text.read_text(file)) for file in files]
    if url and not texts:
        texts = msgspec.convert(server.get(url, "/api/v2/privacy/policies")["files"], list[PolicyFile])
    found = tuple(read_policies(texts)) if texts else ()
    carrying: dict[str, tuple[tuple[str, str], ...]] = {}
    for tag in {policy.tag for policy in found if policy.tag} if url else ():
        told: dict[str, Any] = server.get(url, "/api/v2/privacy/where", tag=tag)
        carrying[tag] = tuple(
            (one["dataset"].rpartition(":")[2].lower(), one["column"].lower())
            for one in told["columns"]
            if one["column"] and one["handling"] != "masked"
        )
    return Policies(found, carrying)


def broken_policies(
    given: Policies, before: Sequence[AnalysedText], after: Sequence[AnalysedText], today: dt.date
) -> list[BrokenPolicy]:
    """Return what the texts of the branch break and those of the base do not. `written_by` is about jobs, which texts do not name."""
    found = []
    for policy in given.policies:
        old = {(one.table, one.column) for one in _broken(policy, given, before)}
        found += [
            one
            for one in _broken(policy, given, after)
            if (one.table, one.column) not in old
            and not any(some.holds(one.table, today) for some in policy.exceptions)
        ]
    return found


def _broken(policy: Policy, given: Policies, texts: Sequence[AnalysedText]) -> list[BrokenPolicy]:
    if policy.rule == "never_reads":
        return list(_reads(policy, texts))
    return list(_carries(policy, given.carrying.get(policy.tag, ()), texts)) if policy.rule in _OF_TAGS else []


def _reads(policy: Policy, texts: Iterable[AnalysedText]) -> Iterator[BrokenPolicy]:
    for place, line, flow, table in _flows(texts):
        if not _matches(policy.datasets, table):
            continue
        for read in sorted({_name(each) for each in flow.reads} - {table}):
            if _matches(policy.patterns, read):
                yield BrokenPolicy(policy.name, place, line, table, None, [read, table])


def _carries(
    policy: Policy, tagged: Iterable[tuple[str, str]], texts: Sequence[AnalysedText]
) -> Iterator[BrokenPolicy]:
    made = {table for _, _, _, table in _flows(texts)}
    columns: Columns = {
        (table, column): [f"{table}#{column}"]
        for table, column in tagged
        if not any(_is_same(table, each) for each in made)  # what the texts make is as they make it
    }
    where: dict[tuple[str, str], tuple[str, int]] = {}
    size = -1
    while size != len(where):
        size = len(where)
        for place, line, flow, table in _flows(texts):
            for output in flow.columns:
                at = table, output.name.lower()
                way = next((way for each in output.inputs if (way := _way(each, columns, policy))), None)
                if way is not None and at not in where:
                    where[at], columns[at] = (place, line), [*way, f"{table}#{output.name}"]
    for (table, column), (place, line) in where.items():
        if _matches(policy.patterns, table) == (policy.rule == "never_in"):
            yield BrokenPolicy(policy.name, place, line, table, column, columns[table, column])


def _way(one: Input, columns: Columns, policy: Policy) -> list[str] | None:
    """The way to a column that this input takes a tagged value from."""
    takes = any(each.type == "DIRECT" and not (each.masking and policy.masked_allowed) for each in one.transformations)
    if not takes:
        return None
    name, field = _name(one.table), one.field.lower()
    return next((way for (table, column), way in columns.items() if column == field and _is_same(table, name)), None)


def _flows(texts: Iterable[AnalysedText]) -> Iterator[tuple[str, int, Flow, str]]:
    for one in texts:
        for statement in one.statements:
            for flow in statement.flows:
                target = flow.target or one.text.target
                if target is not None:
                    yield one.text.place, statement.line, flow, _name(target)


def _name(table: TableName) -> str:
    return ".".join(table).lower()


def _is_same(one: str, other: str) -> bool:
    return one == other or one.endswith(f".{other}") or other.endswith(f".{one}")


def _matches(patterns: Iterable[Pattern], name: str) -> bool:
    return any(one.matches(name) for one in patterns)
