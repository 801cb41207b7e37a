"""The common schema of query logs, and every table the pipeline keeps.

`LANDED_ROWS` is what a source gives: one row a query execution. Times are UTC (the session's time zone is UTC), names are as the source spells them.
A row without text has no `text_key` and no `shape_id`. The context of unqualified names (database, schema, search path) is folded into `place`,
which is never null, so that tables join on (`namespace`, `shape_id`, `place`) and no null is lost on the way.
"""

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812  (its usual name)
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from headwater.pipeline.tables import DAY, Table

TEXT: Final = StringType()
WHOLE: Final = LongType()
REAL: Final = DoubleType()
EXACT: Final = DecimalType(28, 9)
# Milliseconds, to the nanosecond: a statement of 0.4 ms that runs a million times is 400 seconds, and 0 if it is rounded first.
MILLIS: Final = DecimalType(25, 6)
MILLIS_SUM: Final = DecimalType(28, 6)
TIME: Final = TimestampType()
TIMES: Final = ArrayType(TimestampType())
TEXTS_LIST: Final = ArrayType(StringType())
# Values in lists are never null, though the type says they may be: Spark assumes that of a file's columns, and casts them to nothing stricter.
DATASET: Final = StructType([StructField("namespace", TEXT), StructField("name", TEXT)])
DATASETS: Final = ArrayType(DATASET)
THROUGH: Final = StructType([*DATASET.fields, StructField("tables", TEXTS_LIST)])


def _schema(**columns: DataType | tuple[DataType]) -> StructType:
    """A schema of the columns in their order; a type in a tuple is never null."""
    return StructType(
        [
            StructField(name, kind[0], False) if isinstance(kind, tuple) else StructField(name, kind, True)
            for name, kind in columns.items()
        ]
    )


def place(
    database: Column | str = "database", schema: Column | str = "schema", search_path: Column | str = "search_path"
) -> Column:
    """Return the context that gives unqualified names their meaning, as one string that is never null: JSON without the unknown parts."""
    parts = F.struct(
        (F.col(database) if isinstance(database, str) else database).alias("database"),
        (F.col(schema) if isinstance(schema, str) else schema).alias("schema"),
        (F.col(search_path) if isinstance(search_path, str) else search_path).alias("search_path"),
    )
    return F.coalesce(F.to_json(parts), F.lit("{}"))


# The columns that a source's `read` returns: LANDED without what `land` adds.
LANDED_ROWS: Final = _schema(
    source=(TEXT,),  # bigquery | snowflake | redshift | databricks | postgres | trino
    namespace=(TEXT,),  # OpenLineage namespace of its tables
    query_id=(TEXT,),  # derived from content where the source has none
    started_at=(TIME,),
    ended_at=TIME,
    statement=TEXT,  # as executed
    dialect=(TEXT,),  # the name `headwater.columns` has for it
    database=TEXT,
    schema=TEXT,
    search_path=TEXTS_LIST,
    session_id=TEXT,
    parent_query_id=TEXT,
    job_id=TEXT,
    user=TEXT,
    role=TEXT,
    application=TEXT,
    warehouse=TEXT,
    tags=MapType(StringType(), StringType()),  # labels and query tags; comments are not parsed here
    state=(TEXT,),  # succeeded | failed | cancelled
    error=TEXT,
    statement_kind=TEXT,  # as the source says
    duration_ms=MILLIS,
    queued_ms=MILLIS,
    rows_read=WHOLE,
    rows_written=WHOLE,
    bytes_read=WHOLE,
    bytes_billed=WHOLE,
    bytes_written=WHOLE,
    slot_ms=MILLIS,
    cpu_ms=MILLIS,
    credits=REAL,
    cache_hit=BooleanType(),
    told_reads=TEXTS_LIST,  # tables the source itself names: dotted, unquoted parts
    told_writes=TEXTS_LIST,
    file=(TEXT,),  # which input it came from
)

# The rows of the batch under way, and of no other. `comments`: those of the statement that `who` reads, taken where the text is at hand.
LANDED: Final = Table(
    "landed",
    StructType(
        [
            *LANDED_ROWS.fields,
            StructField(DAY, DateType(), False),
            StructField("text_key", TEXT, True),
            StructField("comments", TEXT, True),
        ]
    ),
    ("source", "namespace", "query_id"),
)

# Input that could not be used, and why. `code`: bad_row, no_time, no_identity, too_large, unreadable_text, parse_failed, parse_timeout, …
# `sample`: the first 2,000 characters; `digest`: of the whole.
QUARANTINE: Final = Table(
    "quarantine",
    _schema(source=(TEXT,), file=TEXT, code=(TEXT,), reason=TEXT, sample=TEXT, digest=(TEXT,), at=TIME),
    ("source", "code", "digest"),
)

TEXTS: Final = Table("texts", _schema(text_key=(TEXT,), dialect=(TEXT,), shape_id=(TEXT,)), ("text_key", "dialect"))

# `normalised` is the masked text; `text` one representative: the least by (length, text).
SHAPES: Final = Table(
    "shapes", _schema(shape_id=(TEXT,), dialect=(TEXT,), normalised=TEXT, text=TEXT, kind=TEXT), ("shape_id",)
)

# Shapes that got another text with the batch under way: their statements are read again.
REREAD: Final = Table("reread", _schema(shape_id=(TEXT,)), ("shape_id",))

# A statement before another of its session, by its shape and where it ran.
STEP: Final = _schema(shape_id=TEXT, database=TEXT, schema=TEXT, search_path=TEXTS_LIST)

# `outputs`: JSON, the OpenLineage facets of each output; `temporary`: writes only temporary tables. `names`: the tables it touches, see
# `reading.touched_names`. Of one that reads temporary tables of its session: `before`, the statements that filled them; `missing`, those the log does
# not show the making of; `through`, the datasets that it reads through temporary `tables` only.
STATEMENTS: Final = Table(
    "statements",
    _schema(
        namespace=(TEXT,),
        shape_id=(TEXT,),
        place=(TEXT,),
        database=TEXT,
        schema=TEXT,
        search_path=TEXTS_LIST,
        dialect=(TEXT,),
        level=TEXT,
        kind=TEXT,
        reads=DATASETS,
        writes=DATASETS,
        outputs=TEXT,
        unresolved=WHOLE,
        warnings=TEXTS_LIST,
        catalog_version=TEXT,
        temporary=BooleanType(),
        names=TEXTS_LIST,
        before=ArrayType(STEP),
        missing=TEXTS_LIST,
        through=ArrayType(THROUGH),
    ),
    ("namespace", "shape_id", "place"),
)

# Statements as later stages read them: those that could not be read have the tables that their source named.
UNDERSTOOD: Final = Table("understood", STATEMENTS.schema, STATEMENTS.key)

_NOT_KEPT: Final = frozenset({"statement", "tags", "comments"})

# The columns that `who` adds. `actor_kind`: person | service | bi | pipeline | unknown; `job_*`: the Airflow task or dbt model it belongs to.
WHO_COLUMNS: Final = _schema(
    actor=TEXT,
    actor_kind=(TEXT,),
    tool=TEXT,
    tool_asset=TEXT,
    tool_asset_name=TEXT,
    job_namespace=TEXT,
    job_name=TEXT,
    job_run_id=TEXT,
)

EXECUTIONS: Final = Table(
    "executions",
    StructType(
        [
            *(field for field in LANDED.schema.fields if field.name not in _NOT_KEPT),
            StructField("place", TEXT, False),
            StructField("shape_id", TEXT, True),
            *WHO_COLUMNS.fields,
            StructField("tool_run", TEXT, True),  # what the tool calls this execution: Looker's history slug
            StructField("who_version", WHOLE, True),  # counts the settings that named the actor
            StructField("money", REAL, True),
        ]
    ),
    ("source", "namespace", "query_id"),
    DAY,
)

# Executions of one day that differ in nothing but when and how much. A null in a measure: no execution has it. `starts`: 24 numbers, one an hour,
# of which bit m is set when one started in minute m.
DAILY: Final = Table(
    "daily",
    _schema(
        day=(DateType(),),
        source=(TEXT,),
        namespace=(TEXT,),
        dialect=(TEXT,),
        shape_id=TEXT,
        place=(TEXT,),
        database=TEXT,
        schema=TEXT,
        actor=TEXT,
        actor_kind=(TEXT,),
        tool=TEXT,
        tool_asset=TEXT,
        tool_asset_name=TEXT,
        job_namespace=TEXT,
        job_name=TEXT,
        executions=(WHOLE,),
        failures=(WHOLE,),
        first_at=(TIME,),
        last_at=(TIME,),
        starts=(ArrayType(LongType()),),
        duration_ms=MILLIS_SUM,
        bytes_read=WHOLE,
        bytes_billed=WHOLE,
        bytes_written=WHOLE,
        rows_written=WHOLE,
        slot_ms=MILLIS_SUM,
        cpu_ms=MILLIS_SUM,
        credits=REAL,
        money=REAL,
        last_query_id=(TEXT,),
    ),
    (
        *("day", "source", "namespace", "shape_id", "place"),
        *("actor", "actor_kind", "tool", "tool_asset", "job_namespace", "job_name"),
    ),
    DAY,
)

# The tables that the source itself named as read and written, beside the parsed ones: the distinct sets of a shape in a day.
TOLD: Final = Table(
    "told",
    _schema(
        day=(DateType(),),
        source=(TEXT,),
        namespace=(TEXT,),
        dialect=(TEXT,),
        shape_id=TEXT,
        place=(TEXT,),
        told_reads=TEXTS_LIST,
        told_writes=TEXTS_LIST,
        executions=(WHOLE,),
    ),
    ("day", "source", "namespace", "shape_id", "place", "told_reads", "told_writes"),
    DAY,
)

# An edge between datasets. A job of the published lineage is a shape. `through`: every such statement reads it through temporary tables only.
EDGES: Final = Table(
    "edges",
    _schema(
        from_namespace=(TEXT,),
        from_name=(TEXT,),
        to_namespace=(TEXT,),
        to_name=(TEXT,),
        shape_id=(TEXT,),
        first_at=(TIME,),
        last_at=(TIME,),
        executions=(WHOLE,),
        through=BooleanType(),
    ),
    ("from_namespace", "from_name", "to_namespace", "to_name", "shape_id"),
)

# The same between columns; `kind` is OpenLineage's: DIRECT | INDIRECT, `subtype` IDENTITY, TRANSFORMATION, FILTER, …
COLUMN_EDGES: Final = Table(
    "column_edges",
    _schema(
        from_namespace=(TEXT,),
        from_name=(TEXT,),
        from_column=(TEXT,),
        to_namespace=(TEXT,),
        to_name=(TEXT,),
        to_column=(TEXT,),
        kind=(TEXT,),
        subtype=TEXT,
        shape_id=(TEXT,),
        first_at=(TIME,),
        last_at=(TIME,),
        executions=(WHOLE,),
        through=BooleanType(),
    ),
    (
        *("from_namespace", "from_name", "from_column", "to_namespace", "to_name", "to_column"),
        *("kind", "subtype", "shape_id"),
    ),
)

READER: Final = _schema(actor=TEXT, kind=TEXT, reads=WHOLE, last_read_at=TIME)

# `status`: active | stale | one_off | unread | dropped.
USAGE: Final = Table(
    "usage",
    _schema(
        namespace=(TEXT,),
        name=(TEXT,),
        reads=(WHOLE,),
        writes=(WHOLE,),
        reads_by_people=(WHOLE,),
        reads_by_services=(WHOLE,),
        reads_by_bi=(WHOLE,),
        reads_by_pipelines=(WHOLE,),
        reads_by_unknown=(WHOLE,),
        distinct_readers=(WHOLE,),
        distinct_people=(WHOLE,),
        last_read_at=TIME,
        last_read_by_person_at=TIME,
        last_read_by_service_at=TIME,
        last_read_by_bi_at=TIME,
        last_read_by_pipeline_at=TIME,
        last_written_at=TIME,
        first_seen_at=(TIME,),
        active_days=(WHOLE,),
        status=(TEXT,),
        top_readers=ArrayType(READER),
    ),
    ("namespace", "name"),
)

# `grain`: table | shape | user | task | model | tool | storage; `share`: of all money, 0 to 1 (of slot time or of time where no money is known).
# Money, credits and times are decimals: what a grain's rows say adds up to the total, to the last place.
COST: Final = Table(
    "cost",
    _schema(
        grain=(TEXT,),
        namespace=(TEXT,),
        key=(TEXT,),
        executions=(WHOLE,),
        money=EXACT,
        bytes_billed=WHOLE,
        slot_ms=EXACT,
        duration_ms=EXACT,
        credits=EXACT,
        share=REAL,
    ),
    ("grain", "namespace", "key"),
)

# `class`: recurring | ad_hoc | one_off. `missing_at`, `unexpected_at`: the newest 20 of them.
RECURRENCE: Final = Table(
    "recurrence",
    _schema(
        namespace=(TEXT,), shape_id=(TEXT,), **{"class": (TEXT,)}, executions=(WHOLE,), period_seconds=WHOLE, runs_per_period=WHOLE, first_at=(TIME,),
        last_at=(TIME,), expected_next_at=TIME, missing=(WHOLE,), unexpected=(WHOLE,), missing_at=TIMES, unexpected_at=TIMES,
        retired=(BooleanType(),), confidence=(REAL,),
    ),
    ("namespace", "shape_id"),
)  # fmt: skip

CODE: Final = _schema(code=(TEXT,), rows=(WHOLE,))

LEVELS: Final = ("full", "partial", "tables", "nothing")
# The quality of the lineage itself. `*_shapes` count distinct shapes, `*_executions` how often they ran; idle ones touch no table.
QUALITY: Final = Table(
    "quality",
    _schema(
        day=(DateType(),),
        namespace=(TEXT,),
        dialect=(TEXT,),
        **dict.fromkeys(("shapes", *(f"{level}_shapes" for level in LEVELS)), (WHOLE,)),
        **dict.fromkeys(("executions", *(f"{level}_executions" for level in LEVELS)), (WHOLE,)),
        textless_executions=(WHOLE,),
        idle_shapes=(WHOLE,),
        idle_executions=(WHOLE,),
        unresolved=(WHOLE,),
        quarantined=(WHOLE,),
        quarantined_by=ArrayType(CODE),
        coverage_shapes=REAL,
        coverage_executions=REAL,
        trailing_coverage=REAL,
        dropped=(BooleanType(),),
        told_executions=(WHOLE,),
        told_agreed=(WHOLE,),
        told_only=(WHOLE,),
        parsed_only=(WHOLE,),
    ),
    ("day", "namespace", "dialect"),
    DAY,
)

# Datasets that may be deleted, `wave` by wave (1 first). `money_month`: the writes that feed only it, and keeping it.
PRUNING: Final = Table(
    "pruning",
    _schema(
        namespace=(TEXT,),
        name=(TEXT,),
        wave=(WHOLE,),
        reason=(TEXT,),
        money_month=EXACT,
        evidence=(TEXT,),
        confidence=(REAL,),
    ),
    ("namespace", "name"),
)

# Changes of objects. `action`: created, dropped, renamed_from, renamed_to, swapped (with `other`), added, dropped_column, renamed_column, retyped
# (`column`, `to`), altered, undropped. `step`: its place within the text. `conditional`: it says IF (NOT) EXISTS, and may have changed nothing.
# `branch`: it stands in a branch, a loop or a block that catches errors, and may not have run.
OBJECT_CHANGES: Final = Table("object_changes", _schema(
        namespace=(TEXT,), name=(TEXT,), first_at=(TIME,), last_at=(TIME,), executions=(WHOLE,), step=(IntegerType(),), action=(TEXT,), column=TEXT,
        to=TEXT, other=TEXT, conditional=BooleanType(), branch=BooleanType(), actor=TEXT, actor_kind=TEXT, job_name=TEXT, query_id=(TEXT,),
        statement=TEXT,
    ),
    ("namespace", "name", "query_id", "step"),
)  # fmt: skip

TABLES: Final = (
    LANDED,
    QUARANTINE,
    TEXTS,
    SHAPES,
    REREAD,
    STATEMENTS,
    EXECUTIONS,
    DAILY,
    TOLD,
    UNDERSTOOD,
    EDGES,
    COLUMN_EDGES,
    USAGE,
    COST,
    RECURRENCE,
    QUALITY,
    PRUNING,
    OBJECT_CHANGES,
)
