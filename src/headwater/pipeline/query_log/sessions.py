"""Temporary tables followed through the sessions of a log: a statement that reads one reads what the statements before it filled it from.

The session is part of what a name means, so it is part of the `place` of such a statement: a digest of the statements that filled what it reads.
Sessions that did the same share a place, and no other statement gets one. A session is followed over the day of a statement and the day before.
Only statements that ran to their end count. A name that nothing but sessions makes, and that is used where its session does not show its making, is
`missing`: the log begins later, or names no session. Views and tables alike are followed by what they were made from.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import ArrayType, DateType, StructField, StructType

from headwater.pipeline.query_log.reading import DROPPED, LASTS, MADE, OF_SESSION, READ, RENAMED, WRITTEN
from headwater.pipeline.query_log.schema import EXECUTIONS, STEP, TEXT, TEXTS_LIST, place

if TYPE_CHECKING:
    import pyarrow as pa

STEPS_AT_MOST: Final = 100
"""Statements that fill the temporary tables of one; past them the last are left out, and the tables are missing."""
_QUERY: Final = ("day", "source", "namespace", "query_id")
_KEY: Final = ("namespace", "shape_id", "place")
_PLACE: Final = ("database", "schema", "search_path")
_DIGEST: Final = 16
FOLLOWED: Final = StructType(
    [
        *(StructField(name, DateType() if name == "day" else TEXT) for name in _QUERY),
        StructField("before", ArrayType(STEP)),
        StructField("missing", TEXTS_LIST),
    ]
)

Step = tuple[str, str | None, str | None, tuple[str, ...] | None]
"""A statement by its shape and where it ran, as `schema.STEP`."""


class Follower:
    """The temporary tables of one session, by their last names, and the steps that filled each. `lasting`: names that others make to last."""

    def __init__(self) -> None:
        self._filled: dict[str, dict[Step, None]] = {}
        self._missing: dict[str, set[str]] = {}

    def follow(self, step: Step, names: Iterable[str], lasting: frozenset[str]) -> tuple[list[Step], list[str]]:
        """The steps before this one that matter to it, in order, and the names of the tables whose making was not seen."""
        signs = [(one[0], one[1:]) for one in names]
        before: dict[Step, None] = {}
        missing: set[str] = set()
        own = {name for sign, name in signs if sign in {MADE, LASTS}}
        for sign, whole in signs:
            name = whole.partition("\n")[0]
            if sign not in {READ, OF_SESSION, WRITTEN, RENAMED} or (name in own and name not in self._filled):
                continue
            if name in self._filled:
                before.update(self._filled[name])
                missing |= self._missing.get(name, set())
            elif sign == OF_SESSION or name.startswith("#") or (sign != RENAMED and name not in lasting):
                missing.add(name)
        before.pop(step, None)
        if len(before) > STEPS_AT_MOST:
            before = dict.fromkeys(list(before)[:STEPS_AT_MOST])
            missing.update(name for sign, name in signs if sign in {READ, OF_SESSION, WRITTEN} and name in self._filled)
        for sign, name in signs:
            if sign == MADE:
                self._filled[name], self._missing[name] = {**before, step: None}, set(missing)
            elif sign == WRITTEN and (name in self._filled or name in missing):
                self._filled[name] = {**self._filled.get(name, {}), **before, step: None}
                self._missing[name] = self._missing.get(name, set()) | missing
            elif sign in {DROPPED, LASTS}:
                self._filled.pop(name, None)
                self._missing.pop(name, None)
            elif sign == RENAMED:
                old, _, new = name.partition("\n")
                if old in self._filled:
                    self._filled[new] = {**self._filled.pop(old), step: None}
                    self._missing[new] = self._missing.pop(old, set())
        return list(before), sorted(missing)


def plain(statements: DataFrame) -> DataFrame:
    """Statements as they are without a session."""
    return statements.where(F.col("before").isNull() & F.col("missing").isNull())


def makes_temporary(names: Column) -> Column:
    """Return whether a text with these names makes or names a table that ends with its session."""
    return F.exists(
        F.coalesce(names, F.array().cast("array<string>")),
        lambda one: one.startswith(MADE) | one.startswith(OF_SESSION) | one.substr(2, 1).eqNullSafe("#"),
    )


def followed(executions: DataFrame, statements: DataFrame, slices: int) -> DataFrame:
    """FOLLOWED of the executions that depend on their session. `executions`: EXECUTIONS, the days before too."""
    touching = _touching(plain(statements)).select(*_KEY, "names", "lasting")
    session = F.coalesce(
        "session_id", F.when(F.col("source") == "bigquery", F.col("parent_query_id")), "query_id"
    ).alias("session")
    columns = [*_QUERY, session, "started_at", "shape_id", *_PLACE, place().alias("place")]
    ran = executions.where((F.col("state") == "succeeded") & F.col("shape_id").isNotNull()).select(*columns)
    rows = ran.join(touching, list(_KEY)).repartition(slices, "source", "namespace", "session")
    # Ids that count up are of one length or grow with it.
    ordered = rows.sortWithinPartitions(
        "source", "namespace", "session", "started_at", F.length("query_id"), "query_id"
    )

    def follow_batches(batches: Iterator["pa.RecordBatch"]) -> Iterator["pa.RecordBatch"]:
        import pyarrow
        from pyspark.sql.pandas.types import to_arrow_schema

        made = to_arrow_schema(FOLLOWED)
        at: tuple[str, ...] = ()
        follower = Follower()
        for batch in batches:
            found: list[dict[str, Any]] = []
            for row in batch.to_pylist():
                here = row["source"], row["namespace"], row["session"]
                if here != at:
                    at, follower = here, Follower()
                path = row["search_path"]
                step = row["shape_id"], row["database"], row["schema"], None if path is None else tuple(path)
                before, missing = follower.follow(step, row["names"], frozenset(row["lasting"]))
                if before or missing:
                    steps = [dict(zip(STEP.names, one, strict=True)) for one in before]
                    found.append({**{name: row[name] for name in _QUERY}, "before": steps, "missing": missing})
            yield pyarrow.RecordBatch.from_pylist(found, schema=made)

    return ordered.mapInArrow(follow_batches, FOLLOWED)


def _touching(statements: DataFrame) -> DataFrame:
    """Return the statements that touch a name which some statement makes for a session: KEY, their `names`, and which of them are `lasting`."""
    one = F.explode("names").alias("one")
    last = F.when(F.col("one").startswith(RENAMED), F.split(F.substring("one", 2, 1 << 20), "\n")).otherwise(
        F.array(F.substring("one", 2, 1 << 20))
    )
    listed = statements.select(*_KEY, one).select(*_KEY, "one", F.explode(last).alias("name"))
    temporary = F.col("one").startswith(MADE) | F.col("one").startswith(OF_SESSION) | F.col("name").startswith("#")
    renamed = F.col("one").startswith(RENAMED)  # perhaps a temporary one; its session tells
    made = (
        listed.groupBy("namespace", "name")
        .agg(
            F.max(temporary | renamed).alias("temporary"),
            F.max(F.col("one").startswith(LASTS) | renamed).alias("lasts"),
        )
        .where("temporary")
    )
    lasting = F.collect_set(F.when(F.col("lasts"), F.col("name"))).alias("lasting")
    touched = listed.join(made, ["namespace", "name"]).groupBy(*_KEY).agg(
        F.collect_set("one").alias("kept"), lasting
    )  # fmt: skip
    kept = F.filter("names", lambda one: F.array_contains("kept", one)).alias("names")
    return statements.select(*_KEY, "names").join(touched, list(_KEY)).select(*_KEY, kept, "lasting")


def placed(executions: DataFrame, followed: DataFrame) -> DataFrame:
    """EXECUTIONS with the place that each has now, by FOLLOWED."""
    now = followed.select(*_QUERY, _digest().alias("session_digest"))
    joined = executions.join(now, list(_QUERY), "left")
    there = F.when(F.col("session_digest").isNull(), place()).otherwise(
        F.to_json(F.struct(*_PLACE, F.col("session_digest").alias("session")))
    )
    return EXECUTIONS.ordered(joined.withColumn("place", there))


def wanted(placed: DataFrame, followed: DataFrame, known: DataFrame) -> DataFrame:
    """The places of sessions that `known` (STATEMENTS) lacks, as `statements.statements_to_parse` gives places."""
    columns = [*_KEY, "dialect", *_PLACE, "source"]
    told = placed.join(followed, list(_QUERY)).select(*columns, "before", "missing")
    return told.dropDuplicates(list(_KEY)).join(known.select(*_KEY), list(_KEY), "left_anti")


def _digest() -> Column:
    return F.substring(F.sha2(F.to_json(F.struct("before", "missing")), 256), 1, _DIGEST)
