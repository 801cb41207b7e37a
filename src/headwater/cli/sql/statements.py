"""Statements of SQL as `headwater sql` prints them: lines for people, one JSON object for programs.

Lines are made of (text, style) pieces, so that a terminal gets colours and a pipe the same words without them, nothing cut off.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from headwater.cli.output import escaped

if TYPE_CHECKING:
    from headwater.columns import Flow, Input, Statement
    from headwater.model.lineage import Transformation

Line = list[tuple[str, str]]
_LEVELS = {
    "full": ("", ""),
    "partial": ("understood in part", "yellow"),
    "tables": ("not parsed: tables only", "yellow"),
    "nothing": ("not understood", "bold red"),
}
_STYLES = {"IDENTITY": "dim", "TRANSFORMATION": "cyan", "AGGREGATION": "green"}
_WIDEST = 40


class ParsedStatement(NamedTuple):
    """A statement and the text it stands in. `line` is the statement's first in the file."""

    file: str
    text: str
    statement: "Statement"

    @property
    def place(self) -> str:
        return f"{self.file}:{self.statement.line}"

    @property
    def query(self) -> str:
        return self.text[self.statement.start : self.statement.end]

    @property
    def settled(self) -> bool:
        """Understood in full, with every name placed."""
        return self.statement.level == "full" and not self.statement.unresolved


def name(table: Sequence[str]) -> str:
    """A table's name as one text: a part that holds a dot stands in quotes, unless it is the only one."""
    if len(table) == 1:
        return table[0]
    return ".".join(f'"{part}"' if "." in part else part for part in table)


def column(one: "Input") -> str:
    """`table.column`, and where inside it when that is known."""
    return (f"{name(one.table)}." if one.table else "") + one.field + (f" (at {one.path})" if one.path else "")


# -- for people --


def lines(found: ParsedStatement, *, tables_only: bool = False) -> Iterator[Line]:
    """Heading, tables, columns and what feeds them, what decides about rows, what stayed open."""
    told = found.statement
    words, style = _LEVELS[told.level]
    heading: Line = [(escaped(found.place), "dim"), ("  ", ""), (told.kind, "bold")]
    if told.name:
        heading.append((f" {escaped(told.name)}", "bold"))
    if told.writes:
        heading.append((" → " + ", ".join(escaped(name(table)) for table in told.writes), "bold"))
    if told.within:
        heading.append((f"  in {escaped(told.within)}", "dim"))
    if words:
        heading.append((f"  [{words}]", style))
    yield heading
    for title, tables in (("reads ", told.reads), ("writes", told.writes)):
        if tables:
            yield [(f"  {title}  ", "dim"), (", ".join(escaped(name(table)) for table in tables), "")]
    made = {flow.target for flow in told.flows if flow.action == "CREATE"}
    for change in told.changes:
        if change.action == "CREATE" and change.table in made:
            continue
        other = f" → {escaped(name(change.other))}" if change.other else ""
        yield [("  change  ", "dim"), (f"{change.action} {escaped(name(change.table))}{other}", "")]
    if not tables_only:
        for index, flow in enumerate(told.flows):
            if len(told.flows) > 1:
                yield [(f"  {flow.action}", "dim"), (f" → {escaped(name(flow.target))}" if flow.target else "", "bold")]
            yield from _flow(told, index, flow)
        yield from _unresolved(told)
    for warning in told.warnings:
        yield [("  ! ", "yellow"), (escaped(warning), "yellow")]


def _flow(told: "Statement", index: int, flow: "Flow") -> Iterator[Line]:
    open_names: dict[int, list[tuple[str, int]]] = {}
    for unresolved in told.unresolved:
        for at, place, bits in unresolved.outputs:
            if at == index:
                open_names.setdefault(place, []).append((unresolved.name, bits))
    labels = [escaped(one.name) or f"(column {place})" for place, one in enumerate(flow.columns, 1)]
    entries = [_sources(one.inputs, open_names.get(place, ())) for place, one in enumerate(flow.columns)]
    width = _width(labels)
    source_width = _width([text for sources in entries for text, _ in sources])
    for place, (label, sources) in enumerate(zip(labels, entries, strict=True)):
        last = place == len(labels) - 1
        for row, made in enumerate([_source(*one, source_width) for one in sources] or [[("(no column)", "dim")]]):
            branch = ("  └─ " if last else "  ├─ ") if row == 0 else ("     " if last else "  │  ")
            yield [(branch, "dim"), (f"{'' if row else label:<{width}} ", ""), *made]
    deciding = _sources(flow.rows, open_names.get(-1, ()))
    source_width = _width([text for text, _ in deciding])
    for row, (text, transformations) in enumerate(deciding):
        yield [("       " if row else "  rows ", "dim"), *_source(text, transformations, source_width)]


def _width(texts: list[str]) -> int:
    """So wide that most of them stand in line."""
    return max((len(text) for text in texts if len(text) <= _WIDEST), default=0)


def _sources(
    inputs: Sequence["Input"], open_names: Sequence[tuple[str, int]]
) -> list[tuple[str, tuple["Transformation", ...]]]:
    """The columns that feed or decide, direct ones first, then names that stayed open."""
    from headwater.columns import kinds

    rows = [(escaped(column(one)), one.transformations) for one in inputs]
    rows.sort(key=lambda row: not any(kind.type == "DIRECT" for kind in row[1]))
    return rows + [(f"? {escaped(text)}", kinds.transformations(bits)) for text, bits in open_names]


def _source(text: str, transformations: tuple["Transformation", ...], width: int) -> Line:
    """An arrow, a column, its direct kind, then its indirect ones behind an arrow of their own."""
    direct = [kind for kind in transformations if kind.type == "DIRECT"]
    indirect = [kind for kind in transformations if kind.type != "DIRECT"]
    made: Line = [("← " if direct else "⇠ ", "dim"), (f"{text:<{width}}  ", "red" if text.startswith("? ") else "")]
    for kind in direct:
        made.append((kind.subtype, _STYLES.get(kind.subtype, "")))
        if kind.masking:
            made.append((" masked", "magenta"))
    if direct and indirect:
        made.append(("  ⇠ ", "dim"))
    for number, kind in enumerate(indirect):
        made.append((", " if number else "", ""))
        made.append((kind.subtype, "yellow"))
        if kind.masking:
            made.append((" masked", "magenta"))
    return made


def _unresolved(told: "Statement") -> Iterator[Line]:
    for one in told.unresolved:
        candidates = " or ".join(escaped(column(candidate)) for candidate in one.candidates) or "no table that is known"
        yield [
            ("  ? ", "red"),
            (escaped(one.name), "red"),
            (f": {candidates}", ""),
            (f"  ({escaped(one.reason)}; confidence {one.confidence:.2f})", "dim"),
        ]


def count(counts: Counter[str], found: ParsedStatement) -> None:
    """Adds how far a statement was understood, and how many names it left open."""
    counts[str(found.statement.level)] += 1
    counts["unresolved"] += len(found.statement.unresolved)


def closing(counts: Counter[str]) -> str:
    part = counts["partial"] + counts["tables"]
    total = counts["full"] + part + counts["nothing"]
    text = f"{total} statement{'' if total == 1 else 's'}: {counts['full']} understood in full, {part} in part, {counts['nothing']} not"
    open_names = counts["unresolved"]
    return text + (f"; {open_names} name{'' if open_names == 1 else 's'} unresolved" if open_names else "")


# -- for programs --


def as_json(
    found: Sequence[ParsedStatement], dialect: str, *, tables_only: bool = False, fingerprints: bool = False
) -> dict[str, Any]:
    """The shape that docs/reference/cli.md describes."""
    counts: Counter[str] = Counter()
    for one in found:
        count(counts, one)
    total = {"statements": len(found), **{level: counts[level] for level in (*_LEVELS, "unresolved")}}
    return {
        "dialect": dialect,
        "statements": [_statement(one, dialect, tables_only, fingerprints) for one in found],
        "totals": total,
    }


def _statement(found: ParsedStatement, dialect: str, tables_only: bool, fingerprints: bool) -> dict[str, Any]:
    told = found.statement
    made: dict[str, Any] = {
        "file": found.file,
        "index": told.index,
        "line": told.line,
        "start": told.start,
        "end": told.end,
        "kind": told.kind,
        "name": told.name or None,
        "level": str(told.level),
        "within": told.within or None,
        "reads": [_table(table) for table in told.reads],
        "writes": [_table(table) for table in told.writes],
        "flows": [_flow_json(flow, tables_only) for flow in told.flows],
        "changes": [
            {"action": one.action, "table": _table(one.table), "other": _table(one.other)} for one in told.changes
        ],
        "warnings": list(told.warnings),
    }
    if not tables_only:
        made["unresolved"] = [_unresolved_json(one) for one in told.unresolved]
    if fingerprints:
        made["fingerprint"], made["normalised"] = shape(found, dialect)
    return made


def _flow_json(flow: "Flow", tables_only: bool) -> dict[str, Any]:
    made: dict[str, Any] = {
        "target": _table(flow.target),
        "action": flow.action,
        "reads": [_table(table) for table in flow.reads],
    }
    if not tables_only:
        made["columns"] = [
            {"name": one.name, "inputs": [_input(given) for given in one.inputs]} for one in flow.columns
        ]
        made["rows"] = [_input(given) for given in flow.rows]
    return made


def _unresolved_json(one: Any) -> dict[str, Any]:
    return {
        "name": one.name,
        "reason": one.reason,
        "confidence": one.confidence,
        "candidates": [_input(candidate) for candidate in one.candidates],
        "feeds": [
            {"flow": flow, "column": None if place < 0 else place, "transformations": _transformations(bits)}
            for flow, place, bits in one.outputs
        ],
    }


def _table(table: Sequence[str] | None) -> dict[str, Any] | None:
    return None if table is None else {"name": name(table), "parts": list(table)}


def _input(one: "Input") -> dict[str, Any]:
    return {
        "table": _table(one.table),
        "field": one.field,
        "path": one.path or None,
        "transformations": _transformations(one.kinds),
    }


def _transformations(bits: int) -> list[dict[str, Any]]:
    from headwater.columns import kinds

    return [
        {"type": kind.type, "subtype": kind.subtype, "masking": kind.masking} for kind in kinds.transformations(bits)
    ]


def shape(found: ParsedStatement, dialect: str) -> tuple[str, str]:
    """A statement's fingerprint and normalised text."""
    from headwater.columns.dialect import rules
    from headwater.columns.shape.fingerprint import shape as shape_of

    told = shape_of(found.query, rules(dialect).parser)
    return told.fingerprint, told.normalised


def events(found: Sequence[ParsedStatement], dialect: str, namespace: str, job_namespace: str) -> list[dict[str, Any]]:
    """An OpenLineage JobEvent for each statement with a target. The job is `file[target]`, or `file[target#2]` for the second of that name:
    it must not end as the target does, or a name's ending would mean both."""
    import os

    from headwater.client import event
    from headwater.columns.openlineage import facets

    schemas = {"columnLineage": "ColumnLineageDatasetFacet", "lifecycleStateChange": "LifecycleStateChangeDatasetFacet"}
    seen: Counter[str] = Counter()
    made = []
    for one in found:
        if not one.statement.writes:
            continue
        told = facets(one.statement, dialect, namespace, one.query, base=os.getcwd())  # noqa: PTH109
        job = f"{one.file}[{', '.join(name(table) for table in one.statement.writes)}"
        seen[job] += 1
        outputs = [
            event.dataset(
                output.namespace,
                output.name,
                facets={key: event.facet(schemas[key], **body) for key, body in bodies.items()},
            )
            for output, bodies in told.outputs.items()
        ]
        made.append(
            event.job(
                (job_namespace, f"{job}]" if seen[job] == 1 else f"{job}#{seen[job]}]"),
                inputs=[event.dataset(given.namespace, given.name) for given in told.inputs],
                outputs=outputs,
                job_facets={
                    "jobType": event.job_type("BATCH", "SQL", "QUERY"),
                    "sql": event.facet("SQLJobFacet", **told.job["sql"]),
                },
            )
        )
    return made
