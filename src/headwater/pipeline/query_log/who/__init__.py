"""From a query's comments, tags, application and user to who ran it, with what tool, for which dashboard, as part of which job.

One module a tool, each with the same names: `TOOL`, `MARKS` (what a comment must hold to be its), `APPLICATIONS` (names under which its
clients connect) and `recognise(evidence, config)`. `tools.py` asks them all. `who` does it for a DataFrame.
"""

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from headwater.pipeline.expressions import once_a_jvm
from headwater.pipeline.query_log.who import runs
from headwater.pipeline.query_log.who.comments import comments
from headwater.pipeline.query_log.who.comments import with_comments as find_comments
from headwater.pipeline.query_log.who.config import Config
from headwater.pipeline.query_log.who.evidence import LONGEST_TEXT, evidence
from headwater.pipeline.query_log.who.tools import MARKS, Who, recognise

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

__all__ = ["COLUMNS", "MARKS", "Config", "Who", "who", "with_comments"]

# The columns that `who` adds, in this order.
COLUMNS = ("actor", "actor_kind", "tool", "tool_asset", "tool_asset_name", "job_namespace", "job_name", "job_run_id")
# Up to here the answers are held by the driver and broadcast: some 30 MB.
BROADCAST = 100_000

_READ = ("source", "application", "user", "role", "tags", "comments")
_INPUT, _TEXT, _RUN, _SEED = "_who_input", "_who_text", "_who_run", "_who_seed"
_ANSWER = (*COLUMNS[:-1], _RUN, _SEED)
_NEVER_NULL = (_INPUT, "actor", "actor_kind", _RUN, _SEED)
_SCHEMA = ", ".join(f"{name} string{' not null' * (name in _NEVER_NULL)}" for name in (_INPUT, *_ANSWER))
# Between the parts of an input; removed from the parts.
_CUT = "\x01"


def with_comments(queries: "DataFrame", statement: str = "statement") -> "DataFrame":
    """The rows with `comments`: those of their statement that some tool's module knows, null for most.

    For a caller that reads the texts anyway: `who` then need not, and the texts are read once.
    """
    return find_comments(queries, MARKS, statement=statement, name="comments")


def who(queries: "DataFrame", config: Config | None = None) -> "DataFrame":
    """The rows with `COLUMNS` added; rows, their order of columns and their number stay as they are.

    Reads `source`, `application`, `user`, `role`, `tags` (map of strings) and `comments` (of `with_comments`); a column that is missing counts as
    null, and without `comments` a `statement` is read for them. Columns of the names of `COLUMNS` are replaced.

    Python sees each distinct input once, without what differs from run to run (`runs.py`). For that the rows are read twice, here for the
    distinct inputs and by the caller for the rest: give it rows that are cheap to read. More than `BROADCAST` distinct inputs are joined by
    a shuffle instead of a broadcast.
    """
    from pyspark.sql import functions as F  # noqa: N812

    config = config or Config()
    kept = [name for name in queries.columns if name not in COLUMNS]
    rows = _with_input(queries if kept == queries.columns else queries.select(*kept))
    answers = rows.select(_INPUT).distinct().mapInArrow(_Answers(config), _SCHEMA)
    held = answers.limit(BROADCAST + 1).toArrow()
    if held.num_rows <= BROADCAST:
        answers = F.broadcast(queries.sparkSession.createDataFrame(held, answers.schema).coalesce(1))
    # Every input has its answer. As an inner join it would be searched for nulls first, through everything that makes the input.
    return (
        rows.join(answers, _INPUT, "left")
        .withColumn(COLUMNS[-1], _run(config.run_id_is_logical_date))
        .drop(_INPUT, _TEXT, _RUN, _SEED)
    )


def _with_input(queries: "DataFrame") -> "DataFrame":
    """The rows with what Python is asked (`_INPUT`), and with the text in which values of their run stand (`_TEXT`)."""
    rows = queries
    if "comments" not in queries.columns and "statement" in queries.columns:
        rows = with_comments(rows)
    for columns in _asked(*(name for name in _READ if name in rows.columns)):
        rows = rows.withColumns(columns)
    rows = rows.drop("_who_comments", "_who_tags", "_who_name")
    return rows if "comments" in queries.columns else rows.drop("comments")


@once_a_jvm
def _asked(*there: str) -> "tuple[dict[str, Column], ...]":
    """The columns to add, in their steps, of rows that have these of `_READ`."""
    from pyspark.sql import functions as F  # noqa: N812

    def part(name: str) -> "Column":
        return F.coalesce(F.col(name), F.lit("")) if name in there else F.lit("")

    tags = F.when(F.size("tags") > 0, F.to_json("tags")) if "tags" in there else F.lit(None).cast("string")
    name = F.substring(part("application"), 1, LONGEST_TEXT)
    first = {"_who_comments": part("comments"), "_who_tags": tags, "_who_name": name}
    short_tags = F.when(F.length("_who_tags") <= LONGEST_TEXT, F.col("_who_tags")).otherwise(F.lit(""))

    json_name = F.contains("_who_name", F.lit("{"))
    name = F.col("_who_name")
    name = F.when(json_name, runs.masked_column(name)).otherwise(runs.without(name, runs.NAME_MASKS))
    tags, comments = (runs.masked_column(F.col(column)) for column in ("_who_tags", "_who_comments"))
    parts = (part("source"), name, part("user"), part("role"), tags, comments)
    text = F.concat_ws("\n", "_who_comments", "_who_tags", F.when(json_name, F.col("_who_name")))
    # A log may hold bytes that are no text; Python would stumble over them.
    asked = F.make_valid_utf8(F.concat_ws(_CUT, *(F.replace(given, F.lit(_CUT), F.lit("")) for given in parts)))
    return first, {"_who_tags": short_tags}, {_TEXT: text, _INPUT: asked}


@once_a_jvm
def _run(run_id_is_logical_date: bool) -> "Column":
    from pyspark.sql import functions as F  # noqa: N812

    texts = (F.col(_RUN), F.col(_SEED), F.col(_TEXT))
    return runs.run_id_column(*texts, run_id_is_logical_date=run_id_is_logical_date)


class _Answers:
    """The one function Spark runs in Python: inputs → answers."""

    def __init__(self, config: Config) -> None:
        self.config = config

    def __call__(self, batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        import pyarrow as pa

        for batch in batches:
            inputs = batch.column(0).to_pylist()
            answers = [_answer(text, self.config) for text in inputs]
            columns: dict[str, list[str | None]] = {_INPUT: inputs}
            for name in COLUMNS[:-1]:
                columns[name] = [getattr(answer, name) for answer in answers]
            columns[_RUN] = [answer.run for answer in answers]
            columns[_SEED] = [answer.run_seed for answer in answers]
            yield pa.RecordBatch.from_pydict({name: pa.array(values, pa.string()) for name, values in columns.items()})


def _answer(text: str, config: Config) -> Who:
    source, application, user, role, tags, block = text.split(_CUT)
    try:
        told = json.loads(tags) if tags else {}
    except (ValueError, RecursionError):
        # Cannot be: they were written by Spark, and a mask is valid wherever it stands.
        told = {}
    known = evidence(source, application, user, role, told if isinstance(told, dict) else {}, comments(block))
    return recognise(known, config)
