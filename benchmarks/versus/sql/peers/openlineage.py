"""openlineage-sql: takes no schemas. Its dialect for Spark is hive."""

from openlineage_sql import parse


def prepare(schemas):
    return None


def edges(sql, prepared):
    meta = parse([sql], dialect="hive")
    if meta.errors:
        raise ValueError(meta.errors[0])
    return [
        (one.descendant.name, {(part.origin.name, part.name) for part in one.lineage if part.origin is not None})
        for one in meta.column_lineage
    ]
