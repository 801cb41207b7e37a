"""SQL statements as `headwater sql` prints them: lines for people, one JSON object for programs.

Lines consist of (text, style) pieces: a terminal shows them in colours, a pipe gets the same text, uncut.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from headwater.cli.output import escaped

if TYPE_CHECKING:
    from headwater.capture.dbt.project import Dependent
    from headwater.columns import Flow, Input, Output, Statement
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
    """A statement and its source text. `line`: the statement's first line in the file."""

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
        """True if the statement is understood in full, with every name resolved."""
        return self.statement.level == "full" and not self.statement.unresolved


def name(table: Sequence[str]) -> str:
    """Join a table's name: a part with a dot is quoted, unless it is the only part."""
    if len(table) == 1:
        return table[0]
    return ".".join(f'"{part}"' if "." in part else part for part in table)


def column(one: "Input") -> str:
    """Return `table.column`, with the paths inside the column if they are known."""
    paths = [path for path, _ in one.paths] or [one.path]
    inside = f" (at {', '.join(paths)})" if all(paths) else ""
    return (f"{name(one.table)}." if one.table else "") + one.field + inside


# -- for people --


def lines(found: ParsedStatement, *, tables_only: bool = False) -> Iterator[Line]:
    """Yield the heading, tables, columns and their sources, what filters rows, and unresolved names."""
    statement = found.statement
    words, style = _LEVELS[statement.level]
    heading: Line = [(escaped(found.place), "dim"), ("  ", ""), (statement.kind, "bold")]
    if statement.name:
        heading.append((f" {escaped(statement.name)}", "bold"))
    if statement.writes:
        heading.append((" → " + ", ".join(escaped(name(table)) for table in statement.writes), "bold"))
    if statement.within:
        heading.append((f"  in {escaped(statement.within)}", "dim"))
    if words:
        heading.append((f"  [{words}]", style))
    yield heading
    for title, tables in (("reads ", statement.reads), ("writes", statement.writes)):
        if tables:
            yield [(f"  {title}  ", "dim"), (", ".join(escaped(name(table)) for table in tables), "")]
    made = {flow.target for flow in statement.flows if flow.action == "CREATE"}
    for change in statement.changes:
        if change.action == "CREATE" and change.table in made:
            continue
        other = f" → {escaped(name(change.other))}" if change.other else ""
        yield [("  change  ", "dim"), (f"{change.action} {escaped(name(change.table))}{other}", "")]
    if not tables_only:
        for index, flow in enumerate(statement.flows):
            if len(statement.flows) > 1:
                yield [(f"  {flow.action}", "dim"), (f" → {escaped(name(flow.target))}" if flow.target else "", "bold")]
            yield from _flow(statement, index, flow)
        yield from _unresolved(statement)
    for warning in statement.warnings:
        yield [("  ! ", "yellow"), (escaped(warning), "yellow")]


def _flow(statement: "Statement", index: int, flow: "Flow") -> Iterator[Line]:
    open_names: dict[int, list[tuple[str, int]]] = {}
    for unresolved in statement.unresolved:
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
        yield from _fields(flow.columns[place], last)
    deciding = _sources(flow.rows, open_names.get(-1, ()))
    source_width = _width([text for text, _ in deciding])
    for row, (text, transformations) in enumerate(deciding):
        yield [("       " if row else "  rows ", "dim"), *_source(text, transformations, source_width)]


def _fields(column: "Output", last: bool) -> Iterator[Line]:
    """Yield the fields inside a column, as `who.segment`."""
    for path, inputs in column.fields:
        if path.endswith("*"):
            continue
        for row, one in enumerate(_sources(inputs, ())):
            label = "" if row else escaped(f"{column.name}.{path}")
            yield [
                ("     " if last else "  │  ", "dim"),
                (f"{label or '':<{len(column.name) + len(path) + 1}} ", "dim"),
                *_source(*one, 0),
            ]


def _width(texts: list[str]) -> int:
    """Return a width at which most of them align."""
    return max((len(text) for text in texts if len(text) <= _WIDEST), default=0)


def _sources(
    inputs: Sequence["Input"], open_names: Sequence[tuple[str, int]]
) -> list[tuple[str, tuple["Transformation", ...]]]:
    """Yield the source columns, direct ones first, then unresolved names."""
    from headwater.columns import kinds

    rows = [(escaped(column(one)), one.transformations) for one in inputs]
    rows.sort(key=lambda row: not any(kind.type == "DIRECT" for kind in row[1]))
    return rows + [(f"? {escaped(text)}", kinds.transformations(bits)) for text, bits in open_names]


def _source(text: str, transformations: tuple["Transformation", ...], width: int) -> Line:
    """Yield an arrow, a column and its direct kind, then its indirect kinds after another arrow."""
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


def _unresolved(statement: "Statement") -> Iterator[Line]:
    for one in statement.unresolved:
        candidates = " or ".join(escaped(column(candidate)) for candidate in one.candidates) or "no known table"
        yield [
            ("  ? ", "red"),
            (escaped(one.name), "red"),
            (f": {candidates}", ""),
            (f"  ({escaped(one.reason)}; confidence {one.confidence:.2f})", "dim"),
        ]


def count(counts: Counter[str], found: ParsedStatement) -> None:
    """Count how far a statement was understood, and its unresolved names."""
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
    """Return the shape that docs/reference/cli.md describes."""
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
    statement = found.statement
    made: dict[str, Any] = {
        "file": found.file,
        "index": statement.index,
        "line": statement.line,
        "start": statement.start,
        "end": statement.end,
        "kind": statement.kind,
        "name": statement.name or None,
        "level": str(statement.level),
        "within": statement.within or None,
        "reads": [_table(table) for table in statement.reads],
        "writes": [_table(table) for table in statement.writes],
        "flows": [_flow_json(flow, tables_only) for flow in statement.flows],
        "changes": [
            {"action": one.action, "table": _table(one.table), "other": _table(one.other)} for one in statement.changes
        ],
        "partitions": [{"table": _table(table), "part": part} for table, part in statement.partitions],
        "warnings": list(statement.warnings),
    }
    if not tables_only:
        made["unresolved"] = [_unresolved_json(one) for one in statement.unresolved]
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
        made["columns"] = [_column(one) for one in flow.columns]
        made["rows"] = [_input(given) for given in flow.rows]
    return made


def _column(one: "Output") -> dict[str, Any]:
    made: dict[str, Any] = {"name": one.name, "inputs": [_input(given) for given in one.inputs]}
    fields = [
        {"path": path, "inputs": [_input(given) for given in inputs]}
        for path, inputs in one.fields
        if not path.endswith("*")
    ]
    return made | {"fields": fields} if fields else made


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
        **({"paths": [path or None for path, _ in one.paths]} if one.paths else {}),
    }


def _transformations(bits: int) -> list[dict[str, Any]]:
    from headwater.columns import kinds

    return [
        {
            "type": kind.type,
            "subtype": kind.subtype,
            "masking": kind.masking,
            **({"description": kind.description} if kind.description else {}),
        }
        for kind in kinds.transformations(bits)
    ]


def shape(found: ParsedStatement, dialect: str) -> tuple[str, str]:
    """Return a statement's fingerprint and normalised text."""
    from headwater.columns.dialect import rules
    from headwater.columns.shape.fingerprint import shape as shape_of

    statement = shape_of(found.query, rules(dialect).parser)
    return statement.fingerprint, statement.normalised


def dependent(one: "Dependent") -> dict[str, Any]:
    """Return what reads tables without SQL of its own, for programs."""
    reads = [_table(table) for table in one.reads]
    return {"kind": one.kind, "name": one.name, "file": one.place, "reads": reads, "writes": _table(one.writes)}
