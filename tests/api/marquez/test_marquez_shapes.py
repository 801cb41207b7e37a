"""Every route of Marquez: status, error and each field of the answer, by tests/cases/marquez. `docs/reference/marquez.md` has the result as a table."""

import json
import re
import uuid
from pathlib import Path
from typing import Any

import yaml
from tests.events import encoded, facet, run_event
from tests.fixtures.app import Client

from headwater.answer.marquez import addresses

CASES = Path(__file__).parents[2] / "cases/marquez"
SHAPES: dict[str, dict[str, str]] = yaml.safe_load((CASES / "shapes.yaml").read_text("utf-8"))
ROUTES: list[dict[str, Any]] = yaml.safe_load((CASES / "routes.yaml").read_text("utf-8"))
_TIME = re.compile(r"\d{4,}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3}|\.\d{6})?Z")
_SIMPLE = {
    "text": lambda v: isinstance(v, str),
    "int": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "bool": lambda v: isinstance(v, bool),
    "time": lambda v: isinstance(v, str) and bool(_TIME.fullmatch(v)) and not v.endswith(".000Z"),
    "uuid": lambda v: isinstance(v, str) and str(uuid.UUID(v)) == v,
    "url": lambda v: isinstance(v, str) and addresses.url(v) == v,
    "address": lambda v: isinstance(v, str) and addresses.uri(v) == v,
    "node": lambda v: isinstance(v, str) and bool(re.match("(dataset|datasetField|job|run):", v)),
    "texts": lambda v: isinstance(v, dict) and all(isinstance(one, str) for one in v.values()),
    "facets": lambda v: isinstance(v, dict) and all(isinstance(one, dict) for one in v.values()),
    "facets list": lambda v: isinstance(v, list) and all(isinstance(one, dict) for one in v),
    "highlights": lambda v: isinstance(v, list) and all(isinstance(t, list) for one in v for t in one.values()),
}


def find_mistakes(value: Any, shape: str, at: str = "") -> list[str]:
    """Return where a value differs from a shape of shapes.yaml: a field too many or too few, a null, another type."""
    if shape.endswith("?"):
        return [] if value is None else find_mistakes(value, shape[:-1], at)
    if shape.startswith("["):
        if not isinstance(value, list):
            return [f"{at}: no list"]
        return [mistake for i, one in enumerate(value) for mistake in find_mistakes(one, shape[1:-1], f"{at}[{i}]")]
    if shape in _SIMPLE:
        return [] if _SIMPLE[shape](value) else [f"{at}: {value!r} is no {shape}"]
    if shape not in SHAPES:
        return [] if value in shape.split("|") else [f"{at}: {value!r} is none of {shape}"]
    if not isinstance(value, dict):
        return [f"{at}: {value!r} is no {shape}"]
    fields = SHAPES[shape]
    if " or " in fields["type"] if "type" in fields else False:
        found = next((one for one in fields["type"].split(" or ") if SHAPES[one]["type"] == value.get("type")), None)
        return find_mistakes(value, found, at) if found else [f"{at}: type {value.get('type')!r}"]
    mistakes = [f"{at}: {name} is missing" for name in fields.keys() - value.keys()]
    mistakes += [f"{at}: {name} is not Marquez's" for name in value.keys() - fields.keys()]
    for name in fields.keys() & value.keys():
        mistakes += find_mistakes(value[name], fields[name], f"{at}.{name}")
    return mistakes


def _send_events(client: Client) -> None:
    def of_test(dataset: dict[str, Any]) -> dict[str, Any]:
        told = {"namespace": "file", **dataset}
        for kind in ("facets", "inputFacets", "outputFacets"):
            told[kind] = {name: facet(**body) for name, body in dataset.get(kind, {}).items()}
        return told

    for one in yaml.safe_load((CASES / "events.yaml").read_text("utf-8")):
        sides = [[of_test(dataset) for dataset in one.get(side, ())] for side in ("inputs", "outputs")]
        facets = [
            {name: facet(**body) for name, body in one.get(kind, {}).items()} for kind in ("runFacets", "jobFacets")
        ]
        event = run_event(
            one["type"], one["run"], one["job"], *sides, at=one["at"], run_facets=facets[0], job_facets=facets[1]
        )
        assert client.post("/api/v1/lineage", encoded(event)).status_code == 201


def _judge(case: dict[str, Any], reply: Any, kept: dict[str, str]) -> list[str]:
    if reply.status_code != case["status"]:
        return [f"{reply.status_code}: {reply.text[:300]}"]
    if reply.status_code == 301:
        return []
    answer = reply.json()
    if reply.status_code >= 400:
        if "errors" in case:
            found = sorted(answer.get("errors", []))
            return [] if found == sorted(case["errors"]) else [f"{answer}"]
        mistakes = find_mistakes(answer, "Error") if case["ask"] != "POST /api/v1/lineage" else []
        if answer.get("code") != case["status"] and not mistakes and case["ask"] != "POST /api/v1/lineage":
            mistakes.append(f"code {answer.get('code')}")
        return mistakes + (
            [f"message {answer['message']!r}"] if case.get("message") not in {None, answer.get("message")} else []
        )
    mistakes = find_mistakes(answer, case["shape"])
    mistakes += [
        f"{k}: {answer.get(k)!r}, not {v!r}" for k, v in case.get("value", {}).items() if answer.get(k, ...) != v
    ]
    rows = answer if isinstance(answer, list) else next((v for v in answer.values() if isinstance(v, list)), [])
    if "length" in case and len(rows) != case["length"]:
        mistakes.append(f"{len(rows)} rows")
    if "total" in case and answer["totalCount"] != case["total"]:
        mistakes.append(f"totalCount {answer['totalCount']}")
    kept |= {name: answer[field] for name, field in case.get("keep", {}).items()}
    return mistakes


def test_every_route_answers_as_marquez(client: Client) -> None:
    _send_events(client)
    kept: dict[str, str] = {}
    wrong = {}
    for case in ROUTES:
        method, path = case["ask"].split(" ", 1)
        for name, value in kept.items():
            path = path.replace(f"{{{name}}}", value)
        content = case["text"].encode() if "text" in case else None
        if "body" in case:
            content = json.dumps(case["body"]).encode()
        if mistakes := _judge(case, client.request(method, path, content), kept):
            wrong[case["ask"] + (f" {case['body']}" if "body" in case else "")] = mistakes[:5]
    assert wrong == {}, json.dumps(wrong, indent=1)
