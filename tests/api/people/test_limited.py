"""Readers with limits: no answer of any route tells of a dataset that they may not see."""

import itertools
import re
import uuid
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest
from tests.api.alerts.test_alert_messages import Server as AlertServer
from tests.api.alerts.test_alert_messages import execute
from tests.api.people import limited_world as world
from tests.events import RUN, dataset, encoded, facet, run_event
from tests.fixtures.servers import inner

from headwater.api.limited_routes import ROUTES
from headwater.api.parameters import query_parameters
from headwater.api.sessions import limits_of
from headwater.errors import Forbidden
from headwater.model.limits import parse_limits
from headwater.settings import OidcSettings
from headwater.store.database import Database
from headwater.store.limited import reader_limits

ADMIN = "an-admin-key-of-the-tests"
KEYS = {"access": {"mode": "keys", "admin_key": ADMIN}}
PAGE = Path(__file__).parents[3] / "docs/explanation/limited-readers.md"
WAITING = {"/api/v2/events/stream", "/mcp"}


class Names(NamedTuple):
    """The names that fill a route's parameters: of one dataset, its job and its run."""

    namespace: str
    dataset: str
    job_namespace: str
    job: str
    run: str
    other: str
    version: str = "1"
    entity: str = "clean_days"
    incident: str = "0"
    plan: str = "0"
    alert: str = "0000"
    source: str = "default"


MINE = Names(world.MINE, "clean", "jobs-a", "load", RUN.format(2), "orders")
SHARED = Names(world.MINE, "mixed", "jobs-a", "gossip", RUN.format(3), "slid", entity="report_days")
HIDDEN = Names(
    world.THEIRS, "zq7raw", "zq7jobs", "zq7load", RUN.format(12), "zq7mart", entity="zq7days", source="zq7source"
)
UNKNOWN = Names(
    "nowhere", "nothing", "nojobs", "nojob", RUN.format(999), "nothing2", entity="no_days", source="nosource"
)


@pytest.fixture
def planted(served: Any, database: Database, run: Any) -> Any:
    server = served(**KEYS)
    world.plant(server, ADMIN)
    run(execute(database, "update applied_rules set applied_at = applied_at - interval '1 hour'"))
    assert AlertServer(database, run, None).look()
    return server


def ids_of(server: Any, key: str) -> dict[str, str]:
    """Return one incident, plan and alert that this reader may see; empty: none."""
    found = {}
    for kind in ("incident", "plan", "alert"):
        answer = server.get(f"/api/v2/{kind}s", key)
        assert answer.status_code == 200, answer.text
        listed = answer.json()[f"{kind}s"]
        found[kind] = str(listed[0]["id"]) if listed else ""
    return found


def limited_key(server: Any, *limits: str) -> str:
    answer = server.post("/api/v2/admin/keys", ADMIN, json={"name": str(uuid.uuid4()), "limits": limits})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["key"])


def get_routes(server: Any) -> list[tuple[str, Any]]:
    found = []
    for route in inner(server.app).routes:
        for handler in route.route_handlers:
            if "GET" in handler.http_methods and route.path not in WAITING:
                found.append((route.path_format, handler))
    assert len(found) > 130
    return sorted(found, key=lambda pair: pair[0])


def fill_path(path: str, names: Names) -> str:
    jobs = "/jobs/" in path
    name = names.entity if "/entities/" in path else names.job if jobs else names.dataset
    values = {
        "namespace": names.job_namespace if jobs and path != "/api/v1/namespaces/{namespace}" else names.namespace,
        "dataset": names.dataset, "job": names.job, "name": name, "run_id": names.run,
        "id": names.run, "before": names.run, "after": names.run, "tag": "team", "version": names.version, "letter": "x", "text": names.dataset,
        "incident": names.incident, "plan": names.plan, "alert": names.alert, "instance": "2026-11-22", "source": names.source,
    }  # fmt: skip

    def fill(match: re.Match[str]) -> str:
        return quote(values.get(match[1], names.dataset), safe="")

    return re.sub(r"{(\w+)}", fill, path)


def queries(handler: Any, names: Names) -> list[dict[str, str]]:
    """Sets of parameters: the required ones, each other one that names something, and pairs of them that belong together."""
    known = query_parameters(handler)
    nodes = [f"dataset:{names.namespace}:{names.dataset}", f"job:{names.job_namespace}:{names.job}"]
    values = {
        "node": nodes, "nodeId": nodes, "of": [names.namespace], "q": [names.dataset, "zq7", "mine", names.namespace], "text": [names.dataset],
        "name": [f"{names.namespace}/{names.dataset}", names.dataset], "namespace": [names.namespace, names.job_namespace], "job": [nodes[1]],
        "run": [names.run], "runId": [names.run], "id": [nodes[1], "job:jobs-a:broken", names.incident], "from": [nodes[0]], "to": [f"dataset:{names.namespace}:{names.other}"],
        "tag": ["team", "team:a", "pii"], "fingerprint": ["abc"], "facets": ["true"], "columns": ["true"], "children": ["true"], "owner": ["ana"],
        "target": [nodes[0]], "type": ["run", "job"], "aggregateByParent": ["true"], "withDownstream": ["true"],
        "instances": ["2026-11-22"],
    }  # fmt: skip
    usable = {name: values[name] for name in known if name in values}
    if "from" in usable and handler.fn.__name__ == "get_lineage_diff":
        usable = {**usable, "from": ["2026-11-20T00:00:00Z"], "to": ["2099-11-29T00:00:00Z"]}
    singles: list[dict[str, str]] = [{}]
    for name, some in usable.items():
        singles += [{name: value} for value in some]
    pairs = [
        {**first, **second}
        for first, second in itertools.combinations(singles[1:], 2)
        if set(first) != set(second) and ({*first, *second} & {"node", "nodeId", "from", "q", "namespace", "tag"})
    ]
    return singles + pairs[:3]


def planted_in(body: bytes, asked: tuple[str, ...] = ()) -> list[str]:
    """Return the words and ids of the other team in an answer, besides those of the question."""
    text = body.decode("utf-8", "replace")
    for word in sorted(asked, key=len, reverse=True):
        text = text.replace(word, "")
    found = set(re.findall(r"\w*zq7\w*", text)) | {id_ for id_ in world.IDS if id_ in text}
    return sorted(found)


def ask_all(server: Any, key: str, names: Names, *, every: bool = True) -> dict[str, tuple[int, bytes]]:
    """Ask every route, or only those that answer a limited reader."""
    answers = {}
    for path, handler in get_routes(server):
        # What is refused is refused before any parameter is read.
        if not every and path not in ROUTES:
            continue
        few = 1 if path not in ROUTES and path.startswith("/api/") else None
        for query in queries(handler, names)[:few]:
            reply = server.get(fill_path(path, names), key, params=query)
            answers[f"{path} {fill_path(path, names)} {query}"] = (reply.status_code, reply.content)
    return answers


def test_no_answer_tells_of_a_hidden_dataset(planted: Any) -> None:
    key = limited_key(planted, f"namespace:{world.MINE[:5]}*", "tag:team:a")
    answered: set[str] = set()
    for names in (MINE, SHARED):
        listed = planted.get(f"/api/v2/datasets/{names.namespace}/{names.dataset}/versions", ADMIN).json()["versions"]
        answers = ask_all(
            planted, key, names._replace(version=listed[0]["id"], **ids_of(planted, key)), every=names is MINE
        )
        leaks = {
            call: found
            for call, (_, body) in answers.items()
            if (found := planted_in(body, ("zq7",) if "zq7" in call else ()))
        }
        broken = [(call, body[:300]) for call, (status, body) in answers.items() if status >= 500 or status == 422]
        assert (leaks, broken) == ({}, [])
        answered |= {call.split(" ")[0] for call, (status, _) in answers.items() if status == 200}
    assert answered >= ROUTES


def test_the_page_lists_the_routes_that_refuse(served: Any) -> None:
    """A name in the page stands for the route and all below it that no longer name stands for."""
    answered: set[str] = set()
    refused: set[str] = set()
    for line in PAGE.read_text(encoding="utf-8").partition("## Which questions are answered")[2].splitlines():
        cells = line.split("|")
        if len(cells) == 5 and "`" in line:
            prefix = "/api/v1/" if "Marquez" in cells[1] else "/api/v2/"
            answered |= {prefix + name for name in re.findall(r"`([^`]+)`", cells[2])}
            refused |= {prefix + name for name in re.findall(r"`([^`]+)`", cells[3])}
    refused |= {"/api/v2/admin", "/api/v2/connectors"}
    wrong = []
    for path in {path for path, _ in get_routes(served()) if path.startswith("/api/v2/")}:
        names = [name for name in answered | refused if path == name or path.startswith(f"{name}/")]
        stated = max(names, key=len, default="")
        if not stated or (path in ROUTES) == (stated in refused):
            wrong.append((path, stated))
    assert wrong == []
    assert {name for name in refused if name in ROUTES} == set()


def test_the_same_questions_tell_of_it_without_limits(planted: Any) -> None:
    """The test above would notice: most of the routes that a limited reader may ask have something planted."""
    key = planted.post("/api/v2/admin/keys", ADMIN, json={"name": str(uuid.uuid4())}).json()["key"]
    answers = ask_all(planted, key, SHARED._replace(**ids_of(planted, key)), every=False)
    telling = {
        call.split(" ")[0] for call, (_, body) in answers.items() if planted_in(body, ("zq7",) if "zq7" in call else ())
    }
    assert len(telling & ROUTES) > 20, sorted(ROUTES - telling)


def test_what_is_hidden_is_answered_as_what_does_not_exist(planted: Any) -> None:
    key = limited_key(planted, f"namespace:{world.MINE}")
    hidden, unknown = (ask_all(planted, key, names, every=False) for names in (HIDDEN, UNKNOWN))
    asked = (*HIDDEN, "zq7")
    leaks = {call: found for call, (_, body) in hidden.items() if (found := planted_in(body, asked))}
    assert not leaks
    assert [status for status, _ in hidden.values()] == [status for status, _ in unknown.values()]


def names_of(server: Any, key: str) -> set[str]:
    return {one["name"] for one in server.get("/api/v2/datasets", key).json()["datasets"]}


def test_a_reader_sees_what_fits_one_of_the_limits(planted: Any) -> None:
    mine = {"orders", "clean", "mixed", "report", "slid", "pulled", "late", "unmade"}
    assert names_of(planted, limited_key(planted, "namespace:team-a")) == mine
    assert names_of(planted, limited_key(planted, "tag:TEAM")) == {"clean", "zq7raw"}
    assert names_of(planted, limited_key(planted, "tag:team:a")) == {"clean"}
    assert names_of(planted, limited_key(planted, "namespace:team_a")) == set()
    assert names_of(planted, limited_key(planted, "namespace:team", "tag:nothing")) == set()
    assert names_of(planted, limited_key(planted, "namespace:*")) > mine


def test_lineage_counts_the_jobs_that_it_leaves_out(planted: Any) -> None:
    key = limited_key(planted, "namespace:team-a")
    answer = planted.get("/api/v2/lineage", key, params={"node": "dataset:team-a:orders", "depth": 5}).json()
    assert {node["id"] for node in answer["nodes"]} == {
        "dataset:team-a:orders", "dataset:team-a:clean", "dataset:team-a:report", "job:jobs-a:load", "job:jobs-a:gossip",
        "job:jobs-a:broken", "dataset:team-a:unmade",
    }  # fmt: skip
    assert answer["notes"] == ["2 jobs next to these are left out: they read or write datasets that you may not see"]
    whole = planted.get("/api/v2/lineage", ADMIN, params={"node": "dataset:team-a:orders", "depth": 5}).json()
    assert whole["notes"] == []
    assert planted.get("/api/v2/lineage", key, params={"node": "dataset:team-a:orders", "depth": 5}).json() | {
        "as_of": 0
    } == answer | {"as_of": 0}


def test_incidents_instances_plans_and_alerts_are_limited_to_what_is_visible(planted: Any) -> None:
    key = limited_key(planted, "namespace:team-a")

    def ask(path: str, reader: str = key, **params: Any) -> Any:
        answer = planted.get(f"/api/v2/{path}", reader, params=params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    entities = {one["entity"]: one for one in ask("entities")["entities"]}
    assert {name: (one["upstream"], [each["job"] for each in one["produced_by"]]) for name, one in entities.items()} == {
        "clean_days": ([], ["jobs-a/load"]), "order_days": ([], []), "report_days": ([], ["jobs-a/gossip"]),
    }  # fmt: skip
    status = ask("entities/clean_days/status", instances="2026-11-21..2026-11-27")
    assert status["counts"] == {"completed": 4, "wrong": 2, "running": 1}
    made = ask("entities/report_days/instances/2026-11-21")["versions"][0]
    assert (made["run"], made["storage"], made["actor"], made["reads"]) == (RUN.format(3), None, "", None)
    assert ask("entities/clean_days/instances/2026-11-21")["versions"][0]["run"] == ""

    incidents = {one["reason"]: one for one in ask("incidents")["incidents"]}
    assert {reason: (one["wrong"], one["entities"], one["opened_by"]) for reason, one in incidents.items()} == {
        "orders broke": (3, 3, "admin key"), "opened about data that you may not see": (2, 2, ""),
    }  # fmt: skip
    assert len(ask("incidents", ADMIN)["incidents"]) == 4
    opened = ask("open-incidents")
    assert {(one["kind"], one["id"]) for one in opened["incidents"] if one["kind"] == "failed"} == {
        ("failed", "job:jobs-a:after"), ("failed", "job:jobs-a:broken"),
    }  # fmt: skip
    assert opened["counts"]["failed"] == 2
    whole = ask("open-incidents", ADMIN)["incidents"]
    assert {one["id"] for one in whole if one["kind"] == "failed"} == {"job:zq7jobs:zq7load", "job:jobs-a:broken"}

    (listed,) = ask("plans")["plans"]
    whole = ask(f"plans/{listed['id']}", ADMIN)
    plan = ask(f"plans/{listed['id']}")
    assert plan["plan"] == listed
    made_right = {"order_days", "clean_days", "report_days"}
    wanted = [item["makes"] for item in whole["items"] if {one["entity"] for one in item["makes"]} <= made_right]
    assert [item["makes"] for item in plan["items"]] == wanted
    assert [item["number"] for item in plan["items"]] == list(range(len(wanted)))
    assert listed["items"] == len(wanted) < whole["plan"]["items"]
    assert {need for item in plan["items"] for need in item["needs"]} <= {str(number) for number in range(len(wanted))}
    assert listed["reason"] == ""

    alerts = ask("alerts")
    assert {one["subject"] for one in alerts["alerts"]} == {"job:jobs-a:after", "job:jobs-a:broken"}
    assert (alerts["total"], alerts["messages"]) == (2, {})
    # Without limits, one failure is told as what caused it.
    assert {one["subject"] for one in ask("alerts", ADMIN)["alerts"]} == {"job:zq7jobs:zq7load", "job:jobs-a:broken"}


def test_a_dataset_is_visible_by_all_of_its_names(planted: Any) -> None:
    key = limited_key(planted, f"namespace:{world.THEIRS}")
    event = run_event("COMPLETE", 77, "link", [], [dataset("seen", "elsewhere", symlinks=facet(identifiers=[
        {"namespace": world.THEIRS, "name": "zq7linked", "type": "TABLE"}]))], namespace="zq7jobs")  # fmt: skip
    assert planted.get("/api/v2/datasets/elsewhere/seen", key).status_code == 404
    assert planted.post("/api/v1/lineage", ADMIN, content=encoded(event)).status_code == 201
    assert planted.get("/api/v2/datasets/elsewhere/seen", key).status_code == 200


def test_a_limited_reader_changes_nothing_and_signs_in_with_the_same_limits(planted: Any) -> None:
    key = limited_key(planted, "namespace:team-a")
    for method, path, body in (
        ("PUT", "/api/v2/views/mine", {"address": "catalogue"}),
        ("POST", "/api/v2/rules/test", {"files": []}),
        ("PUT", "/api/v2/subscriptions", {"selector": "zq7raw", "events": ["failed"]}),
    ):
        assert planted.ask(method, path, key, json=body).status_code == 403, path
    refused = planted.get("/api/v2/rules", key)
    assert (refused.status_code, refused.json()["detail"]) == (403, {"limits": ["namespace:team-a"]})
    assert planted.ask("POST", "/auth/key", json={"key": key}).json()["limits"] == ["namespace:team-a"]
    assert planted.get("/auth/me").json()["limits"] == ["namespace:team-a"]
    assert planted.get("/api/v2/datasets/zq7ns/zq7raw").status_code == 404
    assert planted.get("/api/v2/datasets/team-a/clean").status_code == 200
    assert planted.get("/api/v2/datasets/zq7ns/zq7raw", ADMIN).status_code == 200


def test_an_agent_is_limited_as_its_key_is(planted: Any) -> None:
    key = limited_key(planted, "namespace:team-a")
    told = planted.post("/mcp", key, headers={"accept": "application/json, text/event-stream"}, json={
        "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search", "arguments": {"words": "zq7raw"}}})  # fmt: skip
    assert told.status_code == 200
    assert not planted_in(told.content, ("zq7raw", "zq7"))


@pytest.mark.parametrize("wanted", [
    {"limits": ["team-a"]}, {"limits": ["namespace:"]}, {"limits": ["tag: "]}, {"limits": ["owner:ana"]}, {"limits": ["namespace:a"], "role": "write"},
    {"limits": ["namespace:a"], "role": "admin"}, {"limits": ["namespace:" + "x" * 2000]},
])  # fmt: skip
def test_wrong_limits_make_no_key(served: Any, wanted: dict[str, Any]) -> None:
    assert served(**KEYS).post("/api/v2/admin/keys", ADMIN, json={"name": "k", **wanted}).status_code == 400


def test_tables_without_a_view_are_empty_to_a_limited_reader(database: Any, run: Any) -> None:
    """Also those that a later version adds. Their connection, which stays open, keeps no table from being dropped: retention drops months of the log."""

    async def seen() -> tuple[list[str], int, int]:
        async with database.transaction() as connection:
            await connection.execute("create table a_new_one as select 1 as one")
        token = reader_limits.set(parse_limits(["namespace:*"]))
        try:
            async with database.snapshot() as connection:
                cursor = await connection.execute(
                    "select relname from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v', 'm') "
                    "and relname::regclass = format('public.%I', relname)::regclass and not relispartition"
                )
                bare = [row[0] for row in await cursor.fetchall()]
                (new,) = (await (await connection.execute("select count(*) from a_new_one")).fetchall())[0]
                (keys,) = (await (await connection.execute("select count(*) from api_keys")).fetchall())[0]
            with pytest.raises(Forbidden):
                async with database.transaction():
                    pass
        finally:
            reader_limits.reset(token)
            async with database.transaction() as connection:
                await connection.execute("drop table a_new_one")
        return bare, new, keys

    assert run(seen()) == ([], 0, 0)


def test_readers_of_a_group_are_limited_by_the_settings() -> None:
    limits = "cn=crm,dc=x=namespace:postgres://crm*,crm=tag:team:crm,other=tag:b"
    with pytest.raises(ValueError, match="is not group=namespace:PATTERN or group=tag:NAME"):
        OidcSettings(limits=limits)
    settings = OidcSettings(limits=limits.replace("cn=crm,dc=x", "cn=crm"))
    assert limits_of({"groups": ["cn=crm", "crm", "none"]}, settings) == ("namespace:postgres://crm*", "tag:team:crm")
    assert limits_of({"groups": ["none"]}, settings) == ()
