"""A schema that a reader guessed never replaces one that was guessed less, in any order of arrival."""

import itertools
import json
from typing import Any

import pytest
from tests.events import dataset, encoded, facet, run_event, schema
from tests.fixtures.postgres import empty

from headwater.intake.events.accept import Intake
from headwater.model import version
from headwater.model.names import DatasetName
from headwater.store.database import Database
from headwater.store.history import facets as facet_store

TABLE = facet(identifiers=[{"namespace": "file:/w", "name": "default.t", "type": "TABLE"}])


def stored(kind: str) -> dict[str, Any]:
    return {"storage": facet(storageLayer="file", fileFormat=kind)}


def event(at: int, *columns: str, kind: str, write: bool = False, **facets: Any) -> bytes:
    place = dataset("/t", **schema(*columns), **stored(kind), **facets)
    return encoded(
        run_event(
            "COMPLETE", at, "j", [] if write else [place], [place] if write else [], at=f"2026-01-0{at}T00:00:00Z"
        )
    )


def columns(run: Any, database: Database) -> tuple[list[str], int]:
    """The columns that the dataset has now, and how many schemas its history has."""
    owner = version.dataset_id(DatasetName("file", "/t"))

    async def ask() -> tuple[bytes, int]:
        async with database.connection() as connection:
            now = (await facet_store.of_owners(connection, [owner], ["schema"]))[owner]["schema"]
            return now, len(await facet_store.history(connection, owner, "schema", 10))

    body, count = run(ask())
    return [field["name"] for field in json.loads(body)["fields"]], count


@pytest.mark.parametrize(
    ("reports", "now", "schemas"),
    [
        ([event(1, "id", "name", kind="csv", write=True), event(2, "value", kind="text")], ["id", "name"], 1),
        ([event(1, "id", "name", kind="csv", write=True), event(2, "_c0", "_c1", kind="csv")], ["id", "name"], 1),
        ([event(1, "id", "name", kind="json", write=True), event(2, "name", kind="json")], ["id", "name"], 1),
        ([event(1, "id", "name", kind="csv"), event(2, "_c0", "_c1", kind="csv"), event(3, "value", kind="text")], ["id", "name"], 1),
        ([event(1, "id", kind="csv"), event(2, "id", "name", kind="csv")], ["id", "name"], 2),
        ([event(1, "value", kind="text")], ["value"], 1),
        ([event(1, "id", kind="parquet", write=True), event(2, "id", "name", kind="parquet")], ["id", "name"], 2),
        ([event(1, "id", kind="csv", write=True), event(2, "id", "name", kind="csv", symlinks=TABLE)], ["id", "name"], 2),
    ],
)  # fmt: skip
def test_the_best_observation_stays(
    run: Any, database: Database, reports: list[bytes], now: list[str], schemas: int
) -> None:
    for order in itertools.permutations(reports):
        run(empty(database))
        for body in order:
            assert not run(Intake(database).accept_each([body], None)).refused
        assert columns(run, database) == (now, schemas), order
