"""sqllineage-rs: a catalog object answers for columns. Its dialect for Spark is databricks."""

import sqllineage


class Known:
    def __init__(self, schemas):
        self.columns = {name: list(columns) for name, columns in schemas.items()}

    def list_columns(self, table):
        return self.columns.get(table.table)

    def resolve_column(self, column, candidates):
        return next((one for one in candidates if column in self.columns.get(one.table, ())), None)


def prepare(schemas):
    return Known(schemas)


def edges(sql, prepared):
    (told,) = sqllineage.analyze(sql, dialect="databricks", catalog=prepared)
    return [(one.target.column, set(inputs(one.sources))) for one in told.columns]


def inputs(sources):
    for one in sources:
        if one.kind == "concrete":
            yield one.table.table, one.column
        elif one.kind == "recursive":
            yield from inputs(one.base_sources)
