"""Apache Hive's lineage of its own test statements against the engine: `POSTHOOK: Lineage`, `Input` and `Output` of its q.out files.

    python -m tests.oracle.hive FOLDER [--show N] [--what columns|reads]

FOLDER holds q.out files of Hive 3.1 (ql/src/test/results/clientpositive). They are not part of this repository. Only files whose name has an even
CRC-32 are read. A disagreement is Hive's own when hive_verdicts.yaml lists its class with its cause; all others are ours.
"""

import argparse
import re
import sys
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from headwater.columns import Catalog, Level, Session, Statement, analyse
from headwater.columns.kinds import CONDITIONAL, DIRECT, MASKED
from headwater.columns.result import Input, TableName
from tests.oracle import hive_classes
from tests.oracle.hive_classes import Line, Surroundings

VERDICTS = Path(__file__).parent / "hive_verdicts.yaml"
_VALUE = DIRECT | CONDITIONAL
NOTHING: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())
_HOOK = re.compile(r"(PRE|POST)HOOK: (query|type|Input|Output|Lineage): (.*)", re.DOTALL)
_ONLY_SAID = re.compile(r"(?:\s|--[^\n]*\n)*(?:EXPLAIN|SET\s|DESC|SHOW|ANALYZE)", re.IGNORECASE)
_MATERIALIZED = re.compile(r"\s*create\s+materialized\s+view\b", re.IGNORECASE)
_LINEAGE = re.compile(
    r"(?P<table>\S+?)(?: PARTITION\((?P<partition>[^)]*)\))?\.(?P<column>[^.]+?) (?P<kind>SIMPLE|EXPRESSION|SCRIPT|AGGREGATION|UDF|UDAF) \[(?P<inputs>.*)\]\s*$"
)
_INPUT = re.compile(
    r"\((?P<table>[^()]*)\)[^.(),]*\.(?:FieldSchema\(name:(?P<column>.*?), type:.*?(?=\), |\)$)\)|null)"
)

Edges = dict[str, dict[str, frozenset[str]]]
"""Target to column to the columns it is made of."""


@dataclass
class Case:
    """One statement of a file: what Hive said of it."""

    file: str
    text: str
    type: str = ""
    inputs: set[str] = field(default_factory=set)
    outputs: set[str] = field(default_factory=set)
    edges: Edges = field(default_factory=dict)
    kinds: set[str] = field(default_factory=set)


def files(folder: Path) -> list[Path]:
    """The half of the files that may be read."""
    return [one for one in sorted(folder.rglob("*.q.out")) if zlib.crc32(one.name.encode()) % 2 == 0]


def cases(path: Path) -> Iterator[Case]:
    """The statements of one file, in order."""
    current: Case | None = None
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    place = 0
    while place < len(lines):
        line = lines[place]
        place += 1
        found = _HOOK.match(line)
        if found is None or found[1] != "POST":
            continue
        what, said = found[2], found[3]
        if what == "query":
            if current is not None:
                yield current
            text = [said]
            while place < len(lines) and not lines[place].startswith(("POSTHOOK: type:", "PREHOOK: ")):
                text.append(lines[place])
                place += 1
            current = Case(path.name, "\n".join(text))
        elif current is None:
            continue
        elif what == "type" and current.type:  # Of a statement whose text is masked.
            yield current
            current = None
        elif what == "type":
            current.type = said.strip()
        elif what == "Input" and "@" in said and not said.startswith("_dummy_database@"):  # Hive's table of constants
            current.inputs.add(_table(said))
        elif what == "Output" and "@" in said:
            current.outputs.add(_table(said))
        elif what == "Lineage":
            _add_lineage(current, said)
    if current is not None:
        yield current


def _table(said: str) -> str:
    database, table, *_ = said.strip().split("@")
    return f"{database}.{table}".lower()


def _add_lineage(case: Case, said: str) -> None:
    found = _LINEAGE.match(said)
    if found is None:
        return
    inputs: set[str] = set()
    for one in _INPUT.finditer(found["inputs"]):
        inputs.add(f"{one['table'].lower()}.{(one['column'] or '*').lower()}")
    columns = case.edges.setdefault(found["table"].lower().rpartition(".")[2], {})
    name = found["column"].lower()
    columns[name] = columns.get(name, frozenset()) | inputs
    case.kinds.add(found["kind"])


# --- the engine


def known() -> Catalog:
    """The tables that Hive's tests find there."""
    return Catalog(yaml.safe_load(VERDICTS.read_text(encoding="utf-8"))["tables"], "hive")


def said_edges(statement: Statement) -> dict[str, dict[str, tuple[frozenset[str], frozenset[str]]]]:
    """Target to column to what it is made of, and what else decides about it."""
    found: dict[str, dict[str, tuple[frozenset[str], frozenset[str]]]] = {}
    for flow in statement.flows:
        if flow.target is None or flow.action == "DELETE":
            continue
        columns = found.setdefault(flow.target[-1].lower(), {})
        for output in flow.columns:
            before, deciding = columns.get(output.name.lower(), NOTHING)
            values = {_column(one) for one in output.inputs if (one.kinds | one.kinds >> MASKED) & _VALUE}
            columns[output.name.lower()] = (before | values, deciding | {_column(one) for one in output.inputs})
    return found


def _column(one: Input) -> str:
    return f"{one.table[-1] if one.table else ''}.{one.field}".lower()


def name(table: TableName) -> str:
    return ".".join(table).lower() if len(table) > 1 else f"default.{table[0]}".lower()


@dataclass
class Difference:
    case: Case
    what: str
    level: str
    lines: list[Line]
    warnings: list[str]
    around: Surroundings


@dataclass
class Report:
    columns: int = 0
    columns_exact: int = 0
    edges: Counter[str] = field(default_factory=Counter)
    tables: int = 0
    tables_exact: int = 0
    differences: list[Difference] = field(default_factory=list)


def compare(folder: Path) -> Report:
    report, catalog = Report(), known()
    listed: dict[str, list[str]] = yaml.safe_load(VERDICTS.read_text(encoding="utf-8"))["tables"]
    columns = {one.rpartition(".")[2]: frozenset(own) for one, own in listed.items()}
    for path in files(folder):
        session = Session(schema="default", through_views=True)
        materialized: set[str] = set()
        for case in cases(path):
            statements = analyse(case.text, "hive", catalog, session)
            if "A masked pattern was here" not in case.text and not _ONLY_SAID.match(case.text):
                _compare(case, statements, report, Surroundings(case.text, columns, frozenset(materialized)))
            if _MATERIALIZED.match(case.text):
                materialized |= {name(one) for made in statements for one in made.writes} | case.outputs
    return report


def _compare(case: Case, statements: list[Statement], report: Report, around: Surroundings) -> None:
    level = next((one.level.value for one in statements if one.level != Level.FULL), "full")
    warnings = [text for one in statements for text in one.warnings]
    warnings += [f"open: {left.name}" for one in statements for left in one.unresolved]
    if case.edges:
        report.columns += 1
        lines = _columns(case, statements, report)
        report.columns_exact += not lines
        if lines:
            report.differences.append(Difference(case, "columns", level, lines, warnings, around))
    if case.type in {"QUERY", "CREATETABLE_AS_SELECT", "CREATEVIEW"}:
        report.tables += 1
        reads = frozenset(name(table) for one in statements for table in one.reads)
        report.tables_exact += reads == case.inputs
        if reads != case.inputs:
            line = Line("reads", frozenset(case.inputs), reads, frozenset(case.outputs), True)
            report.differences.append(Difference(case, "reads", level, [line], warnings, around))


def _columns(case: Case, statements: list[Statement], report: Report) -> list[Line]:
    mine: dict[str, dict[str, tuple[frozenset[str], frozenset[str]]]] = {}
    for one in statements:
        for target, found in said_edges(one).items():
            mine.setdefault(target, {}).update(found)
    lines: list[Line] = []
    for target, columns in case.edges.items():
        ours = mine.get(target, {})
        for column, wanted in columns.items():
            got, deciding = ours.get(column, NOTHING)
            report.edges["right"] += len(got & wanted)
            report.edges["extra"] += len(got - wanted)
            report.edges["missing"] += len(wanted - got)
            if got != wanted:
                lines.append(Line(f"{target}.{column}", wanted, got, deciding, column in ours))
    return lines


def verdicts() -> dict[str, str]:
    """The classes in which Hive is not followed, with their causes."""
    return yaml.safe_load(VERDICTS.read_text(encoding="utf-8"))["classes"]  # type: ignore[no-any-return]


def classes(difference: Difference) -> list[str]:
    """The class of each line of a disagreement; "ours" where it is none of Hive's own."""
    judge = hive_classes.column if difference.what == "columns" else hive_classes.reads
    return [judge(one, difference.around) for one in difference.lines]


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare the engine with what Hive said.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--show", type=int, default=0)
    parser.add_argument("--what", default="")
    arguments = parser.parse_args()
    report = compare(arguments.folder)
    judged = [(one, classes(one)) for one in report.differences]
    counted = Counter((one.what, "ours" if "ours" in found else found[0], one.level) for one, found in judged)
    unlisted = {name for _, found in judged for name in found} - {"ours", *verdicts()}
    if unlisted:
        sys.exit(f"classes without a cause in {VERDICTS.name}: {sorted(unlisted)}")
    right, extra, missing = (report.edges[what] for what in ("right", "extra", "missing"))
    for what, exact, count in (
        ("columns", report.columns_exact, report.columns),
        ("reads", report.tables_exact, report.tables),
    ):
        ours = sum(number for (called, found, _), number in counted.items() if called == what and found == "ours")
        print(
            f"{what}: {exact} of {count} exact ({100 * exact / count:.2f} %), {100 * (count - ours) / count:.2f} % without what is Hive's own"
        )
    print(f"edges: precision {100 * right / (right + extra):.2f}, recall {100 * right / (right + missing):.2f}")
    for (what, called, level), number in sorted(counted.items()):
        print(f"  {what}  {called}  {level}: {number}")
    shown = [one for one, found in judged if "ours" in found and arguments.what in {"", one.what}]
    for one in shown[: arguments.show]:
        print(f"\n== {one.case.file} [{one.level}] {one.what} {one.warnings[:3]}\n{one.case.text[:900]}")
        for line in one.lines[:6]:
            print("   ", line)
    sys.exit(1 if failing(report, judged) else 0)


def failing(report: Report, judged: list[tuple[Difference, list[str]]]) -> bool:
    """Return whether less than 98 % agree where Hive is followed, or a wrong statement is called full."""
    ours = [one for one, found in judged if "ours" in found]
    shares = [
        sum(one.what == what for one in ours) / count
        for what, count in (("columns", report.columns), ("reads", report.tables))
    ]
    return max(shares) > 0.02 or any(one.level == "full" for one in ours)


if __name__ == "__main__":
    main()
