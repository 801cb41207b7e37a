"""People's metadata over HTTP, and its place in answers."""

import json
from typing import Any

import pytest
from tests.events import dataset, facet, run_event, schema
from tests.fixtures.app import Client
from tests.fixtures.people import People
from tests.fixtures.servers import inner

A = ("datasets", "file", "/data/a")


@pytest.fixture
def known(client: Client) -> Client:
    """/data/a → one → /data/b; the producer describes, owns and tags /data/a."""
    told = dataset(
        "/data/a",
        **schema("id", "name"),
        documentation=facet(description="by the producer"),
        ownership=facet(owners=[{"name": "team", "type": "STEWARD"}]),
        tags=facet(tags=[{"key": "pii", "value": "true"}, {"key": "level", "value": "low", "field": "name"}]),
    )
    assert (
        client.post("/api/v1/lineage", _body(run_event("COMPLETE", 1, "one", [told], ["/data/b"]))).status_code == 201
    )
    return client


def _body(event: Any) -> bytes:
    return json.dumps(event).encode()


def test_a_description_by_a_person_comes_first(known: Client, people: People) -> None:
    reply = people.put(*A, "description", body={"text": "by ada"}).json()
    assert (reply["changed"], reply["author"], reply["target"]) == (True, "ada", "dataset:file:/data/a")
    shown = people.get(*A)
    assert (shown["description"], shown["description_origin"]) == ("by ada", "MANUAL")
    people.put(*A, "description", body={"text": "the key"}, column="id")
    assert people.get(*A)["fields"][0]["description"] == "the key"
    # The producer says it again, and the person still comes first.
    told = dataset("/data/a", documentation=facet(description="again"))
    known.post("/api/v1/lineage", _body(run_event("COMPLETE", 2, "one", [told], at="2026-02-01T00:00:00Z")))
    assert people.get(*A)["description"] == "by ada"
    people.delete(*A, "description")
    shown = people.get(*A)
    assert (shown["description"], shown["description_origin"]) == ("again", "EVENT")


def test_tags_are_joined_each_with_its_origin(known: Client, people: People) -> None:
    people.put(*A, "tags", "Gold", body={"value": 3})
    people.put(*A, "tags", "LEVEL", body={"value": "high"}, column="NAME")
    shown = people.get(*A)
    assert shown["tags"] == ["pii", "Gold:3"]
    assert [(t["name"], t["value"], t["origin"], t["author"]) for t in shown["tag_details"]] == [
        ("pii", "true", "EVENT", None), ("Gold", 3, "MANUAL", "ada")
    ]  # fmt: skip
    assert shown["fields"][1]["tags"] == ["LEVEL:high"]
    assert people.get("datasets", "file", "/data/b")["inherited_tags"] == [
        {"tag": "pii", "dataset": "dataset:file:/data/a"}, {"tag": "Gold:3", "dataset": "dataset:file:/data/a"}
    ]  # fmt: skip
    people.delete(*A, "tags", "PII")
    assert people.get(*A)["tags"] == ["Gold:3"]
    people.put(*A, "tags", "PII")
    assert people.get(*A)["tags"] == ["Gold:3", "PII"]


def test_owners_are_joined(known: Client, people: People) -> None:
    people.put(*A, "owners", "bob@x.org", body={"type": "ON_CALL"})
    owners = [(o["name"], o["type"], o["origin"]) for o in people.get(*A)["owners"]]
    assert owners == [("team", "STEWARD", "EVENT"), ("bob@x.org", "ON_CALL", "MANUAL")]
    people.delete(*A, "owners", "team")
    assert [o["name"] for o in people.get(*A)["owners"]] == ["bob@x.org"]
    people.put("jobs", "test", "one", "owners", "eve")
    assert [o["name"] for o in people.get("jobs", "test", "one")["owners"]] == ["eve"]


@pytest.mark.parametrize(
    ("definition", "good", "kept", "bad", "says"),
    [
        ({"type": "none"}, None, None, "x", "takes no value"),
        ({"type": "string"}, "x", "x", None, "a string"),
        ({"type": "number"}, "2.5", 2.5, "two", "a number"),
        ({"type": "boolean"}, "true", True, 1, "true or false"),
        ({"type": "enum", "values": ["Low", "High"]}, "high", "High", "mid", "one of Low, High"),
        ({"type": "date"}, "2026-01-31", "2026-01-31", "2026-02-31", "a date like"),
        ({"type": "pattern", "pattern": "[A-Z]{2}-\\d+"}, "AB-12", "AB-12", "ab-12", "that matches"),
        ({"applies_to": ["column"]}, None, None, None, "is for column"),
    ],
    ids=lambda value: value.get("type", "place") if isinstance(value, dict) else "",
)
def test_values_fit_the_schema(
    known: Client, people: People, definition: Any, good: Any, kept: Any, bad: Any, says: str
) -> None:
    people.put("tags", "t", body=definition)
    column = {"column": "id"}
    assert people.put(*A, "tags", "T", body={"value": good}, **column).json()["after"]["tag:t"]["value"] == kept
    where = {} if "applies_to" in definition else column
    refused = people.put(*A, "tags", "t", body={"value": bad}, **where)
    assert refused.status_code == 400
    assert refused.json()["code"] == "invalid_change"
    assert says in refused.json()["message"]


@pytest.mark.parametrize(
    "definition",
    [
        {"type": "enum"},
        {"type": "enum", "values": ["a", "A"]},
        {"type": "pattern"},
        {"type": "pattern", "pattern": "("},
        {"type": "pattern", "pattern": "(a+)+b"},
        {"type": "pattern", "pattern": "a*a*a*a*b"},
        {"type": "string", "values": ["a"]},
        {"type": "colour"},
        {"applies_to": []},
        {"applies_to": ["run"]},
    ],
)
def test_a_definition_that_makes_no_sense_is_refused(people: People, definition: Any) -> None:
    assert people.put("tags", "t", body=definition).status_code == 400
    assert people.get("metadata", "tags") == {"tags": []}


def test_definitions_are_listed_and_removed(people: People) -> None:
    people.put("tags", "Level", body={"type": "enum", "values": ["a"], "description": "how much"})
    people.put("tags", "b")
    assert [t["name"] for t in people.get("metadata", "tags")["tags"]] == ["b", "Level"]
    shown = people.get("metadata", "tags", "LEVEL")
    assert (shown["name"], shown["schema"]["values"], shown["author"]) == ("Level", ["a"], "ada")
    people.delete("tags", "level")
    assert people.call("GET", "v2", "metadata", "tags", "level").status_code == 404


def test_only_defined_tags_where_it_is_asked_for(known: Client, people: People, app: Any) -> None:
    settings = inner(app).state.settings.metadata
    settings.strict_tags = True
    try:
        assert people.put(*A, "tags", "new").status_code == 400
        people.put("tags", "new")
        assert people.put(*A, "tags", "new").status_code == 200
    finally:
        settings.strict_tags = False


def test_drawn_edges_are_walked_and_taken_back(known: Client, people: People) -> None:
    edge = {
        "source": "dataset:file:/data/b",
        "target": "dataset:dash:sales",
        "columns": [{"source": "x", "target": "y"}],
    }
    assert people.put("edges", body=edge).status_code == 200
    found = people.get("lineage", node="dataset:file:/data/a", columns="true")
    origins = {(e["source"], e["target"]): e["origin"] for e in found["edges"]}
    between = "job:manual:file:/data/b -> dash:sales"
    assert origins == {
        ("dataset:file:/data/a", "job:test:one"): "OBSERVED",
        ("job:test:one", "dataset:file:/data/b"): "OBSERVED",
        ("dataset:file:/data/b", between): "MANUAL",
        (between, "dataset:dash:sales"): "MANUAL",
    }
    (column,) = found["column_edges"]
    assert (column["source_field"], column["target_field"], column["origin"]) == ("x", "y", "MANUAL")
    # Before it was drawn it was not there; with evidence of its own an edge is observed.
    assert len(people.get("lineage", node="dataset:file:/data/a", as_of="2026-03-01T00:00:00Z")["edges"]) == 2
    assert len(people.get("lineage", node="dataset:file:/data/a", as_of="2100-01-01T00:00:00Z")["edges"]) == 4
    people.put("edges", body={"source": "dataset:file:/data/a", "target": "job:test:one"})
    assert people.get("lineage", node="job:test:one", direction="upstream")["edges"][0]["origin"] == "OBSERVED"
    people.delete("edges", source="dataset:file:/data/a", target="job:test:one")
    people.delete("edges", source="dataset:file:/data/b", target="dataset:dash:sales")
    found = people.get("lineage", node="dataset:file:/data/a", columns="true")
    assert len(found["edges"]) == 2
    assert found["column_edges"] == []


def test_a_column_feeds_a_job_and_a_job_a_column(known: Client, people: People) -> None:
    """A dashboard that filters by a column; an API that fills one."""
    into = {"source": "dataset:file:/data/b", "target": "job:dash:board", "columns": [{"source": "x"}]}
    out = {"source": "job:dash:board", "target": "dataset:dash:export", "columns": [{"target": "y"}]}
    assert people.put("edges", body=into).status_code == 200
    assert people.put("edges", body=out).status_code == 200
    found = people.get("lineage", node="dataset:file:/data/b", columns="true", direction="downstream")
    told = {(c["source"], c["source_field"], c["target"], c["target_field"]) for c in found["column_edges"]}
    assert told == {
        ("dataset:file:/data/b", "x", "job:dash:board", None), ("job:dash:board", None, "dataset:dash:export", "y")
    }  # fmt: skip


@pytest.mark.parametrize(
    "edge",
    [
        {"source": "job:test:one", "target": "job:test:two"},
        {"source": "dataset:file:/data/a", "target": "dataset:file:/data/a"},
        {"source": "run:x", "target": "dataset:file:/data/a"},
        {"source": "dataset:file:/data/a", "target": "job:test:one", "columns": [{"source": "id", "target": "y"}]},
        {"source": "dataset:file:/data/a", "target": "job:test:one", "columns": [{}]},
    ],
)
def test_an_edge_that_makes_no_sense_is_refused(known: Client, people: People, edge: Any) -> None:
    refused = people.put("edges", body=edge)
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_change")
    assert people.get("changes")["total"] == 0


def test_aliases_make_one_dataset_of_two_and_two_of_one(known: Client, people: People) -> None:
    people.put("datasets", "file", "/data/b", "description", body={"text": "b"})
    assert people.put(*A, "aliases", "hive", "db.a").status_code == 200
    assert people.put(*A, "aliases", "file", "/data/b").status_code == 200
    shown = people.get("datasets", "file", "/data/b")
    assert (shown["id"], shown["description"]) == ("dataset:file:/data/a", "b")
    assert shown["aliases"] == ["dataset:file:/data/b", "dataset:hive:db.a"]
    people.delete(*A, "aliases", "file", "/data/b")
    assert people.get("datasets", "file", "/data/b")["id"] == "dataset:file:/data/b"
    assert people.get(*A)["description"] == "by the producer"
    assert people.get("datasets", "hive", "db.a")["id"] == "dataset:file:/data/a"
    assert people.delete(*A, "aliases", "file", "/data/b").status_code == 404


def test_what_is_hidden_is_in_no_list_until_an_event_speaks_of_it(known: Client, people: People) -> None:
    people.put("namespaces", "file", "hidden")
    assert people.get("datasets")["total"] == 0
    assert people.get(*A)["hidden"] is True
    known.post("/api/v1/lineage", _body(run_event("COMPLETE", 2, "one", ["/data/a"])))
    assert [d["name"] for d in people.get("datasets")["datasets"]] == ["/data/a"]
    people.put("jobs", "test", "one", "hidden")
    assert people.get("jobs")["total"] == 0
    people.delete("jobs", "test", "one", "hidden")
    people.delete("namespaces", "file", "hidden")
    people.delete("datasets", "file", "/data/b", "hidden")
    assert people.get("datasets")["total"] == 2


def test_the_audit_says_who_what_and_when_before_and_after(known: Client, people: People) -> None:
    people.put(*A, "description", body={"text": "one"})
    people.put(*A, "description", body={"text": "two"}, by="bob")
    people.put(*A, "tags", "x", column="id")
    people.put("edges", body={"source": "dataset:file:/data/a", "target": "dataset:file:/z"})
    found = people.get("changes", target="dataset:file:/data/a")
    assert found["total"] == 4
    assert [c["action"] for c in found["changes"]] == ["draw_edge", "tag", "describe", "describe"]
    second = found["changes"][2]
    assert (second["author"], second["before"], second["after"]) == (
        "bob", {"description": {"text": "one"}}, {"description": {"text": "two"}}
    )  # fmt: skip
    assert [c["author"] for c in people.get("changes", author="bob")["changes"]] == ["bob"]
    assert people.get("changes", action="tag")["changes"][0]["target"] == "dataset:file:/data/a#id"
    assert people.get("changes", since=second["at"], until=found["changes"][1]["at"])["total"] == 1
    assert len(people.get("changes", limit=1, offset=1)["changes"]) == 1


def test_everything_said_of_one_thing(known: Client, people: People) -> None:
    people.put(*A, "description", body={"text": "one"})
    people.put(*A, "tags", "x", column="id", by="bob")
    people.put("namespaces", "file", body={"owner": "ops", "description": "files"})
    people.put("sources", "lake", body={"type": "S3", "url": "s3://lake"})
    told = people.get("metadata", node="dataset:file:/data/a")["statements"]
    assert [(s["kind"], s["key"], s["field"], s["author"]) for s in told] == [
        ("description", None, None, "ada"), ("tag", "x", "id", "bob")
    ]  # fmt: skip
    assert people.get("metadata", node="source:lake")["statements"][0]["value"]["url"] == "s3://lake"
    named = people.get("metadata", node="namespace:file")["statements"]
    assert {s["kind"]: s["value"] for s in named if not s["removed"]} == {
        "owner": {"name": "ops"}, "description": {"text": "files"}
    }  # fmt: skip
    assert people.call("GET", "v2", "metadata", node="tag:none").status_code == 404
    assert people.call("GET", "v2", "metadata", node="x").status_code == 400


def test_what_is_not_known_is_not_found(known: Client, people: People) -> None:
    assert people.put("datasets", "file", "/none", "description", body={"text": "x"}).status_code == 404
    missing = people.put(*A, "tags", "x", column="nam")
    assert missing.status_code == 404
    assert missing.json()["detail"]["suggestions"] == ["name"]
    assert people.put("runs", "file", "/none", "description", body={"text": "x"}).status_code == 404
    assert people.put(*A, "description", body={"words": "x"}).status_code == 400


def test_what_people_say_is_found(known: Client, people: People) -> None:
    def found(words: str) -> list[str]:
        return [one["id"] for one in people.get("search", q=words)["results"]]

    people.put(*A, "description", body={"text": "passengers and their luggage"})
    people.put(*A, "tags", "Confidential", column="id")
    people.put("edges", body={"source": "dataset:file:/data/a", "target": "dataset:dash:turnover"})
    assert found("luggage") == ["dataset:file:/data/a"]
    assert found("confidential") == ["dataset:file:/data/a"]
    assert "dataset:dash:turnover" in found("turnover")
    people.put(*A, "hidden")
    assert found("luggage") == []
    people.delete(*A, "hidden")
    people.delete(*A, "description")
    assert found("luggage") == []
    assert found("confidential") == ["dataset:file:/data/a"]


def test_an_author_without_a_name_is_anonymous(known: Client, people: People) -> None:
    reply = people.call("PUT", "v2", "metadata", *A, "description", body={"text": "x"})
    assert reply.json()["author"] == "anonymous"


def test_reading_many_costs_the_same_statements_as_one(known: Client, people: People, statements: Any) -> None:
    for index in range(30):
        known.post(
            "/api/v1/lineage", _body(run_event("COMPLETE", 10 + index, f"j{index}", ["/data/b"], [f"/o{index}"]))
        )
        people.put("datasets", "file", f"/o{index}", "tags", "x")
    counts = []
    for limit in (1, 30):
        with statements() as counted:
            people.get("datasets", limit=limit)
        counts.append(len(counted))
    assert counts[0] == counts[1]


def test_the_owner_of_the_key_is_the_author(served: Any, key: Any) -> None:
    """`as` is ignored; and a key that may only read changes nothing."""
    server = served(access={"mode": "keys", "admin_key": "a secret that is long enough to be one"})
    writer = key("write")
    where = "/api/v2/metadata/namespaces/n"
    body = {"owner": "ops"}
    assert server.ask("PUT", where, key("read").key, json=body).status_code == 403
    (reply,) = server.ask("PUT", where, writer.key, json=body, params={"as": "another author"}).json()
    assert reply["author"] == writer.name
    assert server.ask("PUT", "/api/v1/namespaces/m", writer.key, json={"ownerName": "ops"}).status_code == 200
    said = server.get("/api/v2/changes", writer.key).json()["changes"]
    assert {one["author"] for one in said} == {writer.name}
