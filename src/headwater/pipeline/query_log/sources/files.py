"""Files of any kind as one DataFrame of the columns that are looked for.

Parquet, CSV and JSON, told apart by the end of the name, each as it is or compressed (`.gz`, `.bz2`, `.zst`): `jobs.parquet`, `history.csv.gz`,
`audit.jsonl.zst`. Columns are found by name in any letter case; CSV files may differ in which columns they have and in what order; JSON is one
value a line, or an array, or values written over several lines (these two are read whole: a gigabyte of JSON should be one value a line). Bytes
that are no UTF-8 become U+FFFD, and a record that is none of the format's is kept as text with `unread` set, so that one bad row harms no other.

Only this comes to the driver: the names of the files, and the first line of those whose columns are not in a footer.
"""

import csv
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Final, NamedTuple

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (its usual name)
from pyspark.sql.types import ArrayType, DataType, MapType, StringType, StructField, StructType, TimestampType

from headwater.errors import InvalidQuestion, NotFound, UnreadableContent
from headwater.pipeline.expressions import once_a_jvm
from headwater.pipeline.folder import whole
from headwater.pipeline.query_log.sources.fields import Export, Field, time, value

FORMATS: Final = {
    "parquet": "parquet",
    "pq": "parquet",
    "csv": "csv",
    "tsv": "csv",
    "json": "json",
    "jsonl": "json",
    "ndjson": "json",
    "log": "lines",
}
COMPRESSED: Final = ("gz", "gzip", "bz2", "zst", "zstd", "snappy", "deflate")
DOCUMENT: Final = "docs/reference/query-log-sources.md"

# A file up to this size is never split between tasks, so the first of its lines is the first that its task sees.
_SMALL: Final = 4 * 1024 * 1024
_HEAD: Final = 64 * 1024
_UNREAD: Final = "_unread"
# The text that Snowflake and PostgreSQL write for null, as SQL.
_NULL: Final = r"r'\N'"
_SEPARATORS: Final = ",\t|;"


@dataclass(frozen=True, slots=True)
class LogFile:
    path: str
    size: int
    format: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """The fields and exports that a source looks for. `headless`: the columns of a CSV file that has no header, in their order. `lines`: of a source
    with logs of text, the break between two records, which are its field `text`; their place is `session_line_num`."""

    source: str
    fields: tuple[Field, ...]
    exports: tuple[Export, ...]
    headless: tuple[str, ...] = ()
    lines: str = ""


class Read(NamedTuple):
    """`rows`: a row a record: the columns that are looked for by their names, `file`, `record` (the record as text) and `unread` (it is not of its
    format). `plain`: every column is as the files have it and may be computed twice; then `names` are those found."""

    rows: DataFrame
    plain: bool = False
    names: frozenset[str] = frozenset()


def read(spark: SparkSession, paths: Sequence[str], wanted: Wanted) -> Read:
    """The records of the files.

    InvalidQuestion: no path, a file whose format its name does not say, a file that has the columns of no export. NotFound: nothing is there.
    UnreadableContent: a Parquet file that is damaged, or Parquet files whose columns contradict each other.
    """
    found = listed(spark, paths, wanted.source)
    frames: list[DataFrame] = []
    stored: Read | None = None
    footed = [file for file in found if file.format == "parquet"]
    if footed:
        stored = _parquet(spark, footed, wanted)
        frames.append(stored.rows)
    lined = [file for file in found if file.format == "lines"]
    if lined and not wanted.lines:
        raise InvalidQuestion(
            f"{lined[0].path}: a {wanted.source} log is no text. {DOCUMENT} says how to export it", parameter="input"
        )
    frames += [_lines(spark, lined, wanted)] if lined else []
    headed = [file for file in found if file.format not in {"parquet", "lines"}]
    heads = first_lines(spark, headed)
    frames += _csv(
        spark, {file: heads[file.path] for file in headed if file.format == "csv" and file.path in heads}, wanted
    )
    frames += _json(
        spark, {file: heads[file.path] for file in headed if file.format == "json" and file.path in heads}, wanted
    )
    if not frames:
        raise InvalidQuestion(f"every file is empty: {', '.join(paths)}", parameter="input", value=list(paths))
    return stored if stored and len(frames) == 1 else Read(reduce(DataFrame.unionByName, frames))


def listed(spark: SparkSession, paths: Sequence[str], source: str) -> list[LogFile]:
    """Every file of the paths, folders with all below them. Names that begin with `.` or `_` are not data, as everywhere in Hadoop."""
    if not paths:
        raise InvalidQuestion("no input is given: name files, folders or globs", parameter="input")
    here = {path: _on_this_machine(path) for path in paths}
    if all(here.values()):  # as a sync names them: what Spark would begin a job for is known
        files = {whole(path): file.stat().st_size for path, file in here.items() if file}
        return [LogFile(path, size, _format(path, source)) for path, size in sorted(files.items())]
    try:
        rows = (
            spark.read.format("binaryFile")
            .option("recursiveFileLookup", "true")
            .load(list(paths))
            .select("path", "length")
            .collect()
        )
    except AnalysisException as broken:
        raise NotFound(f"there is no input: {_first_sentence(broken)}", paths=list(paths)) from broken
    if not rows:
        raise NotFound(f"there is no file in {', '.join(paths)}", paths=list(paths))
    return sorted(
        (LogFile(row["path"], row["length"], _format(row["path"], source)) for row in rows), key=lambda file: file.path
    )


def _on_this_machine(path: str) -> Path | None:
    """The path of a plain file that is here, and by whose name nothing else is meant."""
    plain = Path(whole(path).removeprefix("file://"))
    return plain if whole(path).startswith("file://") and literal(path) == path and plain.is_file() else None


def _format(path: str, source: str) -> str:
    parts = path.rsplit("/", 1)[-1].lower().split(".")
    while len(parts) > 1 and parts[-1] in COMPRESSED:
        parts.pop()
    # A writer that compresses inside a Parquet file writes `x.snappy.parquet`: the last part says it all the same.
    known = FORMATS.get(parts[-1]) if len(parts) > 1 else None
    if known is None:
        raise InvalidQuestion(
            f"{path}: its name does not say what it is. A {source} log is read from names that end in "
            f"{', '.join('.' + end for end in FORMATS)}, also with {', '.join('.' + end for end in COMPRESSED[:5])} behind: rename it",
            parameter="input",
            value=path,
        )
    return known


def first_lines(spark: SparkSession, files: Sequence[LogFile]) -> dict[str, str]:
    """The first line with something in it, its first 64 KiB, of each file that has one. Plain files of this machine are read here."""

    def lines(paths: list[str]) -> DataFrame:
        return (
            spark.read.text(paths)
            .where(F.length(F.trim("value")) > 0)
            .select(
                _file(),
                F.make_valid_utf8(F.substring("value", 1, _HEAD)).alias("line"),
                F.monotonically_increasing_id().alias("at"),
            )
        )

    heads: dict[str, str] = {}
    here = {file: at for file in files if not _compressed(file.path) and (at := _on_this_machine(file.path))}
    for file, at in here.items():
        if line := _first_line(at):
            heads[file.path] = line
    files = [file for file in files if file not in here]
    small = [literal(file.path) for file in files if file.size <= _SMALL]
    if small:
        heads |= {
            row["file"]: row["line"]
            for row in lines(small).groupBy("file").agg(F.min_by("line", "at").alias("line")).collect()
        }
    large = [literal(file.path) for file in files if file.size > _SMALL]
    with ThreadPoolExecutor(max_workers=8) as pool:
        for rows in pool.map(lambda path: lines([path]).limit(1).collect(), large):
            heads |= {row["file"]: row["line"] for row in rows}
    return {file: line.lstrip("\ufeff") for file, line in heads.items()}


def _compressed(path: str) -> bool:
    return path.rsplit(".", 1)[-1].lower() in COMPRESSED


def _first_line(file: Path) -> str | None:
    with file.open(encoding="utf-8", errors="replace") as lines:
        while line := lines.readline(_HEAD):
            if line.strip(" \n"):
                return line.removesuffix("\n")
    return None


def literal(path: str) -> str:
    """A path that is not taken for a glob."""
    return re.sub(r"([*?\[\]{}\\])", r"\\\1", path)


def _file() -> Column:
    """The path of the file a record came from, as the listing has it; what Spark says is a URI, where a blank is `%20`."""
    said = F.col("_metadata.file_path")
    decoded = F.coalesce(F.try_url_decode(F.replace(said, F.lit("+"), F.lit("%2B"))), said)
    return F.when(said.contains("%"), decoded).otherwise(said).alias("file")


def _parquet(spark: SparkSession, files: Sequence[LogFile], wanted: Wanted) -> Read:
    try:
        raw = spark.read.option("mergeSchema", "true").parquet(*(literal(file.path) for file in files))
        there = raw.schema
    except PySparkException as broken:
        raise UnreadableContent(
            f"these Parquet files cannot be read together: {_first_sentence(broken)}. A damaged file has to go; files whose columns differ in type "
            "are given one export at a time",
            paths=[file.path for file in files],
        ) from broken
    _check(files[0].path, there.fieldNames(), wanted)
    columns = {name.lower(): field for name, field in zip(there.fieldNames(), there.fields, strict=True)}
    picked, plain, names = [], True, set()
    for field in wanted.fields:
        hits = [columns[name.lower()] for name in field.names() if name.lower() in columns]
        said = [_read(f"`{hit.name}`", hit.dataType, field) for hit in hits]
        plain &= all(isinstance(hit.dataType, StringType) <= isinstance(field.type, StringType) for hit in hits)
        picked.append(_field_column(said, field).alias(field.name))
        names.update([field.name] if hits else [])
    record = F.to_json(F.struct(*(F.col(f"`{hit.name}`") for hit in there.fields)))
    rows = raw.select(*picked, _file(), record.alias("record"), F.lit(False).alias("unread"))
    return Read(rows, plain, frozenset(names))


def _lines(spark: SparkSession, files: Sequence[LogFile], wanted: Wanted) -> DataFrame:
    """Records of text. A file is read whole, so it has to be smaller than a gigabyte. `unread`: the file ends before the record's line does."""
    raw = spark.read.text([literal(file.path) for file in files], wholetext=True)
    whole_text = raw.select(F.make_valid_utf8("value").alias("whole"), _file())
    parts = whole_text.select("file", F.split("whole", wanted.lines).alias("parts"))
    records = parts.select("file", F.size("parts").alias("count"), F.posexplode("parts").alias("place", "record"))
    own = {"text": F.rtrim(F.col("record"), F.lit("\r\n ")), "session_line_num": F.col("place").cast("bigint")}
    picked = [own.get(field.name, F.lit(None)).cast(field.type).alias(field.name) for field in wanted.fields]
    is_cut = (F.col("place") == F.col("count") - 1) & ~F.col("record").endswith("\n")
    return records.where(F.length(F.trim("record")) > 0).select(*picked, "file", "record", is_cut.alias("unread"))


def _csv(spark: SparkSession, heads: dict[LogFile, str], wanted: Wanted) -> list[DataFrame]:
    layouts: dict[tuple[str, tuple[str, ...], bool], list[str]] = {}
    for file, line in heads.items():
        layout = _layout(line, wanted)
        if layout[2] or not wanted.headless:
            _check(file.path, layout[1], wanted)
        layouts.setdefault(layout, []).append(literal(file.path))
    frames = []
    for (separator, header, headed), paths in layouts.items():
        schema = StructType([StructField(f"c{at}", StringType()) for at in range(len(header))])
        raw = (
            spark.read.schema(schema.add(_UNREAD, StringType()))
            .option("header", str(headed).lower())
            .option("sep", separator)
            .option("quote", '"')
            .option("escape", '"')
            .option("multiLine", "true")
            .option("columnNameOfCorruptRecord", _UNREAD)
            .option("maxCharsPerColumn", "-1")
            .csv(paths)
        )
        named = {name.strip().lower(): at for at, name in reversed(list(enumerate(header)))}
        # A file that ends within quotes has a value that ends anywhere.
        is_whole = F.expr(f"{_UNREAD} is null or mod(length(regexp_replace({_UNREAD}, '[^\"]', '')), 2) = 0")
        picked = []
        for field in wanted.fields:
            cells = [f"c{named[name.lower()]}" for name in field.names() if name.lower() in named]
            said = [_read(f"if({cell} in ('', {_NULL}), null, {cell})", StringType(), field) for cell in cells]
            picked.append(F.when(is_whole, _field_column(said, field)).alias(field.name))
        record = F.coalesce(
            F.col(_UNREAD),
            F.to_json(F.struct(*(F.col(f"c{at}").alias(name or f"_{at}") for at, name in enumerate(_apart(header))))),
        )
        frames.append(raw.select(*picked, _file(), record.alias("record"), F.col(_UNREAD).isNotNull().alias("unread")))
    return frames


def _layout(line: str, wanted: Wanted) -> tuple[str, tuple[str, ...], bool]:
    """Return the layout of a CSV file, from its first line: the separator, the columns, and whether that line is a header."""
    sought = {name.lower() for field in wanted.fields for name in field.names()}
    best: tuple[int, str, tuple[str, ...]] = (0, ",", ())
    for separator in _SEPARATORS:
        cells = tuple(next(csv.reader([line], delimiter=separator), []))
        hits = sum(cell.strip().lower() in sought for cell in cells)
        if hits > best[0] or not best[2]:
            best = (hits, separator, cells)
    if wanted.headless and best[0] < 2:
        return ",", wanted.headless, False
    return best[1], best[2], True


def _apart(header: Sequence[str]) -> list[str]:
    """Column names of which no two are the same, as a struct needs them."""
    seen: set[str] = set()
    told = []
    for at, name in enumerate(header):
        free = name.strip() if name.strip().lower() not in seen else f"{name.strip()}_{at}"
        seen.add(free.lower())
        told.append(free)
    return told


def _json(spark: SparkSession, heads: dict[LogFile, str], wanted: Wanted) -> list[DataFrame]:
    lined, whole = [], []
    for file, line in heads.items():
        start = line.strip()
        if start.startswith("[") or start == "{":
            whole.append(literal(file.path))
        else:
            _check_record(file.path, start, wanted)
            lined.append(literal(file.path))
    frames = []
    if lined:
        raw = spark.read.text(lined).select(F.make_valid_utf8("value").alias("record"), _file())
        raw = raw.where(F.length(F.trim("record")) > 0).withColumn("record", F.ltrim("record", F.lit("\ufeff ")))
        frames.append(_objects(raw, wanted))
    if whole:
        raw = spark.read.text(whole, wholetext=True).select(F.make_valid_utf8("value").alias("record"), _file())
        body = F.trim(F.ltrim("record", F.lit("\ufeff ")), F.lit(" \n\r\t"))
        # Between two values there is a line's end, which no string inside them can have.
        listing = F.when(body.startswith("["), body).otherwise(
            F.concat(F.lit("["), F.regexp_replace(body, r"\}\s*\n\s*\{", "},{"), F.lit("]"))
        )
        parts = F.from_json(listing, "array<string>")
        raw = raw.select(F.explode(F.coalesce(parts, F.array("record"))).alias("record"), "file")
        frames.append(_objects(raw, wanted))
    return frames


def _objects(raw: DataFrame, wanted: Wanted) -> DataFrame:
    """One JSON object a row, by one parse. Keys that differ in letter case alone are told apart by their place in the struct."""
    spelt = [(field, name) for field in wanted.fields for name in field.spellings()]
    leaves = {field.name: _leaf(field) for field in wanted.fields}
    asked = StructType(
        [*(StructField(name, leaves[field.name]) for field, name in spelt), StructField(_UNREAD, StringType())]
    )
    placed = StructType([StructField(f"c{at}", kept.dataType) for at, kept in enumerate(asked.fields)])
    parsed = F.from_json("record", asked, {"columnNameOfCorruptRecord": _UNREAD}).cast(placed)
    raw = raw.select("record", "file", F.inline(F.array(parsed)))
    picked = []
    for field in wanted.fields:
        places = ", ".join(f"c{at}" for at, (of, _) in enumerate(spelt) if of is field)
        picked.append(_read(f"coalesce({places})", leaves[field.name], field).alias(field.name))
    unread = F.col(f"c{len(spelt)}").isNotNull()
    return raw.select(*picked, "file", "record", unread.alias("unread"))


def _leaf(field: Field) -> DataType:
    return field.type if isinstance(field.type, StructType | ArrayType | MapType) else StringType()


@once_a_jvm
def _read(column: str, actual: DataType, field: Field) -> Column:
    if isinstance(field.type, TimestampType):
        return time(column, actual)
    return value(F.expr(column), actual, field.type)


def _field_column(said: Sequence[Column], field: Field) -> Column:
    return F.coalesce(*said) if said else F.lit(None).cast(field.type)


def _check(path: str, columns: Sequence[str], wanted: Wanted) -> None:
    """InvalidQuestion when the columns are those of no export, by the one that comes nearest."""
    there = {column.strip().lower() for column in columns}
    names = {field.name: field.names() for field in wanted.fields}

    def lacking(export: Export) -> list[str]:
        return [need for need in export.needs if not {name.lower() for name in names.get(need, (need,))} & there]

    nearest = min(wanted.exports, key=lambda export: len(lacking(export)) / len(export.needs))
    missing = lacking(nearest)
    if missing:
        raise InvalidQuestion(
            f"{path} is no {wanted.source} query log: as {nearest.name} it lacks the column{'s' * (len(missing) > 1)} {', '.join(missing)}; "
            f"it has {', '.join(columns[:12])}{', …' * (len(columns) > 12)}. {DOCUMENT} says how to export it",
            parameter="input",
            file=path,
            missing=missing,
        )


def _check_record(path: str, line: str, wanted: Wanted) -> None:
    """InvalidQuestion when the first record of a file is JSON and has nothing at all that is looked for. One that is broken is a bad row, no more."""
    import json

    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        return
    sought = {name.lower() for field in wanted.fields for name in field.names()}
    if isinstance(said, dict) and not sought & {key.lower() for key in said}:
        _check(path, list(said), wanted)


def _first_sentence(broken: Exception) -> str:
    return str(broken).split("\n", 1)[0].split(" SQLSTATE", 1)[0].strip(" .")
