"""The log of an object and who made its columns: statements of query logs, and schemas that nothing explains."""

import json
import urllib.request
from typing import Any

import pytest
from tests.api.usage.measures import ask, send
from tests.events import facet, run_event
from typer.testing import CliRunner

from headwater.cli.program import program

N = "postgres://db:5432"
OBJECTS, BLAME = "/api/v2/object-log", "/api/v2/blame"


def dataset(name: str, day: int, *items: dict[str, Any], columns: dict[str, str] | None = None) -> dict[str, Any]:
    facets: dict[str, Any] = {}
    if items:
        facets["headwater_changes"] = facet(items=list(items))
    if columns is not None:
        facets["schema"] = facet(fields=[{"name": column, "type": kind} for column, kind in columns.items()])
    at = f"2026-03-{day:02}T12:00:00Z"
    return {"eventTime": at, "producer": "p", "dataset": {"namespace": N, "name": name, "facets": facets}}


def change(day: int, action: str, by: str = "ann", **more: Any) -> dict[str, Any]:
    return {
        "firstAt": f"2026-03-{day:02}T09:00:00Z",
        "action": action,
        "actor": by,
        "statement": f"{action} it",
        "queryId": f"q{day}",
        **more,
    }


EVENTS = [
    dataset("shop.items", 3, change(1, "created"), change(2, "added", column="tax"), change(3, "renamed_to", other="shop.lines")),
    dataset("shop.lines", 8, change(3, "renamed_from", "bob", other="shop.items"), change(5, "renamed_column", "bob", column="tax", to="vat"),
            change(6, "created", conditional=True), columns={"id": "int", "vat": "numeric"}),
    dataset("shop.lines", 20, columns={"id": "bigint", "vat": "numeric", "note": "text"}),
]  # fmt: skip


def told(found: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [
        (one["action"], one["object"], one["column"], one["before"], one["after"], one["by"], one["source"])
        for one in found["changes"]
    ]


def test_renames_are_followed_and_what_the_schema_shows_alone_has_no_author(client: Any) -> None:
    send(client, *EVENTS)
    found = ask(client, OBJECTS, node=f"dataset:{N}:shop.lines")
    assert found["names"] == ["shop.lines", "shop.items"]
    assert told(found) == [
        ("column_added", "shop.lines", "note", None, "text", None, "schema"),
        ("column_retyped", "shop.lines", "id", "int", "bigint", None, "schema"),
        ("column_renamed", "shop.lines", "tax", "tax", "vat", "bob", "statement"),
        ("renamed", "shop.lines", None, "shop.items", "shop.lines", "bob", "statement"),
        ("column_added", "shop.items", "tax", None, "tax", "ann", "statement"),
        ("created", "shop.items", None, None, None, "ann", "statement"),
    ]
    assert [
        one["action"] for one in ask(client, OBJECTS, node=f"dataset:{N}:shop.lines", limit=1, offset=2)["changes"]
    ] == ["column_renamed"]


def test_a_statement_explains_the_schema_that_is_seen_after_it(client: Any) -> None:
    altered = change(19, "retyped", column="id", to="bigint", lastAt="2026-03-20T09:00:00Z")
    send(client, dataset("t", 8, columns={"id": "int"}), dataset("t", 20, altered, columns={"id": "bigint"}))
    (found,) = told(ask(client, OBJECTS, node=f"dataset:{N}:t"))
    assert found == ("column_retyped", "t", "id", None, "bigint", "ann", "statement")


def test_a_new_table_of_an_old_name_has_not_the_other_ones_past(client: Any) -> None:
    send(client, dataset("old", 9, change(1, "created"), change(2, "renamed_to", other="older"), change(4, "created", "bob"), change(5, "added", "bob", column="x")),
         dataset("older", 9, change(2, "renamed_from", other="old")))  # fmt: skip
    assert [one[0] for one in told(ask(client, OBJECTS, node=f"dataset:{N}:older"))] == ["renamed", "created"]
    assert [one[0] for one in told(ask(client, OBJECTS, node=f"dataset:{N}:old"))] == [
        "column_added",
        "created",
        "created",
    ]


def test_blame(client: Any) -> None:
    send(client, *EVENTS)
    found = {one["column"]: one for one in ask(client, BLAME, node=f"dataset:{N}:shop.lines")["columns"]}
    assert {name: (one["type"], one["change"]["action"], one["change"]["by"]) for name, one in found.items()} == {
        "vat": ("numeric", "column_renamed", "bob"),
        "id": ("bigint", "column_retyped", None),
        "note": ("text", "column_added", None),
    }
    (one,) = ask(client, BLAME, node=f"dataset:{N}:shop.lines", column="VAT")["columns"]
    assert one["change"]["statement"] == "renamed_column it"
    reply = client.get(BLAME, node=f"dataset:{N}:shop.lines", column="nothing")
    assert (reply.status_code, reply.json()["code"]) == (404, "not_found")


@pytest.mark.parametrize("words", [("blame", "shop.lines.vat"), ("log", "shop.lines"), ("blame", "shop.items.tax")])
def test_the_commands(server_url: str, words: tuple[str, str]) -> None:
    """The second table has no schema: its columns are known from the log alone."""
    body = json.dumps(EVENTS).encode()
    urllib.request.urlopen(urllib.request.Request(f"{server_url}/api/v1/lineage/batch", body), timeout=10).close()
    done = CliRunner().invoke(program, [*words, "--url", server_url], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert ("bob" if "lines" in words[1] else "ann") in done.output
    if words[0] == "log":
        assert "seen in the schema, author unknown" in done.output


def test_the_log_of_a_column_follows_its_names_and_ends_at_a_time(client: Any) -> None:
    send(client, *EVENTS)
    node = f"dataset:{N}:shop.lines"
    vat = told(ask(client, OBJECTS, node=node, column="VAT"))
    assert [one[:3] for one in vat] == [
        ("column_renamed", "shop.lines", "tax"),
        ("renamed", "shop.lines", None),
        ("column_added", "shop.items", "tax"),
        ("created", "shop.items", None),
    ]
    early = told(ask(client, OBJECTS, node=node, as_of="2026-03-08T13:00:00Z"))
    assert [one[0] for one in early] == ["column_renamed", "renamed", "column_added", "created"]
    columns = ask(client, BLAME, node=node, as_of="2026-03-08T13:00:00Z")["columns"]
    assert {one["column"]: one["type"] for one in columns} == {"id": "int", "vat": "numeric"}


def test_a_column_without_a_change_is_there_since_its_first_schema(client: Any) -> None:
    send(client, dataset("t", 8, columns={"id": "int"}), dataset("t", 20, columns={"id": "int", "note": "text"}))
    found = {one["column"]: one for one in ask(client, BLAME, node=f"dataset:{N}:t")["columns"]}
    assert (found["id"]["change"], found["id"]["seen_since"][:10]) == (None, "2026-03-08")
    assert (found["note"]["change"]["action"], found["note"]["seen_since"][:10]) == ("column_added", "2026-03-20")


def reads(job: str, source: str, target: str, namespace: str = N) -> dict[str, Any]:
    event = run_event("COMPLETE", 1, job, at="2026-03-01T10:00:00Z")
    return event | {
        "inputs": [{"namespace": namespace, "name": source}],
        "outputs": [{"namespace": namespace, "name": target}],
    }


@pytest.mark.parametrize(
    ("drop", "dropped"),
    [
        (change(5, "dropped", "bob", statement="DROP TABLE base CASCADE"), True),
        (change(5, "dropped", "bob", statement="drop schema shop cascade"), True),
        (change(5, "dropped_column", "bob", column="a", statement="alter table base drop column a cascade"), True),
        (change(5, "dropped_column", "bob", column="b", statement="alter table base drop column b cascade"), False),
        (change(5, "dropped", "bob", statement="drop table base"), False),
        (change(1, "dropped", "bob", statement="drop table base cascade"), False),
    ],
)
def test_a_view_may_be_gone_with_what_it_reads(client: Any, drop: dict[str, Any], dropped: bool) -> None:
    made = [
        change(day, "created", statement=f"create view {name} as select id, a from base")
        for day, name in ((2, "v"), (3, "w"), (7, "v"))
    ]
    send(
        client,
        reads("one", "base", "v"),
        reads("two", "v", "w"),
        reads("three", "base", "copy"),
        dataset("base", 8, drop),
        dataset("v", 8, made[0], made[2]),
        dataset("w", 8, made[1]),
        dataset("copy", 8, change(2, "created", statement="create table copy as select id, a from base")),
    )
    logs = {name: ask(client, OBJECTS, node=f"dataset:{N}:{name}")["changes"] for name in ("v", "w", "copy")}
    gone = [("dropped", "bob", False)] if dropped else []
    first = ("created", "ann", True)
    assert [(one["action"], one["by"], one["certain"]) for one in logs["w"]] == [*gone, first]
    again = ("created" if dropped else "replaced", "ann", True)
    assert [(one["action"], one["by"], one["certain"]) for one in logs["v"]] == [again, *gone, first]
    assert [one["action"] for one in logs["copy"]] == ["created"]


def test_a_cascade_takes_no_view_along_where_it_is_a_word_for_constraints(client: Any) -> None:
    snow = "snowflake://account"
    view = dataset("v", 8, change(2, "created", statement="create view v as select id from base"))
    base = dataset("base", 8, change(5, "dropped", statement="drop table base cascade"))
    for one in (view, base):
        one["dataset"]["namespace"] = snow
    send(client, reads("one", "base", "v", snow), view, base)
    assert [one["action"] for one in ask(client, OBJECTS, node=f"dataset:{snow}:v")["changes"]] == ["created"]
