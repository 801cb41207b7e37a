"""Events of `headwater.step`, read back from a server: a chain of items, and imports done once."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.api.lineage.correlated import ask, send

import headwater
from stepping import Told, telling


@pytest.fixture
def told(tmp_path: Path) -> Iterator[Told]:
    """The events of the steps of the test and of its child processes."""
    with telling(tmp_path) as told:
        yield told


def imported(client: Any, fingerprint: str | None, job: str) -> list[dict[str, Any]]:
    reply = client.get("/api/v2/imports", fingerprint=fingerprint, namespace="meter", job=job)
    assert reply.status_code == 200, reply.text
    return list(reply.json()["runs"])


def test_a_chain_of_steps_is_a_chain_of_items(client: Any, told: Told, tmp_path: Path) -> None:
    with headwater.step("download", namespace="meter", version="1.4.0", details={"rows": 3}) as download:
        file = download.output(tmp_path / "export.csv", fingerprint=True)
        (tmp_path / "export.csv").write_text("a,b\n1,2\n")
    with headwater.step("split", namespace="meter", inputs=[file]) as split:
        series = [split.output(tmp_path / f"series-{n}", fingerprint=True) for n in range(3)]
        for number, each in enumerate(series):
            Path(each.place).write_text(f"series {number}")
    with headwater.step("sum", namespace="meter", inputs=[split]) as total:
        load = total.output(("postgres://db", "meter.public.points"))
    send(client, told.events)
    assert load.id is not None
    answer = ask(client, load.id, direction="ancestors", depth="all")
    runs = {node["process"]: node for node in answer["nodes"] if node["kind"] == "RUN"}
    assert set(runs) == {"download", "split", "sum"}
    assert (runs["download"]["run_id"], runs["download"]["version"], runs["download"]["details"]) == (
        download.id, "1.4.0", {"rows": 3},
    )  # fmt: skip
    found = {node["id"] for node in answer["nodes"] if node["kind"] == "ITEM"}
    assert {load.id, file.id, *(each.id for each in series)} <= found
    assert answer["hidden"]["count"] == 0
    below = ask(client, str(file.fingerprint), direction="descendants", depth="all")
    assert load.id in {node["id"] for node in below["nodes"]}


def test_an_import_is_known_by_job_and_content(client: Any, told: Told, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    runs = []
    for force in (False, False, True):
        with headwater.step("import", namespace="meter") as step:
            known = step.once(tmp_path / "x.csv", force=force)
            runs.append((step.id, known and known.run_id))
    (first, _), (second, seen), (third, _) = runs
    assert seen == first
    failed = headwater.start_step("import", namespace="meter")
    failed.once(tmp_path / "x.csv", force=True)
    failed.fail("half loaded")
    send(client, told.events)
    fingerprint = told.of("import")[1]["inputs"][0]["facets"]["version"]["datasetVersion"]
    found = imported(client, fingerprint, "import")
    assert [(run["run_id"], run["forced"]) for run in found] == [(third, True), (first, False)]
    assert found[0]["overrides"] == [first]
    assert imported(client, fingerprint, "other") == []
    assert second in json.dumps(told.events)


def test_a_skipped_item_that_was_named_at_the_start_is_no_import(client: Any, told: Told, tmp_path: Path) -> None:
    with headwater.step("download", namespace="meter") as download:
        file = download.output(tmp_path / "x.csv", fingerprint=True)
        (tmp_path / "x.csv").write_text("a")
    runs = []
    for _ in range(2):
        with headwater.step("import", namespace="meter", inputs=[file]) as step:
            runs.append((step.id, step.once(file) is None))
    send(client, told.events)
    assert [new for _, new in runs] == [True, False]
    assert [run["run_id"] for run in imported(client, file.fingerprint, "import")] == [runs[0][0]]
