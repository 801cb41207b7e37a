"""The tools of the Model Context Protocol, asked with its official client: twenty questions, budgets, keys, roles and hosts."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
import yaml
from mcp.client.client import Client as McpClient
from mcp.client.streamable_http import streamable_http_client
from tests.events import columns, dataset, facet, run_event
from tests.fixtures.app import Client

CASES = Path(__file__).parents[2] / "cases/mcp"
WORLD = yaml.safe_load((CASES / "world.yaml").read_text(encoding="utf-8"))
QUESTIONS = yaml.safe_load((CASES / "questions.yaml").read_text(encoding="utf-8"))
MORE = yaml.safe_load((CASES / "more_questions.yaml").read_text(encoding="utf-8"))
FOLDED = yaml.safe_load((CASES / "folded_questions.yaml").read_text(encoding="utf-8"))
Call = Callable[..., tuple[dict[str, Any] | str, bool]]


def at(hour: int) -> str:
    return f"2026-01-{1 + hour // 24:02}T{hour % 24:02}:00:00Z"


def world() -> list[dict[str, Any]]:
    found = []
    for one in WORLD["runs"]:
        outputs = []
        for name, fields in one["outputs"].items():
            facets = (
                columns({to: [(*source, "DIRECT:IDENTITY") for source in some] for to, some in fields.items()})
                if fields
                else {}
            )
            shape = {"schema": facet(fields=[{"name": to, "type": "string"} for to in fields])} if fields else {}
            outputs.append(dataset(name, **facets, **shape))
        found.append(
            run_event(one.get("state", "COMPLETE"), one["run"], one["job"], one["inputs"], outputs, at=at(one["hour"]))
        )
    told = WORLD["explicit"]
    entries = {"lineage": facet(entries=told["entries"])}
    found.append(run_event("COMPLETE", told["run"], told["job"], at=at(told["hour"]), job_facets=entries))
    check = dict(WORLD["checks"])
    people = next(one for event in found for one in event["outputs"] if one["name"] == check["dataset"])
    del check["dataset"]
    people["facets"]["dataQualityAssertions"] = facet(assertions=[check])
    return found


class Asking:
    """Calls of tools over HTTP into the application of this process."""

    def __init__(self, app: Any, run: Any, **headers: str) -> None:
        self._app, self._run, self._headers = app, run, headers

    def __call__(self, tool: str, /, **given: Any) -> tuple[Any, bool]:
        """Return the answer and whether it is an error."""
        result = self._run(self._with(lambda client: client.call_tool(tool, given)))
        (content,) = result.content
        return (content.text if result.is_error else json.loads(content.text)), result.is_error

    def tools(self) -> list[Any]:
        return self._run(self._with(lambda client: client.list_tools())).tools  # type: ignore[no-any-return]

    async def _with(self, ask: Callable[[McpClient], Any]) -> Any:
        transport = httpx2.ASGITransport(self._app)
        async with (
            httpx2.AsyncClient(transport=transport, headers=self._headers) as http,
            McpClient(streamable_http_client("http://localhost/mcp", http_client=http)) as client,
        ):
            return await ask(client)


@pytest.fixture
def ask(app: Any, client: Client, run: Any) -> Asking:
    reply = client.post("/api/v1/lineage/batch", json.dumps(world()).encode())
    assert reply.status_code == 200, reply.text
    return Asking(app, run)


def values(answer: Any, path: str) -> list[Any]:
    """Return what is at a path of an answer; `*` is each item of a list."""
    found = [answer]
    for part in path.split("."):
        found = [one for each in found for one in (each if part == "*" else [each[part]] if part in each else [])]
    return found[0] if len(found) == 1 and isinstance(found[0], list) else found


def check(ask: Asking, questions: list[dict[str, Any]]) -> None:
    for one in questions:
        answer, failed = ask(one["tool"], **one["with"])
        assert failed == ("error" in one), (one["ask"], answer)
        if failed:
            assert one["error"] in answer, (one["ask"], answer)
            continue
        budget = one["with"].get("budget", 12_000)
        assert len(json.dumps(answer, ensure_ascii=False, separators=(",", ":"))) <= budget, one["ask"]
        for path, expected in one.get("has", {}).items():
            wanted = expected if isinstance(expected, list) else [expected]
            assert set(wanted) <= set(values(answer, path)), (one["ask"], path, answer)
        for path, expected in one.get("exactly", {}).items():
            assert sorted(values(answer, path)) == sorted(expected), (one["ask"], path, answer)
        for key, words in one.get("says", {}).items():
            assert words in answer[key], (one["ask"], answer)
        assert ("empty_because" in answer) == ("says" in one), (one["ask"], answer)


def test_twenty_questions(ask: Asking) -> None:
    assert len(QUESTIONS) == 20
    check(ask, QUESTIONS)


def test_twenty_questions_of_an_agent_that_guesses(ask: Asking, client: Client) -> None:
    assert len(MORE["questions"]) == 20
    events = [run_event("COMPLETE", one["run"], one["job"], one["inputs"], one["outputs"]) for one in MORE["runs"]]
    for n in range(8):
        fed = columns({"k": [(f"/chain/{n}", "k", "DIRECT:IDENTITY")]})
        events.append(run_event("COMPLETE", 700 + n, f"step{n}", [f"/chain/{n}"], [dataset(f"/chain/{n + 1}", **fed)]))
    events += [run_event("COMPLETE", 600 + n, "often", ["/a/x"], ["/a/z"], at=at(100 + n)) for n in range(30)]
    tags = facet(tags=[{"key": f"tag{n}", "value": "v" * 50, "source": "USER"} for n in range(800)])
    shape = facet(fields=[{"name": f"c{n}", "type": "int"} for n in range(3_000)])
    events.append(run_event("COMPLETE", 52, "widener", ["/a/x"], [dataset("/wide", tags=tags, schema=shape)]))
    assert client.post("/api/v1/lineage/batch", json.dumps(events).encode()).json()["status"] == "success"
    check(ask, MORE["questions"])


def test_ten_questions_of_jobs_with_statements(app: Any, client: Client, run: Any) -> None:
    """The statements of a model and a task are folded into it, in each answer and in its counts."""
    for name in ("bakery_logs", "dag"):
        lines = (CASES.parent / f"coverage/{name}.ndjson").read_bytes().splitlines()
        reply = client.post("/api/v1/lineage/batch", b"[" + b",".join(lines) + b"]")
        assert reply.json()["status"] == "success"
    ask = Asking(app, run)
    assert len(FOLDED) == 10
    check(ask, FOLDED)
    answer, _ = ask("quality")
    listed, opened = (client.get("/api/v2/jobs", children=children).json()["total"] for children in (None, "true"))
    assert (answer["coverage"]["jobs"], opened - listed) == (listed, 38)
    assert answer["coverage"]["reporting"] <= listed


def test_tools_say_what_they_cover_and_only_read(ask: Asking) -> None:
    tools = ask.tools()
    assert {tool.name for tool in tools} == {one["tool"] for one in QUESTIONS} | {"changes"}
    for tool in tools:
        assert tool.annotations.read_only_hint
        assert len(tool.description) > 40
        assert "budget" in tool.input_schema["properties"]


def test_what_does_not_fit_is_counted(ask: Asking, client: Client) -> None:
    readers = [run_event("COMPLETE", 100 + n, f"reader{n}", ["/lake/orders"], [f"/out/{n}"]) for n in range(200)]
    client.post("/api/v1/lineage/batch", json.dumps(readers).encode())
    whole, _ = ask("lineage", name="/lake/orders", direction="downstream", depth=10, budget=100_000)
    nodes, edges = len(whole["nodes"]), len(whole["edges"])
    assert nodes > 400
    assert "left_out" not in whole
    for budget in (1_000, 5_000, 20_000):
        some, _ = ask("lineage", name="/lake/orders", direction="downstream", depth=10, budget=budget)
        assert len(json.dumps(some, separators=(",", ":"))) <= budget
        assert len(some["nodes"]) + some["left_out"]["nodes"] == nodes
        assert len(some["edges"]) + some["left_out"]["edges"] == edges
        assert some["how"]
    page, _ = ask("search", words="reader", limit=10)
    assert len(page["results"]) == 10
    assert page["left_out"]["results"] == page["total"] - 10


def test_changes_between_two_times(ask: Asking) -> None:
    answer, _ = ask("changes", since="2026-01-01T01:30:00Z", until="2026-01-01T02:30:00Z")
    assert "dataset:file:/mart/revenue" in answer["nodes_added"]
    assert any(one["target"] == "dataset:file:/mart/revenue" for one in answer["edges_added"])
    same, _ = ask("changes", since="2026-01-05T00:00:00Z", until="2026-01-06T00:00:00Z")
    assert "same at both times" in same["empty_because"]


@pytest.mark.parametrize(
    ("tool", "given", "words"),
    [
        ("lineage", {"name": "nosuchthing"}, "nosuchthing"),
        ("lineage", {}, "needs 'name'"),
        ("lineage", {"name": "revenue", "depht": 3}, "no argument 'depht'"),
        ("lineage", {"name": "/mart/revenue", "direction": "sideways"}, "sideways"),
        ("lineage", {"name": "/mart/revenue", "budget": 5}, "budget must be"),
        ("columns", {"name": "0199c0de-0000-7000-8000-000000000003"}, "name a dataset, a job or a column"),
        ("delete", {}, "there is no tool"),
    ],
)
def test_an_error_says_what_is_wrong(ask: Asking, tool: str, given: dict[str, Any], words: str) -> None:
    answer, failed = ask(tool, **given)
    assert failed
    assert words in answer


def test_a_name_of_several_things_lists_them(ask: Asking, client: Client) -> None:
    several = [run_event("COMPLETE", n, f"{n}.load", ["/x"], ["/y"]) for n in (20, 21)]
    client.post("/api/v1/lineage/batch", json.dumps(several).encode())
    answer, failed = ask("history", name="load")
    assert failed
    assert "job:test:20.load, job:test:21.load" in answer


def test_the_endpoint_is_behind_keys_roles_and_the_host_check(served: Any, key: Any, run: Any) -> None:
    server = served(access={"mode": "keys", "admin_key": "an-admin-key-of-the-tests"})
    answer, failed = Asking(server.app, run, authorization=f"Bearer {key('read').key}")("status")
    assert not failed
    assert "nothing is open" in answer["empty_because"]
    for headers, status in (
        ({}, 401),
        ({"authorization": "Bearer hw_nope"}, 401),
        ({"authorization": "Bearer an-admin-key-of-the-tests", "host": "evil.example"}, 421),
    ):
        assert server.post("/mcp", headers=headers, content=b"{}").status_code == status
    assert server.post("/mcp", headers={"sec-fetch-site": "cross-site"}, content=b"{}").status_code == 403


def test_a_question_is_asked_in_the_callers_name(
    served: Any, key: Any, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key that is revoked while its client is connected reads nothing more: each question shows it again."""
    server = served(access={"mode": "keys", "admin_key": "an-admin-key-of-the-tests"})
    held = key("read")
    ask = Asking(server.app, run, authorization=f"Bearer {held.key}")
    seen: list[str | None] = []
    send = httpx.ASGITransport.handle_async_request

    async def watched(self: Any, request: httpx.Request) -> httpx.Response:
        if request.url.path == "/api/v2/overview":
            seen.append(request.headers.get("authorization"))
        return await send(self, request)

    monkeypatch.setattr(httpx.ASGITransport, "handle_async_request", watched)
    ask("status")
    assert seen == [f"Bearer {held.key}"]
