"""This repository's engine, in the same shape as its peers."""

from headwater.columns import Catalog, analyse
from headwater.columns.kinds import DIRECT, MASKED

VALUE = DIRECT | DIRECT << MASKED


def prepare(schemas: dict[str, dict[str, str]]) -> Catalog:
    return Catalog(schemas, "spark")


def edges(sql: str, prepared: Catalog) -> list[tuple[str, set[tuple[str, str]]]]:
    (statement,) = analyse(sql, "spark", prepared)
    (flow,) = statement.flows
    return [
        (output.name, {(one.table[-1], one.field) for one in output.inputs if one.kinds & VALUE})
        for output in flow.columns
    ]
