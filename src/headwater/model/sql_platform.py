"""Properties of SQL that follow from the scheme of a dataset's namespace: the dialect, and the number of parts of a table's full name.

Source: OpenLineage's naming page.
"""

_DIALECTS = {
    "postgres": "postgres", "redshift": "redshift", "mysql": "mysql", "snowflake": "snowflake", "bigquery": "bigquery", "mssql": "tsql",
    "oracle": "oracle", "trino": "trino", "presto": "presto", "awsathena": "athena", "hive": "hive", "databricks": "databricks",
    "unitycatalog": "databricks", "clickhouse": "clickhouse", "duckdb": "duckdb", "ducklake": "duckdb",
    "teradata": "teradata", "spark": "spark", "file": "spark",
    "s3": "spark", "gs": "spark", "hdfs": "spark", "abfss": "spark", "arn": "spark",
}  # fmt: skip
_PARTS = {
    "postgres": 3, "redshift": 3, "snowflake": 3, "bigquery": 3, "mssql": 3, "oracle": 3, "trino": 3, "presto": 3, "awsathena": 3, "unitycatalog": 3,
    "databricks": 3, "duckdb": 3, "ducklake": 3, "mysql": 2, "hive": 2, "clickhouse": 2, "teradata": 2,
}  # fmt: skip


def dialect_of(namespace: str) -> str:
    """Return the dialect of a namespace's SQL; empty if the scheme says nothing of it."""
    return _DIALECTS.get(_scheme(namespace), "")


def name_parts(namespace: str) -> int | None:
    """Return the number of parts of a table's full name; None if the namespace holds no tables of a known kind."""
    return _PARTS.get(_scheme(namespace))


def _scheme(namespace: str) -> str:
    return namespace.split(":", 1)[0].lower()
