"""The receipt of an event: found again by its digest, with all it speaks of."""

import datetime as dt
from typing import Any

from tests.events import RUN, columns, dataset, encoded, facet, parent, run_event

LINEAGE = "/api/v1/lineage"


def send(client: Any, event: dict[str, Any]) -> str:
    reply = client.post(LINEAGE, encoded(event))
    assert reply.status_code == 201
    return str(reply.json()["id"])


def get(client: Any, path: str, **question: Any) -> dict[str, Any]:
    reply = client.get(path, **question)
    assert reply.status_code == 200, reply.text
    return dict(reply.json())


def test_an_event_and_all_it_speaks_of(client: Any) -> None:
    send(client, run_event("START", 1, "job", ["/in"], at="2025-12-31T00:00:00Z"))
    out = dataset(
        "/out/day=2026-01-01",
        version=facet(datasetVersion="7"),
        symlinks=facet(identifiers=[{"namespace": "hive", "name": "db.out", "type": "TABLE"}]),
        **columns({"x": [("/lookup", "y", "DIRECT:IDENTITY")]}),
    )
    event = run_event("COMPLETE", 1, "job", ["/in"], [out], run_facets=parent(9, "dag", root=(8, "root")))
    event["inputs"][0]["facets"] = {"schema": {"fields": "?"}}
    digest = send(client, event)
    found = get(client, f"/api/v2/receipts/{digest}")
    assert (found["id"], found["kind"], found["event_type"], found["run"]) == (digest, "run", "COMPLETE", RUN.format(1))
    assert (found["event_time"], found["producer"], found["size"]) == ("2026-01-01T00:00:00Z", "https://example.test", len(encoded(event)))  # fmt: skip
    assert found["delay_seconds"] > 86400
    assert [(w["code"], w["where"]) for w in found["warnings"]] == [("facet_not_understood", "facets.schema")]
    nodes = {n["told"] or n["id"]: n for n in found["nodes"]}
    roles = {id_: n["roles"] for id_, n in nodes.items()}
    assert roles == {
        f"run:{RUN.format(1)}": ["run"], "job:test:job": ["job"],
        f"run:{RUN.format(9)}": ["parent"], "job:test:dag": ["parent"],
        f"run:{RUN.format(8)}": ["root"], "job:test:root": ["root"],
        "dataset:file:/in": ["input"], "dataset:file:/out/day=2026-01-01": ["output"],
        "dataset:hive:db.out": ["symlink"], "dataset:file:/lookup": ["source"],
    }  # fmt: skip
    assert nodes["dataset:file:/out/day=2026-01-01"]["id"] == nodes["dataset:hive:db.out"]["id"] == "dataset:file:/out"
    assert nodes["dataset:file:/out/day=2026-01-01"]["part"] == {"day": "2026-01-01"}
    assert all(n["known"] for n in nodes.values())
    assert {id_ for id_, n in nodes.items() if n["first"]} == roles.keys() - {
        f"run:{RUN.format(1)}", "job:test:job", "dataset:file:/in",
    }  # fmt: skip
    versions = get(client, "/api/v2/datasets/file/%2Fout/versions")["versions"]
    assert found["versions"] == [{"dataset": "dataset:file:/out", "id": versions[0]["id"], "external_version": "7"}]
    assert found["facets"]["run"] == ["parent"]
    assert found["facets"]["outputs[0]"] == ["columnLineage", "symlinks", "version"]
    assert found["event"] == event


def test_a_version_is_told_by_offsets_where_the_storage_says_none(client: Any) -> None:
    offsets = {"kafkaOffsets": facet(offsets=[{"partition": 0, "offset": 42}])}
    out = {**dataset("/out", version=facet(datasetVersion="")), "outputFacets": offsets}
    found = get(client, f"/api/v2/receipts/{send(client, run_event('COMPLETE', 1, 'job', [], [out]))}")
    assert [version["external_version"] for version in found["versions"]] == ["0:42"]


def test_other_kinds_and_broken_text(client: Any) -> None:
    lineage = facet(type="DATASET", inputs=[{"type": "DATASET", "namespace": "file", "name": "/src"}])
    told = {"eventTime": "2026-01-01T00:00:00Z", "producer": "p", "dataset": dataset("/d", lineage=lineage)}
    found = get(client, f"/api/v2/receipts/{send(client, told)}")
    assert {n["id"]: n["roles"] for n in found["nodes"]} == {
        "dataset:file:/d": ["dataset"],
        "dataset:file:/src": ["source"],
    }
    entry = {"namespace": "file", "name": "/t", "inputs": [{"type": "DATASET", "namespace": "file", "name": "/s"}]}
    job = {"eventTime": "2026-01-01T00:00:00Z", "producer": "p", "job": {"namespace": "n", "name": "j", "facets": {"lineage": facet(entries=[entry])}}}  # fmt: skip
    found = get(client, f"/api/v2/receipts/{send(client, job)}")
    assert {n["id"]: n["roles"] for n in found["nodes"]} == {"job:n:j": ["job"], "dataset:file:/t": ["output"], "dataset:file:/s": ["input"]}  # fmt: skip
    body = encoded(run_event("START", 1, "job", run_facets={"x": facet(y="BROKEN")})).replace(b"BROKEN", b"caf\xe9")
    digest = client.post(LINEAGE, body).json()["id"]
    assert get(client, f"/api/v2/receipts/{digest}")["event"]["run"]["facets"]["x"]["y"] == "caf�"


def test_by_the_beginning_of_its_digest(client: Any) -> None:
    digest = send(client, run_event("START", 1, "job"))
    assert get(client, f"/api/v2/receipts/{digest[:9].upper()}")["id"] == digest
    other = ("0" if digest[0] != "0" else "1") + digest[1:]
    assert client.get(f"/api/v2/receipts/{other}").status_code == 404
    for nonsense in ("1234567", "g" * 32, digest + "0"):
        assert client.get(f"/api/v2/receipts/{nonsense}").status_code == 400


def test_what_came_in_lately(client: Any, statements: Any) -> None:
    first = send(client, run_event("START", 1, "a"))
    middle = dt.datetime.now(dt.UTC).isoformat()
    second = send(client, {**run_event("START", 2, "b"), "producer": "other"})
    third = send(client, run_event("START", "no uuid", "c"))
    with statements() as counted:
        found = get(client, "/api/v2/receipts")
    assert len(counted) == 2
    assert ([r["id"] for r in found["receipts"]], found["more"]) == ([third, second, first], False)
    assert [w["code"] for w in found["receipts"][0]["warnings"]] == ["run_id_not_uuid"]
    assert [r["id"] for r in get(client, "/api/v2/receipts", producer="other")["receipts"]] == [second]
    assert [r["id"] for r in get(client, "/api/v2/receipts", code="run_id_not_uuid")["receipts"]] == [third]
    assert [r["id"] for r in get(client, "/api/v2/receipts", since=middle)["receipts"]] == [third, second]
    assert [r["id"] for r in get(client, "/api/v2/receipts", run=RUN.format(1))["receipts"]] == [first]
    page = get(client, "/api/v2/receipts", limit=1, offset=1)
    assert ([r["id"] for r in page["receipts"]], page["more"]) == ([second], True)
