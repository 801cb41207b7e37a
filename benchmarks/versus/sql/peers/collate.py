"""collate-sqllineage (OpenMetadata's): takes no schemas; needs a target, so the query is made a table. Its sqlglot analyzer, sparksql."""

from collate_sqllineage.core.parser.sqlglot.analyzer import SqlGlotLineageAnalyzer
from collate_sqllineage.runner import LineageRunner


def prepare(schemas):
    return None


def edges(sql, prepared):
    found = {}
    runner = LineageRunner(f"CREATE TABLE made_here AS {sql}", dialect="sparksql", analyzer=SqlGlotLineageAnalyzer)
    for path in runner.get_column_lineage():
        table = path[0].parent
        inputs = found.setdefault(path[-1].raw_name, set())
        if table is not None:
            inputs.add((getattr(table, "raw_name", str(table)), path[0].raw_name))
    return list(found.items())
