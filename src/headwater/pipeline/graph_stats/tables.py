"""The tables of a graph's statistics. A dataset's `id` is a hash of its name; strong and connected components go by the least id in them."""

from typing import Final

from pyspark.sql.types import (
    BooleanType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from headwater.pipeline.tables import Table

_TEXT, _WHOLE, _STEPS = StringType(), LongType(), IntegerType()


def _schema(**columns: DataType) -> StructType:
    return StructType([StructField(name, kind, False) for name, kind in columns.items()])


# `fan_in`, `fan_out`: datasets one step up and down. `upstream`, `downstream`: other datasets any number of steps away; `exact`: whether these two
# are counted, or estimated. `depth`, `height`: steps of the longest chain that leads to it, and from it; datasets that lead to each other (`loop`:
# how many, 1 for most) are one step of a chain.
DATASETS: Final = Table(
    "graph_datasets",
    _schema(
        namespace=_TEXT,
        name=_TEXT,
        fan_in=_WHOLE,
        fan_out=_WHOLE,
        upstream=_WHOLE,
        downstream=_WHOLE,
        exact=BooleanType(),
        depth=_STEPS,
        height=_STEPS,
        loop=_WHOLE,
        strong=_WHOLE,
        component=_WHOLE,
    ),
    ("namespace", "name"),
)

# The parts that hang together. `closure`: pairs of datasets of which one leads to the other. `namespace`, `name`: of the dataset it goes by.
COMPONENTS: Final = Table(
    "graph_components",
    _schema(
        component=_WHOLE,
        namespace=_TEXT,
        name=_TEXT,
        datasets=_WHOLE,
        edges=_WHOLE,
        loops=_WHOLE,
        in_loops=_WHOLE,
        longest=_STEPS,
        closure=_WHOLE,
        exact=BooleanType(),
    ),
    ("component",),
)

# The longest chains, each to another end. `chain`: 1 for the longest; `position`: 0 for where it begins.
CHAINS: Final = Table(
    "graph_chains",
    _schema(chain=_STEPS, position=_STEPS, steps=_STEPS, namespace=_TEXT, name=_TEXT, loop=_WHOLE),
    ("chain", "position"),
)

# One row: the graph as a whole. `loops`: strong components of more than one dataset, `in_loops`: datasets in them.
SUMMARY: Final = Table(
    "graph_summary",
    _schema(
        datasets=_WHOLE,
        edges=_WHOLE,
        alone=_WHOLE,
        components=_WHOLE,
        largest=_WHOLE,
        loops=_WHOLE,
        in_loops=_WHOLE,
        longest=_STEPS,
        closure=_WHOLE,
        estimated=_WHOLE,
        precision=_STEPS,
        computed_at=TimestampType(),
    ),
    (),
)

TABLES: Final = (DATASETS, COMPONENTS, CHAINS, SUMMARY)
