"""polyglot-sql: analyze_query with a schema. Its Spark reads "x" as a string, as Spark does by default, so the generic dialect is taken."""

import polyglot_sql


def prepare(schemas):
    tables = [
        {"name": name, "columns": [{"name": column, "type": kind} for column, kind in columns.items()]}
        for name, columns in schemas.items()
    ]
    return {"schema": {"tables": tables}} if tables else {}


def edges(sql, prepared):
    told = polyglot_sql.analyze_query(sql, prepared, dialect="generic")
    return [
        (
            one["name"] or f"_{one['index']}",
            {(up["table"], up["column"]) for up in one["upstream"] if up["sourceKind"] == "table"},
        )
        for one in told["projections"]
    ]
