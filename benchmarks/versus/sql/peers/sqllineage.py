"""sqllineage: needs a target, so the query is made a table; its outputs come without order. `sqlfluff` grammar, sparksql."""

import os

os.environ["SQLLINEAGE_DEFAULT_SCHEMA"] = "tpc"
from sqllineage.core.metadata.dummy import DummyMetaDataProvider
from sqllineage.runner import LineageRunner


def prepare(schemas):
    return DummyMetaDataProvider({f"tpc.{name}": list(columns) for name, columns in schemas.items()})


def edges(sql, prepared):
    found = {}
    runner = LineageRunner(f"CREATE TABLE made_here AS {sql}", dialect="sparksql", metadata_provider=prepared)
    for path in runner.get_column_lineage():
        table = path[0].parent
        inputs = found.setdefault(path[-1].raw_name, set())
        if table is not None:
            inputs.add((getattr(table, "raw_name", str(table)), path[0].raw_name))
    return list(found.items())
