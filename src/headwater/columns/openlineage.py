"""A statement in terms of OpenLineage: dataset names, column lineage, what happened to a table, the text. Pure: no event is made here.

Sources: OpenLineage's naming page and the facets columnLineage 1-2-0, lifecycleStateChange 1-0-1, sql 1-1-0. Facts that the facets cannot express are
omitted: columns that only a schema determines (`*`) and unresolved names; their tables are still inputs and outputs.
"""

import re
from collections.abc import Callable, Container, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import msgspec

from headwater.columns.dialect import EXTERNAL, rules
from headwater.columns.result import Flow, Input, Level, Statement, TableName
from headwater.model.names import DatasetName, from_location, normalised

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]+:/")
_FILE = re.compile(r"\.(?:parquet|csv|tsv|json|jsonl|ndjson|orc|avro|txt|xlsx|gz|zst)$", re.IGNORECASE)
_WILD = re.compile(r"[*?\[{]")
# Their catalogs keep names in lower case, however a statement spells them.
_LOWER = frozenset({"athena", "databricks", "hive", "presto", "redshift", "spark", "spark2", "trino"})
# Systems with one namespace for all the world.
_ONLY = {"bigquery": "bigquery"}
_LIFECYCLE = {"CLONE": "CREATE", "LIKE": "CREATE", "SWAP": "ALTER", "UNDROP": "CREATE"}


class Facets(msgspec.Struct, frozen=True):
    """The datasets a statement reads and writes. Bodies of facets lack `_producer` and `_schemaURL`: those are the sender's.

    `outputs` holds, for each dataset written, its facets by their OpenLineage keys. `job`: the facets of the statement itself.
    """

    inputs: tuple[DatasetName, ...]
    outputs: dict[DatasetName, dict[str, dict[str, Any]]]
    job: dict[str, dict[str, Any]]


def is_path(table: TableName) -> bool:
    """Return whether a name is a file, folder or object rather than a table: it has one part, with a scheme, a slash or a file's ending."""
    if len(table) != 1 or table[0].startswith("@"):
        return False
    return bool(_SCHEME.match(table[0]) or "/" in table[0] or _FILE.search(table[0]))


def names(table: TableName, dialect: str = "", namespace: str = "", base: str | None = None) -> DatasetName:
    """The dataset a table or path is.

    `namespace`: the platform's (`snowflake://org-account`, `postgres://host:5432`); BigQuery has but one. `base`: where relative paths start;
    without it they stay relative. A path with wildcards is the folder above them. Stages and table variables (`@x`) stay in the platform's namespace.
    """
    rule = rules(dialect)
    if is_path(table):
        return _location(table[0], base)
    if table and table[0].startswith(EXTERNAL):  # Another system's: in the namespace of the connection.
        return DatasetName(table[0], ".".join(table[1:]))
    namespace = namespace or _ONLY.get(rule.parser, rule.parser or "sql")
    parts = [part.lower() for part in table] if rule.parser in _LOWER else list(table)
    if rule.parser == "bigquery" and parts:
        parts[-1] = parts[-1].partition("$")[0]  # `t$20260101`: one partition of it
    if namespace.startswith("arn:aws:glue:"):
        return DatasetName(namespace, "/".join(["table", *parts[-2:]]))
    return normalised(namespace, ".".join(parts))


def _location(path: str, base: str | None) -> DatasetName:
    segments = path.split("/")
    first = 3 if "://" in path else 1
    for place, segment in enumerate(segments):
        if place >= first and _WILD.search(segment):
            path = "/".join(segments[:place]) + "/"
            break
    if base is None and not path.startswith("/") and not _SCHEME.match(path):
        return DatasetName("file", path.removeprefix("./").rstrip("/"))
    return from_location(path, base=base)


def facets(
    statement: Statement, dialect: str = "", namespace: str = "", query: str = "", base: str | None = None,
    through: Mapping[TableName, Sequence[str]] = MappingProxyType({}), made: Container[tuple[TableName, str]] = frozenset(),
) -> Facets:  # fmt: skip
    """Inputs, outputs with their facets, and the `sql` facet of the job (`query` is the statement's text; no facet without it).

    A field inside an output is an output of its own (`who.segment`), as Spark capture has it. `made`: the fields of tables that are outputs of
    their own elsewhere in what is reported: a read of one names it; else it names the column.
    `through`: of tables that are read through temporary tables only, the names of those.
    """
    known: dict[TableName, DatasetName] = {}

    def name(table: TableName) -> DatasetName:
        found = known.get(table)
        if found is None:
            found = known[table] = names(table, dialect, namespace, base)
        return found

    between = {name(table): f"through the temporary table {', '.join(tables)}" for table, tables in through.items()}
    renamed = {
        change.table: change.other
        for change in statement.changes
        if change.action == "RENAME" and change.other is not None
    }
    outputs: dict[DatasetName, dict[str, dict[str, Any]]] = {
        name(renamed.get(table, table)): {} for table in statement.writes
    }
    merged: dict[DatasetName, list[Flow]] = {}
    for flow in statement.flows:
        if flow.target is not None:
            merged.setdefault(name(flow.target), []).append(flow)
            outputs.setdefault(name(flow.target), {})
    for target, flows in merged.items():
        if any(flow.columns or flow.rows for flow in flows):
            outputs[target]["columnLineage"] = _column_lineage(
                flows, _Sources(name, between, made), _unknown(statement)
            )
        if any(flow.action == "OVERWRITE" for flow in flows):
            outputs[target]["lifecycleStateChange"] = {"lifecycleStateChange": "OVERWRITE"}
    for change in (one for one in statement.changes if one.action != "PART"):
        body: dict[str, Any] = {"lifecycleStateChange": _LIFECYCLE.get(change.action, change.action)}
        target = name(change.table)
        if change.table in renamed:
            body["previousIdentifier"] = {"namespace": target.namespace, "name": target.name}
            target = name(renamed[change.table] or ())
        outputs.setdefault(target, {})["lifecycleStateChange"] = body
    behind = (
        table for flow in statement.flows for table in flow.reads
    )  # A variable's tables are read where it got its value.
    inputs = tuple(dict.fromkeys(name(table) for table in (*statement.reads, *behind)))
    told = {"query": query} | ({"dialect": rules(dialect).parser} if rules(dialect).parser else {})
    return Facets(inputs, outputs, {"sql": told} if query else {})


def _unknown(statement: Statement) -> set[str]:
    """Columns whose reported inputs may be incomplete."""
    if statement.warnings or statement.level not in {Level.FULL, Level.PARTIAL}:
        return {output.name for flow in statement.flows for output in flow.columns}
    placed = {place[:2] for one in statement.unresolved for place in one.outputs}
    return {
        output.name
        for nth, flow in enumerate(statement.flows)
        for place, output in enumerate(flow.columns)
        if (nth, place) in placed or any(one.field == "*" or not one.table for one in output.inputs)
    }


class _Sources:
    """The naming of what feeds a column. `between`, `made`: see `facets`."""

    def __init__(
        self,
        name: Callable[[TableName], DatasetName],
        between: Mapping[DatasetName, str],
        made: Container[tuple[TableName, str]],
    ) -> None:
        self.name, self.between, self.made = name, between, made

    def parts(self, one: Input) -> list[Input]:
        """An input as its fields, as far as they are outputs elsewhere."""
        found = [Input(one.table, one.field, bits, path) for path, bits in one.paths or ((one.path, one.kinds),)]
        return [
            Input(each.table, f"{each.field}.{each.path}", each.kinds)
            if each.path and (each.table, f"{each.field}.{each.path}") in self.made
            else each
            for each in found
        ]


def _column_lineage(flows: list[Flow], sources: _Sources, unknown: set[str]) -> dict[str, Any]:
    """One facet of all that goes into one target: inputs of the same column are one, with the kinds of all.

    A field without inputs says that nothing feeds it, so one of the `unknown` is left out then.
    """
    fields: dict[str, list[Input]] = {}
    rows: list[Input] = []
    for flow in flows:
        for output in flow.columns:
            if output.name and output.name != "*":
                fields.setdefault(output.name, []).extend(output.inputs)
                for path, inputs in output.fields:
                    if not path.endswith("*"):
                        fields.setdefault(f"{output.name}.{path}", []).extend(inputs)
        rows += flow.rows
    told = {field: _input_fields(inputs, sources) for field, inputs in fields.items()}
    body: dict[str, Any] = {
        "fields": {field: {"inputFields": made} for field, made in told.items() if made or field not in unknown}
    }
    whole = _input_fields(rows, sources)
    return body | {"dataset": whole} if whole else body


def _input_fields(inputs: list[Input], sources: _Sources) -> list[dict[str, Any]]:
    merged: dict[tuple[DatasetName, str], Input] = {}
    for one in (part for each in inputs for part in sources.parts(each)):
        if one.field == "*" or not one.table:
            continue
        key = (sources.name(one.table), one.field)
        known = merged.get(key)
        if known is not None:
            path = one.path if one.path == known.path else ""
            merged[key] = Input(one.table, one.field, one.kinds | known.kinds, path)
        else:
            merged[key] = one
    return [
        {
            "namespace": dataset.namespace,
            "name": dataset.name,
            "field": field,
            "transformations": [
                {
                    "type": kind.type,
                    "subtype": kind.subtype,
                    "description": ", ".join(
                        filter(
                            None,
                            (
                                kind.description,
                                f"from {one.path} in it" if one.path else "",
                                sources.between.get(dataset, ""),
                            ),
                        )
                    ),
                    "masking": kind.masking,
                }
                for kind in one.transformations
            ],
        }
        for (dataset, field), one in merged.items()
    ]
