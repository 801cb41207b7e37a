"""Cases of tests/cases/correlation, and answers in words short enough to compare."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.events import encoded

CASES = Path(__file__).parents[2] / "cases" / "correlation"
ITEM = "0199c0de-1111-7000-8000-{:012d}"


def events(case: str) -> list[dict[str, Any]]:
    return list(json.loads((CASES / f"{case}.json").read_text(encoding="utf-8"))["events"])


def send(client: Any, told: list[dict[str, Any]]) -> None:
    reply = client.post("/api/v1/lineage/batch", encoded(told), content_type="application/json")
    assert reply.status_code == 200, reply.text
    assert reply.json()["summary"]["failed"] == 0, reply.text


def tell(client: Any, case: str) -> list[dict[str, Any]]:
    """Send all events of a case."""
    told = events(case)
    send(client, told)
    return told


def content(told: list[dict[str, Any]], name: str) -> str:
    """The fingerprint that a dataset has in a case."""
    for event in told:
        for side, facet in (("inputs", "inputFacets"), ("outputs", "outputFacets")):
            for dataset in event[side]:
                if (
                    dataset["name"] == name
                    and (found := dataset.get(facet, {}).get("headwater_item", {}))
                    and "fingerprint" in found
                ):
                    return str(found["fingerprint"])
    raise AssertionError(name)


def ask(client: Any, id_: str, **question: Any) -> dict[str, Any]:
    reply = client.get(f"/api/v2/correlation/{quote(id_, safe='')}", **question)
    assert reply.status_code == 200, reply.text
    return dict(reply.json())


def short(node: dict[str, Any]) -> str:
    """`Split`, `TS01`, `TS01=` (its content), `TS01!` (an id claimed twice)."""
    if node["kind"] == "RUN":
        return str(node["process"])
    name = str(node["dataset"]).rsplit(":", 1)[-1].rsplit("/", 1)[-1] if node["dataset"] else "?"
    return name + ("=" if node["kind"] == "CONTENT" else "") + ("!" if node["collided"] else "")


def named(answer: dict[str, Any]) -> dict[str, str]:
    return {node["id"]: short(node) for node in answer["nodes"]}


def depths(answer: dict[str, Any]) -> set[tuple[str, int]]:
    return {(short(node), node["depth"]) for node in answer["nodes"]}


def edges(answer: dict[str, Any]) -> set[str]:
    names = named(answer)
    return {f"{names[e['parent']]} > {names[e['child']]}{' refused' if e['refused'] else ''}" for e in answer["edges"]}


def node(answer: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = [one for one in answer["nodes"] if short(one) == name]
    return dict(found)
