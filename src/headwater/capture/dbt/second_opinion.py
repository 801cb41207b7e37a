"""Column lineage as dbt v2 sees it: the table of its own static analysis, to compare with ours.

dbt writes it with `dbt compile --static-analysis strict --write-index`, or `--generate-info-schema`. A row has the ids and columns of two nodes, and
`lineage_kind`: `copy` (the value as it is), `mod` (a value made from it) or `scan` (it decides about rows).
"""

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

import msgspec

from headwater.errors import InvalidQuestion

_PLACES = ("info_schema/*/dbt.column_lineage.parquet", "index/dbt.column_lineage.parquet")
_FIELDS = ("from_node_unique_id", "from_column_name", "to_node_unique_id", "to_column_name", "lineage_kind")
VALUE_KINDS = frozenset({"copy", "mod"})


class NodeEdge(msgspec.Struct, frozen=True):
    """A column of a node of dbt feeds one of another, by their unique ids."""

    source: str
    source_column: str
    target: str
    target_column: str
    kind: str


def opinion_file(target: Path) -> Path:
    """Return the newest table in dbt's target folder. Raises InvalidQuestion, which says how to let dbt write it."""
    found = [path for pattern in _PLACES for path in target.glob(pattern)]
    if not found:
        raise InvalidQuestion(
            f"{target} has no dbt.column_lineage.parquet: let dbt v2 write it, `dbt compile --static-analysis strict --write-index`"
        )
    return max(found, key=lambda path: path.stat().st_mtime_ns)


def read_opinion(path: Path) -> list[NodeEdge]:
    """Read the table; rows without a column at either end are left out. Raises InvalidQuestion for a file that is none."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise InvalidQuestion(
            f"{path} is not dbt's table of column lineage ({error}); let dbt write it again"
        ) from error
    if missing := [name for name in _FIELDS if name not in table.column_names]:
        raise InvalidQuestion(
            f"{path} is not dbt's table of column lineage: it has no column {', '.join(missing)}; it has {', '.join(table.column_names)}"
        )
    rows = zip(*(table.column(name).to_pylist() for name in _FIELDS), strict=True)
    return [NodeEdge(*map(str, row)) for row in rows if all(row)]


def through(edges: Iterable[NodeEdge], relations: Collection[str]) -> Iterator[NodeEdge]:
    """Yield the edges between nodes that are relations: an ephemeral model stands for what it reads. A node that reads itself ends there."""
    into: dict[tuple[str, str], list[NodeEdge]] = {}
    for edge in edges:
        into.setdefault((edge.target, edge.target_column), []).append(edge)
    for edge in (one for some in into.values() for one in some if one.target in relations):
        waiting, seen = [edge], {(edge.source, edge.source_column)}
        while waiting:
            one = waiting.pop()
            if one.source in relations:
                yield one
                continue
            for before in into.get((one.source, one.source_column), ()):
                if (before.source, before.source_column) not in seen:
                    seen.add((before.source, before.source_column))
                    kind = _joined(before.kind, one.kind)
                    waiting.append(NodeEdge(before.source, before.source_column, one.target, one.target_column, kind))


def _joined(first: str, then: str) -> str:
    if "scan" in (first, then):
        return "scan"
    return "copy" if first == then == "copy" else "mod"
