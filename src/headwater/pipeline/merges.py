"""The merge of each of the server's tables from the rows that events stand for, as DataFrame aggregations.

These say in Spark what `store/queries/events/projections.sql` says in SQL, by the same total orders, so both make the same table of the same
events. The function from an event to rows is given from outside: it is the server's own. Tables that
follow from more than events are not here (`ELSEWHERE`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (its usual name)
from pyspark.sql import types as T  # noqa: N812

from headwater.pipeline.tables import Table

_KINDS: Final[Mapping[str, T.DataType]] = {
    "uuid": T.StringType(),
    "text": T.StringType(),
    "bytes": T.BinaryType(),
    "flag": T.BooleanType(),
    "rank": T.ShortType(),
    "count": T.LongType(),
    "time": T.TimestampType(),
}
# Times travel as microseconds since 1970.
_SENT: Final = {
    "uuid": "string",
    "text": "string",
    "bytes": "binary",
    "flag": "boolean",
    "rank": "short",
    "count": "long",
    "time": "long",
}


@dataclass(frozen=True, slots=True)
class Merge:
    """`told`: of the query's rows each column's name and kind, in their order. `key` and `made` are the columns of the table, in its order but for
    what people say: `made` names each column's kind and how it is merged."""

    table: str
    query: str
    told: Mapping[str, str]
    key: tuple[str, ...]
    made: Mapping[str, tuple[str, str]]

    def sent(self) -> str:
        """The schema of a row as JSON."""
        return ", ".join(f"{name} {_SENT[kind]}" for name, kind in self.told.items())

    def declared(self) -> Table:
        kinds = {
            **{name: self.told[name] for name in self.key},
            **{name: kind for name, (kind, _) in self.made.items()},
        }
        return Table(
            self.table, T.StructType([T.StructField(name, _KINDS[kind]) for name, kind in kinds.items()]), self.key
        )

    def merged(self, rows: DataFrame) -> DataFrame:
        """The table of rows that are JSON in the column `row`."""
        read = rows.select(F.from_json("row", self.sent()).alias("r")).select(
            *(
                (F.timestamp_micros(f"r.{name}") if kind == "time" else F.col(f"r.{name}")).alias(name)
                for name, kind in self.told.items()
            )
        )
        if not self.made:
            return read.dropDuplicates([*self.key])
        return read.groupBy(*self.key).agg(*(F.expr(how).alias(name) for name, (_, how) in self.made.items()))


def _least(name: str = "at") -> str:
    return f"min({name})"


def _most(name: str = "at") -> str:
    return f"max({name})"


def _all(name: str) -> str:
    return f"bool_and({name})"


def _any(name: str) -> str:
    return f"bool_or({name})"


def _latest(name: str, *order: str, where: str | None = None) -> str:
    """`name` from the last row by (at, digest, …), among those whose `where` is not null."""
    told = f"struct({', '.join(dict.fromkeys(('at', 'digest', *order, name)))})"
    return f"max({told if where is None else f'case when {where} is not null then {told} end'}).{name}"


_UUID_TIME: Final = {"at": "time", "digest": "bytes"}
MERGES: Final = (
    Merge(
        "datasets",
        "upsert_datasets",
        {"id": "uuid", "namespace": "text", "name": "text", "at": "time"},
        ("id",),
        {
            "namespace": ("text", _least("namespace")),
            "name": ("text", _least("name")),
            "first_seen": ("time", _least()),
            "last_seen": ("time", _most()),
        },
    ),
    Merge(
        "dataset_links",
        "upsert_dataset_links",
        {"dataset_id": "uuid", "alias_id": "uuid", "kind": "text", "at": "time"},
        ("dataset_id", "alias_id", "kind"),
        {"first_at": ("time", _least())},
    ),
    Merge(
        "jobs",
        "upsert_jobs",
        {
            "id": "uuid", "namespace": "text", "name": "text", **_UUID_TIME, "parent_id": "uuid", "declared_at": "time", "explicit_at": "time",
        },
        ("id",),
        {
            "namespace": ("text", _least("namespace")),
            "name": ("text", _least("name")),
            "first_seen": ("time", _least()),
            "last_seen": ("time", _most()),
            "parent_id": ("uuid", _latest("parent_id", where="parent_id")),
            "parent_at": ("time", _latest("at", where="parent_id")),
            "parent_digest": ("bytes", _latest("digest", where="parent_id")),
            "declared_at": ("time", _most("declared_at")),
            "explicit_at": ("time", _most("explicit_at")),
        },
    ),
    Merge("namespaces", "upsert_namespaces", {"name": "text", "at": "time"}, ("name",), {"first_seen": ("time", _least())}),
    Merge(
        "sources",
        "upsert_sources",
        {"name": "text", "url": "text", "at": "time"},
        ("name", "url"),
        {"first_seen": ("time", _least())},
    ),
    Merge(
        "runs",
        "upsert_runs",
        {
            "run_id": "uuid", "job_id": "uuid", "external_id": "text", "state": "rank", **_UUID_TIME, "started_at": "time", "ended_at": "time",
            "parent_run_id": "uuid", "parent_job_id": "uuid", "nominal_start": "time", "nominal_end": "time", "user_name": "text",
            "statement": "text", "heartbeat_ms": "count",
        },
        ("run_id", "job_id"),
        {
            "external_id": ("text", _least("external_id")),
            "state": ("rank", _most("state")),
            "first_event_at": ("time", _least()),
            "last_event_at": ("time", _most()),
            "started_at": ("time", _least("started_at")),
            "ended_at": ("time", _most("ended_at")),
            "parent_run_id": ("uuid", _latest("parent_run_id", where="parent_run_id")),
            "parent_job_id": ("uuid", _latest("parent_job_id", where="parent_run_id")),
            "parent_at": ("time", _latest("at", where="parent_run_id")),
            "parent_digest": ("bytes", _latest("digest", where="parent_run_id")),
            "nominal_start": ("time", _least("nominal_start")),
            "nominal_end": ("time", _most("nominal_end")),
            "user_name": ("text", _least("user_name")),
            "statement": ("text", _most("statement")),
            "heartbeat_ms": ("count", _most("heartbeat_ms")),
        },
    ),
    Merge(
        "reports",
        "upsert_reports",
        {"job_id": "uuid", "report_id": "uuid", "declaration": "flag", "at": "time"},
        ("job_id", "report_id"),
        {"declaration": ("flag", _all("declaration")), "first_at": ("time", _least())},
    ),
    Merge(
        "report_snapshots",
        "insert_report_snapshots",
        {"job_id": "uuid", "report_id": "uuid", "at": "time"},
        ("job_id", "report_id", "at"),
        {},
    ),
    Merge(
        "report_datasets",
        "upsert_report_datasets",
        {"job_id": "uuid", "report_id": "uuid", "dataset_id": "uuid", "direction": "text", "declared": "flag", "at": "time"},
        ("job_id", "report_id", "dataset_id", "direction"),
        {"declared": ("flag", _all("declared")), "first_at": ("time", _least()), "last_at": ("time", _most())},
    ),
    Merge(
        "report_subsets",
        "upsert_report_subsets",
        {"job_id": "uuid", "report_id": "uuid", "dataset_id": "uuid", "direction": "text", "part": "text", "at": "time"},
        ("job_id", "report_id", "dataset_id", "direction", "part"),
        {"first_at": ("time", _least())},
    ),
    Merge(
        "report_statements",
        "upsert_report_statements",
        {"job_id": "uuid", "report_id": "uuid", "body_id": "uuid", "at": "time"},
        ("job_id", "report_id", "body_id"),
        {"first_at": ("time", _least()), "last_at": ("time", _most())},
    ),
    Merge(
        "edges",
        "upsert_edges",
        {"dataset_id": "uuid", "job_id": "uuid", "direction": "text", "at": "time", "declared": "flag", "by_event": "flag"},
        ("dataset_id", "job_id", "direction"),
        {
            "first_at": ("time", _least()),
            "last_at": ("time", "max(case when not by_event then at end)"),
            "declared_at": ("time", "max(case when by_event then at end)"),
            "declared": ("flag", _all("declared")),
        },
    ),
    Merge(
        "report_foreign_edges",
        "upsert_report_foreign_edges",
        {"job_id": "uuid", "report_id": "uuid", "dataset_id": "uuid", "edge_job_id": "uuid", "direction": "text", "at": "time"},
        ("job_id", "report_id", "dataset_id", "edge_job_id", "direction"),
        {"first_at": ("time", _least()), "last_at": ("time", _most())},
    ),
    Merge(
        "foreign_edges",
        "upsert_foreign_edges",
        {"dataset_id": "uuid", "job_id": "uuid", "direction": "text", "reporter_id": "uuid", "at": "time", "by_event": "flag"},
        ("dataset_id", "job_id", "direction", "reporter_id"),
        {
            "first_at": ("time", _least()),
            "last_at": ("time", "max(case when not by_event then at end)"),
            "declared_at": ("time", "max(case when by_event then at end)"),
        },
    ),
    Merge(
        "dataset_versions",
        "upsert_dataset_versions",
        {
            "id": "uuid", "dataset_id": "uuid", "run_id": "uuid", "job_id": "uuid", "external_version": "text", "declared": "flag", **_UUID_TIME,
            "schema_id": "uuid", "lifecycle": "text", "rows": "count", "bytes": "count", "files": "count", "checkpoint": "flag",
        },
        ("id",),
        {
            "dataset_id": ("uuid", _least("dataset_id")),
            "run_id": ("uuid", _least("run_id")),
            "job_id": ("uuid", _least("job_id")),
            "external_version": ("text", _least("external_version")),
            "declared": ("flag", _all("declared")),
            "first_at": ("time", _least()),
            "written_at": ("time", _most()),
            "schema_id": ("uuid", _latest("schema_id", where="schema_id")),
            "schema_at": ("time", _latest("at", "schema_id", where="schema_id")),
            "schema_digest": ("bytes", _latest("digest", "schema_id", where="schema_id")),
            "lifecycle": ("text", _most("lifecycle")),
            "rows": ("count", _most("rows")),
            "bytes": ("count", _most("bytes")),
            "files": ("count", _most("files")),
            "checkpoint": ("flag", _any("checkpoint")),
        },
    ),
    Merge(
        "checks",
        "upsert_checks",
        {
            "run_id": "uuid", "job_id": "uuid", "direction": "text", "dataset_id": "uuid", "name": "text", "field": "text", **_UUID_TIME,
            "result": "rank", "detail": "text", "version": "text", "part": "text",
        },
        ("run_id", "job_id", "direction", "dataset_id", "name", "field"),
        {
            "at": ("time", _most()),
            "digest": ("bytes", _latest("digest", "result", "detail")),
            "result": ("rank", _latest("result", "result", "detail")),
            "detail": ("text", _latest("detail", "result", "detail")),
            "version": ("text", _latest("version", "result", "detail")),
            "part": ("text", _latest("part", "result", "detail")),
        },
    ),
    Merge(
        "run_labels",
        "insert_run_labels",
        {"run_id": "uuid", "job_id": "uuid", "name": "text", "value": "text"},
        ("run_id", "job_id", "name", "value"),
        {},
    ),
    Merge(
        "job_dependencies",
        "upsert_job_dependencies",
        {"reporter_id": "uuid", "upstream_id": "uuid", "downstream_id": "uuid", "kind": "text", "at": "time"},
        ("reporter_id", "upstream_id", "downstream_id", "kind"),
        {"first_at": ("time", _least()), "last_at": ("time", _most())},
    ),
    Merge("facet_bodies", "insert_facet_bodies", {"id": "uuid", "body": "bytes"}, ("id",), {"body": ("bytes", _least("body"))}),
    Merge(
        "facet_sets",
        "insert_facet_sets",
        {"id": "uuid", "name": "text", "body_id": "uuid", "deleted": "flag", "guess": "rank"},
        ("id", "name"),
        {"body_id": ("uuid", _least("body_id")), "deleted": ("flag", _all("deleted")), "guess": ("rank", _least("guess"))},
    ),
    Merge(
        "owner_facets",
        "upsert_owner_facets",
        {"owner": "uuid", "set_id": "uuid", **_UUID_TIME},
        ("owner", "set_id"),
        {"first_at": ("time", _least()), "last_at": ("time", _most()), "last_digest": ("bytes", _latest("digest"))},
    ),
    Merge(
        "report_columns",
        "upsert_report_columns",
        {
            "job_id": "uuid", "report_id": "uuid", "target_id": "uuid", "origin": "rank", "slot": "uuid", **_UUID_TIME, "set_id": "uuid",
        },
        ("job_id", "report_id", "target_id", "origin", "slot"),
        {
            "at": ("time", _most()),
            "digest": ("bytes", _latest("digest", "set_id")),
            "set_id": ("uuid", _latest("set_id")),
        },
    ),
    Merge("column_sets", "insert_column_sets", {"id": "uuid", "edges": "bytes"}, ("id",), {"edges": ("bytes", _least("edges"))}),
)  # fmt: skip

# Tables that `headwater server rebuild` makes and this does not, and why.
ELSEWHERE: Final = {
    "dataset_canonical": "one name for a group of linked datasets follows from all links at once, and from people's aliases",
    "annotations": "it is what people said, which is in no archive",
    "edge_changes": "it is what people drew, which is in no archive",
    "search_documents": "search is made in PostgreSQL, with its dictionaries",
    "search_words": "search is made in PostgreSQL, with its dictionaries",
    "correlation_items": "correlation is kept together with its closure, in the server",
    "correlation_edges": "correlation is kept together with its closure, in the server",
    "correlation_paths": "correlation is kept together with its closure, in the server",
    **dict.fromkeys(
        ("usage", "costs", "recurrence", "query_counts", "pruning", "lineage_quality"),
        "the pipeline's own store has it: the server's is a copy of what was published",
    ),
}
