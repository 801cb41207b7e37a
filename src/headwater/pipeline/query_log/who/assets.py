"""The names that BI tools' own exports add to their queries: Looker's dashboards, and names and folders of any asset.

Looker's comment names no dashboard, only the history slug; System Activity's History (exported as CSV or JSON lines, from its explore or by
the API) says what ran under each slug. Every other tool's query names its asset by id; a plain table of names says how people call it. Nothing
here asks a tool: the files are exports.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

# column → how the explore, the API and CSV files head it, once what is no letter or digit is an underscore
_HISTORY = {
    "slug": ("history_slug", "slug"),
    "person": ("user_email", "user_name"),
    "dashboard": ("dashboard_id", "dashboard_id_user_defined_only", "history_real_dash_id"),
    "dashboard_title": ("dashboard_title",),
    "look": ("look_id", "history_look_id"),
    "look_title": ("look_title",),
    "model": ("query_model", "model"),
    "explore": ("query_view", "query_explore", "explore"),
    "folder": ("folder_name", "dashboard_folder_name", "space_name", "folder"),
}
_NAMES = {
    "tool": ("tool",),
    "asset": ("tool_asset", "asset"),
    "name": ("tool_asset_name", "name"),
    "folder": ("folder",),
}
_SLUG = r"(?i)history[_-]slug\\{0,3}[\"']?\s?[:=]\s?(?:\\{0,3}[\"'])?([0-9a-zA-Z]{8,64})"


def looker_history(spark: "SparkSession", paths: Sequence[str]) -> "DataFrame":
    """System Activity's History, from CSV (with a heading) or JSON lines: one row a slug with `slug`, `person`, `dashboard`, `look`, …

    Columns of other names are left out, and what is missing is null. ValueError for files without a slug.
    """
    from pyspark.sql import functions as F  # noqa: N812

    found = _read(spark, paths, _HISTORY, "slug")
    others = [name for name in _HISTORY if name != "slug"]
    # A slug appears once; among different copies the largest is taken, to be deterministic.
    one = found.groupBy("slug").agg(F.max(F.struct(*others)).alias("told"))
    return one.select("slug", *(F.col(f"told.{name}").alias(name) for name in others))


def history_slug() -> "Column":
    """The slug under which Looker keeps a query of its own in its history; of rows with `tool`, `comments` and `tags`. Null of all others."""
    from pyspark.sql import functions as F  # noqa: N812

    marks = F.concat_ws("\n", "comments", F.to_json("tags"))
    return F.when(F.col("tool") == "looker", F.nullif(F.regexp_extract(marks, _SLUG, 1), F.lit("")))


def with_looker_history(rows: "DataFrame", history: "DataFrame") -> "DataFrame":
    """Looker's rows with the dashboard, look or explore and the person that History has for their slug; all others as they are.

    `rows` have the columns of `who`, `query_id` and `tool_run` (`history_slug`). `history`: of `looker_history`.
    """
    from pyspark.sql import functions as F  # noqa: N812

    told = history.select(*(F.col(name).alias(f"_told_{name}") for name in _HISTORY))
    # Rows without a slug have keys of their own: one key for all of them would be one task's work.
    keyed = rows.withColumn("_slug", F.coalesce("tool_run", F.concat(F.lit("-"), "query_id")))
    joined = keyed.join(told, F.col("_slug") == F.col("_told_slug"), "left")

    def path(kind: str, name: "Column") -> "Column":
        safe = F.replace(F.replace(name, F.lit("%"), F.lit("%25")), F.lit("/"), F.lit("%2F"))
        return F.when(name.isNotNull(), F.concat(F.lit(f"{kind}/"), safe))

    explore = F.concat_ws("::", "_told_model", "_told_explore")
    shape = F.coalesce(
        path("dashboard", F.col("_told_dashboard")),
        path("look", F.col("_told_look")),
        path("explore", F.when(F.col("_told_explore").isNotNull(), explore)),
    )
    title = F.when(F.col("_told_dashboard").isNotNull(), F.col("_told_dashboard_title")).otherwise(
        F.col("_told_look_title")
    )
    given = {
        "actor": F.coalesce("_told_person", "actor"),
        "tool_asset": F.coalesce(shape, "tool_asset"),
        "tool_asset_name": F.coalesce(
            F.nullif(F.concat_ws(" / ", "_told_folder", title), F.lit("")), "tool_asset_name"
        ),
    }
    return joined.select(*(given[name].alias(name) if name in given else F.col(name) for name in rows.columns))


def asset_names(spark: "SparkSession", paths: Sequence[str]) -> "DataFrame":
    """Names of assets, from CSV (with a heading) or JSON lines with `tool`, `tool_asset`, `name` and perhaps `folder`.

    One row an asset. ValueError for files without `tool_asset`.
    """
    from pyspark.sql import functions as F  # noqa: N812

    found = _read(spark, paths, _NAMES, "asset").where(F.col("tool").isNotNull())
    one = found.groupBy("tool", "asset").agg(F.max(F.struct("name", "folder")).alias("told"))
    return one.select(
        "tool", "asset", F.nullif(F.concat_ws(" / ", "told.folder", "told.name"), F.lit("")).alias("name")
    )


def with_asset_names(rows: "DataFrame", names: "DataFrame") -> "DataFrame":
    """The rows with the names their assets are given; an earlier name stays where none is given. `names`: of `asset_names`."""
    from pyspark.sql import functions as F  # noqa: N812

    given = F.broadcast(
        names.select(F.col("tool").alias("_tool"), F.col("asset").alias("_asset"), F.col("name").alias("_name"))
    )
    joined = rows.join(given, (F.col("tool") == F.col("_tool")) & (F.col("tool_asset") == F.col("_asset")), "left")
    name = F.coalesce("_name", "tool_asset_name").alias("tool_asset_name")
    return joined.select(*(name if column == "tool_asset_name" else F.col(column) for column in rows.columns))


def _read(spark: "SparkSession", paths: Sequence[str], columns: dict[str, tuple[str, ...]], key: str) -> "DataFrame":
    from pyspark.sql import functions as F  # noqa: N812

    found: DataFrame | None = None
    for path in paths:
        csv = path.lower().removesuffix(".gz").endswith(".csv")
        table = (
            spark.read.csv(path, header=True, multiLine=True, escape='"')
            if csv
            else spark.read.json(path, primitivesAsString=True)
        )
        heads = {re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_"): name for name in table.columns}
        named = {name: next((heads[head] for head in told if head in heads), None) for name, told in columns.items()}
        if named[key] is None:
            raise ValueError(f"{path} has no column {' or '.join(columns[key])}; it has {', '.join(table.columns)}")
        part = table.select(
            *(
                (F.col(f"`{head}`").cast("string") if head else F.lit(None).cast("string")).alias(name)
                for name, head in named.items()
            )
        )
        part = part.select(*(F.nullif(F.trim(name), F.lit("")).alias(name) for name in columns)).where(
            F.col(key).isNotNull()
        )
        found = part if found is None else found.unionByName(part)
    if found is None:
        raise ValueError("no file is given")
    return found
