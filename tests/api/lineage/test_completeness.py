"""The line that says how much of a dataset's lineage is known, and why the rest is not."""

from typing import Any

import pytest
from tests.events import columns, dataset, encoded, facet, parent, run_event, schema
from tests.fixtures.app import Client

W = "postgres://w:5432"
OUT = {"x": [("/in", "a", "DIRECT:IDENTITY")], "y": [("/in", "b", "DIRECT:IDENTITY")]}
NAMES = ("x", "y", "z", "w")


def known(client: Client, *events: dict[str, Any], name: str = "/out", namespace: str = "file") -> dict[str, Any]:
    for event in events:
        assert client.post("/api/v1/lineage", encoded(event)).status_code == 201
    path = f"/api/v2/datasets/{namespace.replace(':', '%3A').replace('/', '%2F')}/{name.replace('/', '%2F')}"
    return client.get(path).json()["completeness"]  # type: ignore[no-any-return]


def test_columns_are_counted_and_a_parsers_failure_is_the_reason(client: Client) -> None:
    failed = facet(
        totalTasks=3,
        failedTasks=1,
        errors=[{"errorMessage": "Expected ), found QUALIFY\n  at line 3", "task": "select"}],
    )
    out = dataset("/out", **schema(*NAMES), **columns(OUT))
    told = known(client, run_event("COMPLETE", 1, "load", ["/in"], [out], run_facets={"extractionError": failed}))
    assert (told["columns"], told["traced"], told["parsed"], told["untraced"]) == (4, 2, 0, ["z", "w"])
    reason = "the producer's parser failed on 1 of 3 parts: Expected ), found QUALIFY"
    assert told["reasons"] == [{"job": "job:test:load", "text": reason}]
    assert told["summary"] == f"2 of 4 columns traced; {reason}"
    # The latest run of the writer speaks: one that could read everything takes the reason away.
    good = run_event("COMPLETE", 2, "load", ["/in"], [out], at="2026-01-02T00:00:00Z")
    assert known(client, good)["reasons"] == []


def test_what_headwater_alone_read_is_said(client: Client) -> None:
    """The parser of the producer failed, ours did not."""
    query = {"sql": facet(query="insert into t select a as x, b as y from s", dialect="postgres")}
    failed = {"extractionError": facet(totalTasks=1, failedTasks=1, errors=[{"errorMessage": "no"}])}
    told = known(
        client,
        run_event(
            "COMPLETE", 1, "load", [dataset("db.public.s", W, **schema("a", "b"))], [dataset("db.public.t", W, **schema("x", "y", "z"))],
            job_facets=query, run_facets=failed,
        ),
        name="db.public.t", namespace=W,
    )  # fmt: skip
    assert told["summary"] == (
        "2 of 3 columns traced; 2 of them by Headwater alone, from SQL; the producer's parser failed on 1 of 1 parts: no"
    )


@pytest.mark.parametrize(
    ("events", "summary"),
    [
        ([run_event("COMPLETE", 1, "read", ["/out"], [])], "no job is known to write it"),
        ([run_event("COMPLETE", 1, "load", ["/in"], ["/out"])], "its columns are not known"),
        (
            [run_event("COMPLETE", 1, "load", ["/in"], [dataset("/out", **schema("x"))])],
            "0 of 1 columns traced; its writer reports no columns and no SQL",
        ),
        ([run_event("COMPLETE", 1, "load", ["/in"], [dataset("/out", **schema("x", "y"), **columns(OUT))])], "2 of 2 columns traced"),
        (
            [run_event("COMPLETE", 1, "load", ["/in"], [dataset("/out", **schema("x"), **columns({"X": []}))])],
            "1 of 1 columns traced",
        ),
        (
            [run_event("START", 1, "load", [], [dataset("/out", headwater_declared=facet(name="out"))])],
            "its columns are not known; the write is declared; no run was seen to do it",
        ),
        (
            [
                run_event(
                    "COMPLETE", 1, "load", ["/in"], [dataset("/out", **schema("x", "y"), **columns(OUT))],
                    run_facets={"headwater_warnings": facet(warnings=["column lineage left out: the plan is too large", "no"])},
                )
            ],
            "2 of 2 columns traced; column lineage left out: the plan is too large; 1 more reasons",
        ),
        (
            [run_event("COMPLETE", 1, "load", ["/in"], ["/out"], run_facets={"extractionError": facet(errors="x"), "headwater_warnings": facet(warnings=3)})],
            "its columns are not known",
        ),
    ],
    ids=["no writer", "no schema", "no columns", "all", "fed by nothing", "declared", "capture", "malformed"],
)  # fmt: skip
def test_summary(client: Client, events: list[dict[str, Any]], summary: str) -> None:
    assert known(client, *events)["summary"] == summary


def test_it_is_as_of_the_time_asked_for(client: Client) -> None:
    known(client, run_event("COMPLETE", 1, "load", ["/in"], [dataset("/out", **schema("x"))]))
    out = dataset("/out", **schema("x"), **columns({"x": [("/in", "a", "DIRECT:IDENTITY")]}))
    assert known(client, run_event("COMPLETE", 2, "load", ["/in"], [out], at="2026-02-01T00:00:00Z"))["traced"] == 1
    past = client.get("/api/v2/datasets/file/%2Fout", as_of="2026-01-15T00:00:00Z").json()["completeness"]
    assert (past["columns"], past["traced"]) == (1, 0)


@pytest.mark.parametrize("first", [0, 1])
def test_statements_below_a_writer_speak_for_it(client: Client, first: int) -> None:
    """A statement that touches no dataset is folded into its job: its SQL is the job's, and what its producer could not read is a reason."""
    failed = facet(totalTasks=1, failedTasks=1, errors=[{"errorMessage": "no"}])
    query = {"sql": facet(query="create table db.public.t as select a as x from db.public.s", dialect="postgres")}
    model = run_event("COMPLETE", 1, "model", [], [dataset("db.public.t", W, **schema("x"))])
    below = parent(1, "model") | {"extractionError": failed}
    statement = run_event("COMPLETE", 2, "model.sql.1", run_facets=below, job_facets=query)
    events = [model, statement] if first == 0 else [statement, model]
    told = known(client, *events, name="db.public.t", namespace=W)
    assert told["reasons"] == [
        {"job": "job:test:model.sql.1", "text": "the producer's parser failed on 1 of 1 parts: no"},
        {
            "job": "job:test:model",
            "text": "its SQL reads db.public.s, which is none of the datasets that it is known to read",
        },
    ]
