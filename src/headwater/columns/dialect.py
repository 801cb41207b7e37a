"""The differences between dialects in the meaning of names: how they fold, what an alias hides, which names are no columns.

The parser knows how a dialect is written; this module knows how its names resolve. Sources: each product's manual, chapter "identifiers".
"""

import functools

import msgspec


class Rules(msgspec.Struct, frozen=True):
    """The rules of one dialect. `parser`: the parser's name for it.

    `fold`: what an unquoted name becomes ("lower", "upper", "same"). `quoted_folds`: quoting does not keep a name's case apart.
    `insensitive`: names that differ only in case are one name; display keeps the spelling. `tables_sensitive`: but those of tables are not.
    `alias_first`: an output's alias hides a column of the same name in GROUP BY. `lateral_aliases`: an output may name
    the alias of one before it. `alias_in_where`: so may WHERE.
    """

    parser: str
    fold: str = "same"
    quoted_folds: bool = False
    insensitive: bool = False
    tables_sensitive: bool = False
    alias_first: bool = False
    lateral_aliases: bool = False
    alias_in_where: bool = False


_RULES = {
    "": Rules("", insensitive=True),
    "athena": Rules("athena", "lower", True, True),
    "bigquery": Rules("bigquery", insensitive=True, tables_sensitive=True),
    "clickhouse": Rules("clickhouse", alias_first=True, lateral_aliases=True, alias_in_where=True),
    "databricks": Rules("databricks", insensitive=True, lateral_aliases=True),
    "doris": Rules("doris", insensitive=True),
    "drill": Rules("drill", insensitive=True),
    "druid": Rules("druid"),
    "duckdb": Rules("duckdb", insensitive=True, lateral_aliases=True, alias_in_where=True),
    "hive": Rules("hive", insensitive=True),
    "materialize": Rules("materialize", fold="lower"),
    "mysql": Rules("mysql", insensitive=True),
    "oracle": Rules("oracle", fold="upper"),
    "postgres": Rules("postgres", fold="lower"),
    "presto": Rules("presto", "lower", True, True),
    "redshift": Rules("redshift", "lower", True, True, lateral_aliases=True),
    "risingwave": Rules("risingwave", fold="lower"),
    "snowflake": Rules("snowflake", fold="upper", lateral_aliases=True, alias_in_where=True),
    "spark": Rules("spark", insensitive=True, lateral_aliases=True),
    "spark2": Rules("spark2", insensitive=True),
    "sqlite": Rules("sqlite", insensitive=True),
    "starrocks": Rules("starrocks", insensitive=True),
    "teradata": Rules("teradata", insensitive=True, lateral_aliases=True, alias_in_where=True),
    "trino": Rules("trino", "lower", True, True),
    "tsql": Rules("tsql", insensitive=True),
}
ALIASES = {
    "ansi": "",
    "generic": "",
    "mariadb": "mysql",
    "mssql": "tsql",
    "postgresql": "postgres",
    "spark3": "spark",
    "sparksql": "spark",
    "sqlserver": "tsql",
    "synapse": "tsql",
    "fabric": "tsql",
    "greenplum": "postgres",
    "vertica": "postgres",
    "impala": "hive",
    "exasol": "oracle",
}
NAMES = tuple(sorted(name for name in _RULES if name))
"""Dialects by name; `rules` takes some other spellings too."""


@functools.cache
def rules(dialect: str) -> Rules:
    """The rules of `dialect` (any case; "" is standard SQL). Raises ValueError, naming the dialects there are."""
    name = dialect.strip().lower()
    name = ALIASES.get(name, name)
    found = _RULES.get(name)
    if found is None:
        raise ValueError(f"no dialect is called {dialect!r}; there are {', '.join(NAMES)}")
    return found


def fold(text: str, quoted: bool, rule: Rules) -> str:
    """The key of a name: equal keys are the same name."""
    if rule.insensitive:
        return text.lower()
    if rule.fold == "same" or (quoted and not rule.quoted_folds):
        return text
    return text.upper() if rule.fold == "upper" else text.lower()


HIVES = frozenset({"hive", "spark", "spark2", "databricks"})
"""Hive and the parsers of the products that read its SQL."""

EXTERNAL = "external:"
"""Begins the first part of the name of a table in another system: `external:CONNECTION`."""

TEMPORARY_SCHEMAS = frozenset({"_session", "pg_temp", "global_temp"})
"""The schemas under which products list the temporary tables of a session: BigQuery, PostgreSQL, Spark."""

VIRTUAL: dict[str, frozenset[str]] = {
    parser: frozenset(names.split())
    for parser, names in {
        "hive": "input__file__name block__offset__inside__file row__offset__inside__block raw__data__size row__id row__is__deleted",
        "spark": "_metadata input_file_name",
        "databricks": "_metadata _rescued_data",
        "snowflake": "METADATA$FILENAME METADATA$FILE_ROW_NUMBER METADATA$ACTION METADATA$ISUPDATE METADATA$ROW_ID METADATA$START_SCAN_TIME",
        "bigquery": "_partitiontime _partitiondate _table_suffix _file_name",
        "athena": "$path $file_size $file_modified_time $partition $bucket",
        "trino": "$path $file_size $file_modified_time $partition $bucket",
        "presto": "$path $file_size $file_modified_time $partition $bucket",
        "postgres": "ctid tableoid xmin xmax cmin cmax",
        "clickhouse": "_path _file _size _part _partition_id _sample_factor _table _database _part_index _part_offset",
        "oracle": "ROWID ORA_ROWSCN",
        "sqlite": "rowid oid _rowid_",
        "duckdb": "rowid filename file_row_number",
        "tsql": "$identity $rowguid $action $partition",
        "redshift": "$path $size",
        "mysql": "_rowid",
    }.items()
}
"""Columns that every table of a product has, although no schema lists them."""

# Words that stand where a column could and are none.
_STANDARD = frozenset(
    (
        "current_date current_time current_timestamp current_user session_user user localtime localtimestamp true false null default "
        "current_role today now"
    ).split()
)
_ORACLE = _STANDARD | frozenset(
    "sysdate systimestamp rownum level nextval currval rowid connect_by_isleaf connect_by_iscycle uid getdate".split()
)


@functools.cache
def pseudo(parser: str) -> frozenset[str]:
    """The words that stand where a column could and are none."""
    if parser in HIVES:
        return _STANDARD | {"grouping__id"}
    return _ORACLE if parser in {"", "oracle", "snowflake", "teradata", "postgres"} else _STANDARD


DATE_PARTS = frozenset(
    (
        "year years yy yyyy y yr quarter qtr q qq month months mon mm m week weeks wk ww w isoweek day days dd d "
        "dayofyear doy dy dow dayofweek weekday dw hour hours hh h minute minutes min mi n second seconds ss s sec "
        "millisecond milliseconds ms microsecond microseconds us mcs nanosecond ns epoch isoyear isodow decade "
        "century millennium epoch_second epoch_millisecond timezone_hour timezone_minute date time"
    ).split()
)
