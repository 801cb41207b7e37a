"""sqlglot's lineage(None): every output in one call, without its costly trim_selects; a leaf is a node whose expression is a table."""

from sqlglot import MappingSchema, exp
from sqlglot.lineage import lineage


def prepare(schemas):
    return MappingSchema(schemas, dialect="spark")


def edges(sql, prepared):
    found = []
    for name, root in lineage(None, sql, schema=prepared, dialect="spark", trim_selects=False).items():
        inputs = set()
        for node in root.walk():
            if isinstance(node.expression, exp.Table) and "." in node.name:
                inputs.add((node.expression.name, exp.to_column(node.name).name))
        found.append((name, inputs))
    return found
