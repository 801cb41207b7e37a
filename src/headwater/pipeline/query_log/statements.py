"""A shape at a place, read: what it reads and writes, which column feeds which.

A shape is read once for each place its names may mean something else in, and again when its text or the schemas known have changed. Reading is
bounded in time, so that no text stalls a batch. A text that could not be read is a statement too, of level "nothing".

A statement that writes nothing but temporary tables is `temporary`. One that reads a temporary table of its session has a place of its own
(`sessions`), and is read after the statements that filled that table.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StringType, StructField, StructType

from headwater.columns import Catalog, Level, Session
from headwater.columns.cache import Cache
from headwater.columns.dialect import rules
from headwater.pipeline.one_task import spread
from headwater.pipeline.query_log.reading import (
    SECONDS,
    SLICES,
    WARNING_AT_MOST,
    Late,
    Step,
    Understood,
    deadline,
    understood,
)
from headwater.pipeline.query_log.schema import QUARANTINE, STATEMENTS, place

if TYPE_CHECKING:
    import pyarrow as pa

PARSE_TIMEOUT: Final = "parse_timeout"
PARSE_FAILED: Final = "parse_failed"
TOLD: Final = "what it reads and writes is as its source told"
_SAMPLE: Final = 2_000
# The schema of a name without one when the log does not say: both products' default.
_USUAL: Final = {"postgres": "public", "redshift": "public"}
_KEY: Final = ("namespace", "shape_id", "place")
_PLACE: Final = ("database", "schema", "search_path")

Schemas = Mapping[str, Mapping[str, Sequence[str]]]
"""The tables (dotted names) of each namespace, and their columns in order."""

PARSED: Final = StructType(
    [*STATEMENTS.schema.fields, *(StructField(name, StringType()) for name in ("code", "reason", "source", "sample"))]
)


def versions(schemas: Schemas | None) -> dict[str, str]:
    """The version of each namespace's schemas; of one that is not there it is the empty string."""
    return {
        namespace: Catalog(dict(sorted(known.items()))).version.hex() for namespace, known in (schemas or {}).items()
    }


def schemas_of(rows: DataFrame) -> dict[str, dict[str, list[str]]]:
    """Schemas of a DataFrame with namespace, table (dotted) and columns (array of strings)."""
    found: dict[str, dict[str, list[str]]] = {}
    for row in rows.select("namespace", "table", "columns").collect():
        found.setdefault(row["namespace"], {})[row["table"]] = list(row["columns"])
    return found


def seen(landed: DataFrame, texts: DataFrame) -> DataFrame:
    """Return the places where shapes ran: the columns that give names their meaning, with `place`, `dialect` and a `source`. `texts`:
    TEXTS, the new ones too."""
    known = texts.select("text_key", "dialect", "shape_id")
    grouped = ("source", "namespace", "text_key", "dialect", *_PLACE)
    # Rows become few before anything is joined.
    few = landed.where(F.col("text_key").isNotNull()).groupBy(*grouped).agg(F.count(F.lit(1)).alias("rows"))
    placed = few.join(known, ["text_key", "dialect"]).withColumn("place", place())
    return placed.groupBy(*_KEY, "dialect", *_PLACE).agg(F.min("source").alias("source"))


def statements_to_parse(
    seen: DataFrame, known: DataFrame, changed: DataFrame, schemas: Schemas | None = None
) -> DataFrame:
    """Return the places to parse: those of `seen` that `known` (STATEMENTS) lacks; of those it has, shapes of `changed` (shape_id) and
    other schemas."""
    columns = [*_KEY, "dialect", *_PLACE, "source", "before", "missing"]
    seen = seen.withColumns(
        {name: F.lit(None).cast(STATEMENTS.schema[name].dataType) for name in ("before", "missing")}
    )
    dated = known.withColumn("source", F.lit(None).cast("string"))
    stale = dated.where(~F.col("catalog_version").eqNullSafe(_version(schemas)))
    # Those of a session whose text changed, or one of the texts before it.
    shape = F.explode(F.concat(F.array("shape_id"), F.coalesce(F.col("before.shape_id"), F.array()))).alias("shape")
    texts = dated.select(*_KEY, shape).join(
        changed.select(F.col("shape_id").alias("shape")).distinct(), "shape", "left_semi"
    )
    moved = dated.join(texts.select(*_KEY).distinct(), list(_KEY), "left_semi")
    new = seen.join(known.select(*_KEY), list(_KEY), "left_anti")
    again = stale.select(*columns).unionByName(moved.select(*columns)).dropDuplicates(list(_KEY))
    return new.select(*columns).unionByName(again)


def _version(schemas: Schemas | None) -> Column:
    found: Column = F.lit("")
    for namespace, version in versions(schemas).items():
        found = F.when(F.col("namespace") == namespace, F.lit(version)).otherwise(found)
    return found


def parsed(
    wanted: DataFrame,
    shapes: DataFrame,
    schemas: Schemas | None = None,
    seconds: float = SECONDS,
    slices: int = SLICES,
    *,
    sessions: bool = False,
) -> DataFrame:
    """STATEMENTS of what is wanted, and `code`, `reason`, `source`, `sample` of what could not be read. `shapes`: SHAPES, as they are now.
    `sessions`: some of what is wanted may have statements `before` it.

    A caller that takes both `statements` and `bad` of it calls `persist`: it is read anew each time.
    """
    given = wanted.join(shapes.select("shape_id", "text"), "shape_id")
    if sessions:
        given = given.join(_texts_before(wanted, shapes), list(_KEY), "left")
    plain = {
        namespace: {table: list(columns) for table, columns in sorted(known.items())}
        for namespace, known in (schemas or {}).items()
    }
    dated = versions(schemas)

    def parse_batches(batches: Iterator["pa.RecordBatch"]) -> Iterator["pa.RecordBatch"]:
        import pyarrow
        from pyspark.sql.pandas.types import to_arrow_schema

        made = to_arrow_schema(PARSED)
        reader = _Reader(plain, dated, seconds)
        for batch in batches:
            yield pyarrow.RecordBatch.from_pylist([reader.row(row) for row in batch.to_pylist()], schema=made)

    return spread(given, slices, "shape_id").mapInArrow(parse_batches, PARSED)


def _texts_before(wanted: DataFrame, shapes: DataFrame) -> DataFrame:
    """The texts of the statements before each, in their order, as `texts`."""
    steps = wanted.select(*_KEY, F.posexplode("before").alias("at", "step")).select(
        *_KEY, "at", *(F.col(f"step.{name}").alias(f"step_{name}") for name in ("shape_id", *_PLACE))
    )
    texts = shapes.select(F.col("shape_id").alias("step_shape_id"), F.col("text").alias("step_text"))
    step = F.struct("at", "step_text", *(f"step_{name}" for name in _PLACE))
    return steps.join(texts, "step_shape_id").groupBy(*_KEY).agg(F.sort_array(F.collect_list(step)).alias("texts"))


class _Reader:
    """One task's: a cache of its own, and the schemas by namespace and dialect."""

    def __init__(self, schemas: Schemas, dated: Mapping[str, str], seconds: float) -> None:
        self._cache = Cache()
        self._schemas = schemas
        self._dated = dated
        self._seconds = seconds
        self._catalogs: dict[tuple[str, str], Catalog] = {}

    def row(self, row: dict[str, Any]) -> dict[str, Any]:
        namespace, dialect, text = row["namespace"], row["dialect"], row["text"]
        code = reason = None
        try:
            parser = rules(dialect).parser
        except ValueError:  # an unknown one: plain SQL reads most of it
            parser = ""
        session = Session(*self._place(row, parser))
        before = [Step(one["step_text"], *self._place(one, parser, "step_")) for one in row.get("texts") or ()]
        catalog, missing = self._catalog(namespace, parser), row.get("missing") or ()
        try:
            with deadline(self._seconds):
                found = understood(text, parser, namespace, session, catalog, self._cache, before, missing)
        except Late:
            code, reason = PARSE_TIMEOUT, f"it could not be read in {self._seconds:g} seconds"
            self._cache.clear()  # it may hold an unfinished entry
        except Exception as error:  # noqa: BLE001 - it is quarantined with what happened; the others go on
            code, reason = PARSE_FAILED, f"{type(error).__name__}: {error}"[:WARNING_AT_MOST]
        if code is not None:
            found = Understood(Level.NOTHING.value, "UNKNOWN", warnings=(reason or "",))
        return {
            **{name: row.get(name) for name in (*_KEY, *_PLACE, "dialect", "source", "before", "missing")},
            **found._asdict(),
            "reads": [{"namespace": one[0], "name": one[1]} for one in found.reads],
            "writes": [{"namespace": one[0], "name": one[1]} for one in found.writes],
            "warnings": list(found.warnings),
            "names": list(found.names),
            "through": [{"namespace": one[0], "name": one[1], "tables": list(one[2])} for one in found.through],
            "catalog_version": self._dated.get(namespace, ""),
            "code": code,
            "reason": reason,
            "sample": text[:_SAMPLE] if code is not None else None,
        }

    @staticmethod
    def _place(row: Mapping[str, Any], parser: str, head: str = "") -> tuple[str, str, tuple[str, ...]]:
        path = tuple(row[head + "search_path"] or ())
        return row[head + "database"] or "", row[head + "schema"] or ("" if path else _USUAL.get(parser, "")), path

    def _catalog(self, namespace: str, parser: str) -> Catalog:
        found = self._catalogs.get((namespace, parser))
        if found is None:
            known: dict[str | tuple[str, ...], Iterable[str]] = {}
            known.update(self._schemas.get(namespace, {}))
            found = self._catalogs[namespace, parser] = Catalog(known, parser)
        return found


def statements(known: DataFrame, parsed: DataFrame) -> DataFrame:
    """STATEMENTS of those known, with what was read now in the place of what was known of the same."""
    kept = known.join(parsed.select(*_KEY), list(_KEY), "left_anti")
    columns = STATEMENTS.columns()
    return kept.select(*columns).unionByName(parsed.select(*columns))


def bad(parsed: DataFrame) -> DataFrame:
    """QUARANTINE of what could not be read."""
    told = {
        "source": F.coalesce("source", "dialect"),
        "code": F.col("code"),
        "reason": F.col("reason"),
        "sample": F.col("sample"),
        "digest": F.sha2(F.concat_ws("\0", *_KEY), 256),
        "file": F.lit(None),
        "at": F.current_timestamp(),
    }
    found = parsed.where(F.col("code").isNotNull())
    return found.select(
        *(told[field.name].cast(field.dataType.simpleString()).alias(field.name) for field in QUARANTINE.schema)
    )


def with_source_tables(statements: DataFrame, told: DataFrame) -> DataFrame:
    """STATEMENTS with the tables that their source named (TOLD) beside the parsed ones: a source sees through views, table functions and names that
    only a variable holds.

    Those that were not read (level tables or nothing, or no table of a part) have the source's tables alone, and `warnings` says so. Of the others,
    reads are joined, but for statements that touch temporary tables: a name that no parsed one ends in is added. What they write
    stays what was parsed. Names are as the dialect keeps them.
    """
    keys = list(_KEY)
    lists = {"told_reads": "read_now", "told_writes": "written_now"}
    gathered = (
        told.where(F.col("shape_id").isNotNull())
        .groupBy(*keys)
        .agg(
            *(
                F.array_distinct(F.flatten(F.collect_set(F.coalesce(name, F.array().cast("array<string>"))))).alias(
                    alias
                )
                for name, alias in lists.items()
            )
        )
    )
    joined = statements.join(gathered, keys, "left")
    empty = (F.size("reads") == 0) & (F.size("writes") == 0) & (F.col("level") != Level.FULL.value)
    given = (F.col("level").isin(Level.TABLES.value, Level.NOTHING.value) | empty) & (
        (F.size(F.coalesce("read_now", F.array())) > 0) | (F.size(F.coalesce("written_now", F.array())) > 0)
    )
    # Kept, for the columns it looks at are about to change.
    joined, given = joined.withColumn("_given", given), F.col("_given")
    touched = F.concat("reads", "writes")
    further = F.filter(datasets(F.col("read_now")), lambda one: ~F.exists(touched, lambda known: _is_same(one, known)))
    # A source names a session's temporary tables like any other; what is read through these was followed.
    followed = F.coalesce("temporary", F.lit(False)) | (F.size(F.coalesce("before", F.array())) > 0)
    followed |= F.size(F.coalesce("missing", F.array())) > 0
    joined_reads = F.concat("reads", further)
    both = F.when(F.col("read_now").isNotNull() & ~followed, joined_reads).otherwise(F.col("reads"))
    joined = joined.withColumn("_reads", F.when(given, datasets(F.col("read_now"))).otherwise(both))
    joined = joined.withColumn("writes", F.when(given, datasets(F.col("written_now"))).otherwise(F.col("writes")))
    joined = joined.withColumn("reads", F.col("_reads"))
    noted = F.concat(F.coalesce("warnings", F.array().cast("array<string>")), F.array(F.lit(TOLD)))
    joined = joined.withColumn("warnings", F.when(given, noted).otherwise(F.col("warnings")))
    return STATEMENTS.ordered(joined)


def _is_same(told: Column, known: Column) -> Column:
    """Return whether a source's dataset is one that was parsed: in any case, by the end of a name, or as one of the dated tables of a wildcard."""
    short, long = F.lower(told["name"]), F.lower(known["name"])
    ends = (short == long) | long.endswith(F.concat(F.lit("."), short)) | short.endswith(F.concat(F.lit("."), long))
    undated = F.regexp_replace(short, r"[0-9]{6,}$", "")
    return ends | ((undated != short) & (F.regexp_replace(long, r"(\*|[0-9]{6,})$", "") == undated))


# A folder or a file that a source names: its bucket is the namespace, as OpenLineage has it.
_PATH: Final = r"^([a-z][a-z0-9]*://[^/]+)/*(.*?)/*$"
_LOWER: Final = tuple(
    name for name in ("redshift", "trino", "databricks", "athena", "hive", "presto", "spark", "spark2")
)


def datasets(names: Column) -> Column:
    """The datasets of names from a source, in order; needs `namespace` and `dialect` beside it."""

    def qualified_name(name: Column) -> Column:
        spelled = F.when(F.col("dialect").isin(*_LOWER), F.lower(name)).otherwise(name)
        whole = F.when(F.col("dialect") == "bigquery", F.regexp_replace(spelled, r"\$[^.$]*\z", "")).otherwise(spelled)
        is_path = name.rlike(_PATH)
        space = F.when(is_path, F.regexp_extract(name, _PATH, 1)).otherwise(F.col("namespace"))
        key = F.when(is_path, F.regexp_extract(name, _PATH, 2)).otherwise(F.coalesce(whole, F.lit("")))
        return F.struct(space.alias("namespace"), key.alias("name"))

    return F.array_sort(F.array_distinct(F.transform(names, qualified_name)))
