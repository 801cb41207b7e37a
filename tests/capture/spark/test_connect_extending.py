"""The schema of a table after a write through Spark Connect, where the server's answer is of another moment, or is none."""

from typing import Any

import pytest

from headwater.capture.spark.analysis import Analysis
from headwater.capture.spark.connect import commands, extending
from headwater.capture.spark.connect.server import NoAnswer, Server
from headwater.capture.spark.connect.sources import Located, Sources
from headwater.capture.spark.coverage import Coverage
from headwater.capture.spark.datasets import Dataset, Leaves

DELTA, PARQUET = Dataset("file", "/t", [], layer="delta"), Dataset("file", "/t", [])
TABLE = [{"name": "id", "type": "long"}, {"name": "b", "type": "string"}]
QUERY = [{"name": "ID", "type": "long"}, {"name": "note", "type": "string"}]


class Client:
    _session_id = "one"


def sources(answer: Any, overtaken: bool = False) -> Sources:
    """Return the names of a session whose server gives this answer to each question for a schema."""

    class Answering(Server):
        def schema(self, relation: Any) -> list[dict[str, Any]]:
            if isinstance(answer, Exception):
                raise answer
            return list(answer)

    made = Sources(Answering(Client()), Coverage())
    made.is_overtaken = lambda: overtaken
    return made


def analysis() -> Analysis:
    found = Analysis(Leaves())
    found.fields = [dict(field) for field in QUERY]
    return found


def names(found: Analysis) -> list[str]:
    return [field["name"] for field in found.fields]


def test_a_table_keeps_its_columns_and_gets_others() -> None:
    found = analysis()
    extending.extend(found, DELTA, None, sources(TABLE))
    assert (names(found), found.warnings) == (["id", "b", "note"], [])


def test_files_have_the_schema_of_the_query() -> None:
    found = analysis()
    extending.extend(found, PARQUET, None, sources(NoAnswer("not asked")))
    assert (names(found), found.warnings) == (["ID", "note"], [])


def test_a_table_that_is_not_there_yet_gets_the_schema_of_the_query() -> None:
    found = analysis()
    extending.extend(found, DELTA, None, sources(NoAnswer("[PATH_NOT_FOUND] Path does not exist: /t")))
    assert (names(found), found.warnings) == (["ID", "note"], [])


@pytest.mark.parametrize(
    ("answer", "overtaken", "why"),
    [
        (NoAnswer("Deadline Exceeded"), False, "the server says: Deadline Exceeded"),
        (TABLE, True, "the program had gone on before the server was asked for it"),
        (NoAnswer("[PATH_NOT_FOUND]"), True, "the program had gone on before the server was asked for it"),
    ],
)
def test_a_schema_in_doubt_is_not_reported(answer: Any, overtaken: bool, why: str) -> None:
    found = analysis()
    extending.extend(found, DELTA, None, sources(answer, overtaken))
    assert (found.fields, found.warnings) == ([], [f"the schema of the table is not reported: {why}"])


def test_an_insert_of_some_columns_has_the_schema_of_the_table() -> None:
    some, whole = analysis(), analysis()
    some.fields = [{"name": "b", "type": "string"}]
    extending.complete(some, Located(PARQUET, ["t"], ["id", "b"]), None, sources(TABLE))
    assert names(some) == ["id", "b"]
    extending.complete(whole, Located(PARQUET, ["t"], ["id", "note"]), None, sources(NoAnswer("not asked")))
    assert (names(whole), whole.warnings) == (["ID", "note"], [])


def test_save_as_table_over_a_table_keeps_the_columns_of_delta() -> None:
    iceberg = Dataset("file", "/t", [], layer="iceberg")
    asked = [(DELTA, {}), (DELTA, {"overwriteschema": "true"}), (iceberg, {})]
    found = [commands._keeps_columns(Located(dataset, ["t"], ["id"]), options) for dataset, options in asked]
    assert found == [True, False, False]
