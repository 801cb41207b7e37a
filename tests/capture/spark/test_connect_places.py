"""The place of a table that the program drops and makes again elsewhere, while Spark Connect's server is asked too late about it."""

from headwater.capture.spark.commands import CREATE, DROP, Write
from headwater.capture.spark.connect.server import Server, Table
from headwater.capture.spark.connect.sources import Sources
from headwater.capture.spark.coverage import Coverage
from headwater.capture.spark.datasets import Dataset


class Client:
    _session_id = "one"


class Answering(Server):
    """A server that has one table, at `place`, or none."""

    place = ""

    def table(self, name: str) -> Table | None:
        details = {"Catalog": "spark_catalog", "Database": "default", "Table": "t", "Location": self.place}
        return Table([("id", "int")], details) if self.place else None

    def database(self, name: str) -> str:
        return "file:/warehouse"

    def setting(self, key: str) -> str:
        return "file:/warehouse"


def session() -> Sources:
    """Return a session whose table was seen in a folder of its own, and is gone from the server."""
    server = Answering(Client())
    server.place = "file:/elsewhere"
    sources = Sources(server, Coverage())
    assert sources.table(["t"]) is not None
    server.place = ""
    sources.is_late = lambda: True
    return sources


def table(place: str) -> Dataset:
    return Dataset("file", place, [], symlink=("file:/warehouse", "default.t"))


def test_a_table_that_is_gone_is_where_it_was() -> None:
    found = session().table(["t"])
    assert found is not None
    assert found.dataset.name == "/elsewhere"


def test_a_new_table_is_not_where_the_dropped_one_was() -> None:
    sources = session()
    sources.note(Write(table("/elsewhere"), DROP), [], "")
    assert sources.table(["t"]) is None
    assert sources.place(["t"]).name == "/warehouse/t"


def test_a_table_that_was_made_without_a_query_is_where_it_was_made() -> None:
    sources = session()
    sources.note(Write(table("/elsewhere"), DROP), [], "")
    sources.note(Write(table("/warehouse/t"), CREATE), [], "create table t (id int)")
    assert sources.table(["t"]) is None
    assert sources.place(["t"]).name == "/warehouse/t"
