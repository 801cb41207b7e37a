"""A limited reader is answered as by a server that has only what the reader may see: hidden data changes no name and no count."""

import re
from typing import Any

import pytest
from tests.events import RUN, dataset, encoded, facet, run_event, schema

from headwater.answer.plans import plans

ADMIN = "an-admin-key-of-the-tests"
_SOURCE = {"dataSource": facet(name="shop", uri="postgres://shop")}

MINE = """\
entity: order_days
period: {every: day, from: 2026-11-20}
stored_in: {namespace: team-a, name: orders}
---
entity: clean_days
period: {every: day, from: 2026-11-20}
stored_in: {namespace: team-a, name: clean}
produced_by: {job: jobs-a/load}
depends_on: {order_days: same}
"""
THEIRS = (
    MINE
    + """\
---
entity: zq7days
period: {every: day, from: 2026-11-20}
stored_in: {namespace: zq7ns, name: zq7raw}
---
entity: zq7report
period: {every: day, from: 2026-11-20}
stored_in: {namespace: zq7ns, name: zq7mart}
depends_on: {clean_days: same}
"""
)
QUESTIONS = (
    "/api/v1/events/lineage", "/api/v1/events", "/api/v1/events/jobs-a", "/api/v1/sources", "/api/v1/sources/shop", "/api/v1/namespaces",
    "/api/v2/changes", "/api/v2/changes?target=dataset:team-a:clean", "/api/v2/conflicts", "/api/v2/conflicts?node=dataset:team-a:clean",
    "/api/v2/entities/clean_days/history", "/api/v2/entities/clean_days/readiness?instances=2026-11-21..2026-11-24",
    "/api/v2/entities/clean_days/suspects?instances=2026-11-22", "/api/v2/entity-graph", "/api/v2/entity-graph?entity=clean_days",
    "/api/v2/entity-drafts", "/api/v2/instances", "/api/v2/near-misses", "/api/v2/perspectives", "/api/v2/receipts", "/api/v2/stale-lineage",
    "/api/v2/update-log?node=dataset:team-a:clean", "/api/v2/metadata?node=dataset:team-a:clean", "/api/v2/privacy/where?tag=pii",
)  # fmt: skip
# Times of the question, the end of the log that was looked at, and the bytes of what is shown without its facets.
_ASKED_AT = re.compile(r'"(as_of|since|measured_at|size|seq|next|applied)": ?("[^"]*"|\d+|null)')
# Words of people and producers that a limited reader is not shown, whatever the data.
_WORDS = re.compile(r'"(actor|author|reason)": ?"[^"]*"')


def _mine(name: str, **more: Any) -> dict[str, Any]:
    return dataset(name, "team-a", **schema("mine"), **_SOURCE, **more)


def _theirs(name: str) -> dict[str, Any]:
    return dataset(name, "zq7ns", **schema("zq7col"), dataSource=facet(name="zq7source", uri="zq7://source"))


def _visible() -> list[dict[str, Any]]:
    found = []
    for number, day in ((1, 26), (2, 27)):
        for kind in ("START", "COMPLETE"):
            outputs = [_mine("clean")] if kind == "COMPLETE" else []
            at = f"2026-11-{day}T00:0{0 if kind == 'START' else 5}:00Z"
            found.append(run_event(kind, number, "load", [_mine("orders")], outputs, at=at, namespace="jobs-a"))
    found.append(
        run_event(
            "FAIL", 3, "broken", [_mine("Clean2")], [_mine("report")], at="2026-11-27T01:00:00Z", namespace="jobs-a"
        )
    )
    found.append(
        run_event(
            "COMPLETE", 4, "near", [_mine("orders")], [_mine("x.clean2")], at="2026-11-27T02:00:00Z", namespace="jobs-a"
        )
    )
    return found


def _hidden() -> list[dict[str, Any]]:
    """Before, between and after what is visible: a source of both teams, a job that reads both, a pair of names like the visible one."""
    ours = dataset("zq7raw", "zq7ns", **_SOURCE)
    return [
        run_event("COMPLETE", 11, "zq7load", [], [ours], at="2026-11-25T00:00:00Z", namespace="zq7jobs"),
        run_event("FAIL", 12, "zq7load", [], [_theirs("zq7raw")], at="2026-11-27T00:02:00Z", namespace="zq7jobs"),
        run_event("COMPLETE", 13, "zq7mix", [_theirs("zq7raw"), _mine("orders")], [_theirs("zq7mart")], at="2026-11-27T05:00:00Z", namespace="zq7jobs"),
        run_event("COMPLETE", 14, "zq7clean2", [_theirs("CLEAN2")], [_theirs("zq7mart")], at="2026-11-27T05:00:00Z", namespace="zq7jobs"),
        # One run of two jobs, of which one is visible.
        run_event("COMPLETE", 4, "zq7two", [_theirs("zq7raw")], [], at="2026-11-27T03:00:00Z", namespace="zq7jobs"),
    ]  # fmt: skip


def _send(server: Any, events: list[dict[str, Any]]) -> None:
    for event in events:
        assert server.post("/api/v1/lineage", ADMIN, content=encoded(event)).status_code == 201


def _change(server: Any, *paths: str) -> None:
    for path in paths:
        assert server.ask("PUT", f"/api/v2/metadata/datasets/{path}", ADMIN, json={}).status_code < 300, path


def _produce(server: Any, *entities: str) -> None:
    reports = [{"entity": one, "what": "produced", "instances": ["2026-11-21..2026-11-23"]} for one in entities]
    answer = server.post("/api/v2/instances", ADMIN, json={"reports": reports})
    assert answer.status_code < 300, answer.text


def _declare(server: Any, text: str) -> None:
    answer = server.post("/api/v2/entities", ADMIN, json={"files": [{"name": "all.yaml", "text": text}]})
    assert answer.status_code == 200, answer.text


def _ask(server: Any, key: str) -> dict[str, Any]:
    found = {}
    for question in QUESTIONS:
        answer = server.get(question, key)
        assert answer.status_code == 200, (question, answer.text)
        found[question] = _ASKED_AT.sub(r'"\1":0', answer.text)
    return found


@pytest.fixture
def server(served: Any) -> Any:
    server = served(access={"mode": "keys", "admin_key": ADMIN})
    _send(server, _visible())
    _declare(server, MINE)
    _produce(server, "order_days", "clean_days")
    _change(server, "team-a/clean/tags/pii", "team-a/clean/owners/ana")
    return server


def _key(server: Any) -> str:
    answer = server.post(
        "/api/v2/admin/keys", ADMIN, json={"name": "a", "limits": ["namespace:team-a", "namespace:jobs-a"]}
    )
    return str(answer.json()["key"])


def test_hidden_data_changes_no_answer(server: Any) -> None:
    key = _key(server)
    before, whole = _ask(server, key), _ask(server, ADMIN)
    assert all('"zq7' not in text for text in whole.values())
    _send(server, _hidden()[:-1])
    _declare(server, THEIRS)
    _produce(server, "zq7days", "zq7report")
    _change(server, "zq7ns/zq7raw/tags/pii", "zq7ns/zq7raw/owners/zq7person")
    assert _ask(server, key) == before
    after = _ask(server, ADMIN)
    unchanged = {question for question in QUESTIONS if after[question] == whole[question]}
    about_clean = {question for question in QUESTIONS if "clean" in question}
    assert unchanged - about_clean <= {
        "/api/v1/events/jobs-a",
        "/api/v1/sources/shop",
        "/api/v2/conflicts",
        "/api/v2/stale-lineage",
    }
    # What a server without the hidden data answers, but for the words and the facets of events.
    for question in QUESTIONS:
        if "/events" not in question:
            assert _WORDS.sub("", before[question]) == _WORDS.sub("", whole[question]), question


def test_events_are_shown_without_facets(server: Any) -> None:
    _send(server, _hidden())
    shown = server.get("/api/v1/events/lineage?sortDirection=asc", _key(server)).json()
    assert shown["totalCount"] == len(shown["events"]) == 5
    clean, orders = {"namespace": "team-a", "name": "clean"}, {"namespace": "team-a", "name": "orders"}
    first = shown["events"][0]
    assert (first["eventType"], first["run"], first["inputs"], first["outputs"]) == (
        "START",
        {"runId": RUN.format(1)},
        [orders],
        [],
    )
    assert [one["outputs"] for one in shown["events"][:4]] == [[], [clean], [], [clean]]
    assert set(first) == {"eventType", "eventTime", "producer", "run", "job", "inputs", "outputs"}


def test_what_waits_for_hidden_inputs_is_not_called_ready(server: Any) -> None:
    key = _key(server)
    question = "/api/v2/entities/clean_days/readiness?instances=2026-11-22"
    assert server.get(question, key).json()["ready"]
    _declare(server, THEIRS.replace("depends_on: {order_days: same}", "depends_on: {order_days: same, zq7days: same}"))
    for reported in ((), ("zq7days",)):  # missing, then there: which of both is not said
        _produce(server, "order_days", *reported)
        answer = server.get(question, key)
        (instance,) = answer.json()["instances"]
        assert (answer.json()["ready"], instance["ready"], instance["state"]) == (False, False, None)
        (missing,) = instance["states"][0]["missing"]
        assert (missing["entity"], missing["instances"], missing["why"]) == ("", [], "not_visible")
        assert "zq7" not in answer.text
    assert server.get(question, ADMIN).json()["ready"]


def test_a_name_that_was_taken_back_is_not_shown(server: Any) -> None:
    """The other dataset of an alias that a person took back is hidden again; its name is in the record."""
    _send(server, _hidden())
    key = _key(server)
    for method in ("PUT", "DELETE"):
        answer = server.ask(method, "/api/v2/metadata/datasets/team-a/clean/aliases/zq7ns/zq7mart", ADMIN)
        assert answer.status_code < 300, answer.text
    assert "zq7mart" in server.get("/api/v2/metadata?node=dataset:team-a:clean", ADMIN).text
    for question in ("/api/v2/metadata?node=dataset:team-a:clean", "/api/v2/changes?target=dataset:team-a:clean"):
        assert "zq7" not in server.get(question, key).text


def test_the_list_of_plans_loads_a_plan_once(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list needs the numbers of the visible items of many plans, each of many items; plans do not change."""
    _declare(server, THEIRS)
    _produce(server, "zq7days", "zq7report")
    for entity in ("order_days", "zq7days"):
        wrong = [{"entity": entity, "instances": ["2026-11-22"]}]
        assert server.post("/api/v2/incidents", ADMIN, json={"reason": "x", "wrong": wrong}).status_code < 300
        assert server.post("/api/v2/plans", ADMIN, json={"reason": "y"}).status_code < 300
    loaded: list[Any] = []
    real = plans._load_plan
    monkeypatch.setattr(plans, "_load_plan", lambda connection, row: loaded.append(row.id) or real(connection, row))
    key = _key(server)
    first = server.get("/api/v2/plans", key).json()
    assert [one["items"] for one in first["plans"]] == [2, 2]
    assert [one["items"] for one in server.get("/api/v2/plans", ADMIN).json()["plans"]] == [4, 3]
    assert len(loaded) == 2
    assert server.get("/api/v2/plans", key).json() == first
    assert len(loaded) == 2
    other = server.post("/api/v2/admin/keys", ADMIN, json={"name": "b", "limits": ["namespace:zq7*"]}).json()["key"]
    assert [one["items"] for one in server.get("/api/v2/plans", other).json()["plans"]] == [2, 1]


def test_values_are_followed_into_visible_partitions(served: Any) -> None:
    server = served(access={"mode": "keys", "admin_key": ADMIN})
    columns = schema("mail")
    children = facet(children=["zq7_2025", "clean_2026"])
    _send(server, [
        run_event("COMPLETE", 1, "load", [], [dataset("clean", "shop", **columns, headwater_inheritance=children)], at="2026-11-26T00:00:00Z"),
        run_event("COMPLETE", 2, "part", [], [dataset("clean_2026", "shop", **columns), dataset("zq7_2025", "shop", **columns)], at="2026-11-26T00:00:00Z"),
    ])  # fmt: skip
    _change(server, "shop/clean/tags/pii?column=mail")
    for name in ("clean", "clean_2026"):
        assert (
            server.ask(
                "PUT", f"/api/v2/metadata/datasets/shop/{name}/tags/team", ADMIN, json={"value": "a"}
            ).status_code
            < 300
        )
    key = server.post("/api/v2/admin/keys", ADMIN, json={"name": "a", "limits": ["tag:team:a"]}).json()["key"]
    found = server.get("/api/v2/privacy/where?tag=pii", key)
    assert [one["dataset"] for one in found.json()["columns"]] == ["dataset:shop:clean", "dataset:shop:clean_2026"]
    assert "zq7" not in found.text
    whole = server.get("/api/v2/privacy/where?tag=pii", ADMIN).json()
    assert [one["dataset"] for one in whole["columns"]] == [
        "dataset:shop:clean",
        "dataset:shop:clean_2026",
        "dataset:shop:zq7_2025",
    ]
    for path in ("facets", ""):
        assert "zq7" not in server.get(f"/api/v2/datasets/shop/clean/{path}".rstrip("/"), key).text
