"""Find the schema of a table after a client's write: it keeps its columns, and one of Delta or Iceberg may get those of the query."""

from typing import Any

from headwater.capture.spark import evolution
from headwater.capture.spark.analysis import Analysis
from headwater.capture.spark.connect import scope as scopes
from headwater.capture.spark.connect.server import NoAnswer
from headwater.capture.spark.connect.sources import Located, Sources
from headwater.capture.spark.datasets import Dataset

UNKNOWN = "the schema of the table is not reported: "
_OVERTAKEN = "the program had gone on before the server was asked for it"


def extend(found: Analysis, target: Dataset, relation: Any, sources: Sources) -> None:
    """Give a write the schema of its table. `relation`: the message that reads the table. A table that is not there yet gets the query's.

    The server may answer when the write has ended, which changes nothing: the table then has the query's columns. Once a further command has begun,
    it may have others, so its schema is left out.
    """
    if target.layer:
        _extend(found, relation, sources)


def complete(found: Analysis, located: Located, relation: Any, sources: Sources) -> None:
    """Give an INSERT of SQL, which may name some columns only, those of its table that it does not give, and its schema, as `extend` does."""
    if not found.opaque:
        found.gives(located.columns)
    if located.dataset.layer or {str(field["name"]).lower() for field in found.fields} != set(
        map(str.lower, located.columns)
    ):
        found.fields = [field for field in found.fields if field["name"] != "*"]
        _extend(found, relation, sources)


def _extend(found: Analysis, relation: Any, sources: Sources) -> None:
    before = None
    why = ""
    try:
        before = sources.server.schema(relation)
    except NoAnswer as problem:
        if not problem.is_of_nothing_there:
            why = f"the server says: {problem}"
    if sources.is_overtaken():
        why = _OVERTAKEN
    if why:
        found.fields = []
        found.warnings.append(UNKNOWN + why)
    elif before is not None:
        attributes = [scopes.attribute(one["name"], one["type"]) for one in before]
        found.fields = evolution.extended(scopes.schema_fields(attributes), found.fields)
