"""The shortest ways from one node to another."""

from typing import Any

from tests.api.lineage.test_lineage import ask as lineage
from tests.api.lineage.test_lineage import chain, hops, send
from tests.events import columns, dataset, facet, parent, run_event, schema


def ask(client: Any, source: str, target: str, **question: Any) -> dict[str, Any]:
    reply = client.get("/api/v2/paths", **{"from": source, "to": target}, **question)
    assert reply.status_code == 200, reply.text
    return dict(reply.json())


def ways(answer: dict[str, Any]) -> set[tuple[str, ...]]:
    return {tuple(id_.rsplit(":", 1)[1] for id_ in path["nodes"]) for path in answer["paths"]}


def diamond(client: Any) -> None:
    send(
        client,
        run_event("COMPLETE", 1, "a", ["/in"], ["/left"]),
        run_event("COMPLETE", 2, "b", ["/in"], ["/right"]),
        run_event("COMPLETE", 3, "c", ["/left", "/right"], ["/out"]),
        run_event("COMPLETE", 4, "d", ["/out"], ["/end"]),
        run_event("COMPLETE", 5, "long", ["/in"], ["/x"]),
        run_event("COMPLETE", 6, "longer", ["/x"], ["/y"]),
        run_event("COMPLETE", 7, "longest", ["/y"], ["/end"]),
    )


def test_all_the_shortest_through_which_jobs(client: Any) -> None:
    diamond(client)
    answer = ask(client, "dataset:file:/in", "dataset:file:/end")
    assert ways(answer) == {
        ("/in", "a", "/left", "c", "/out", "d", "/end"),
        ("/in", "b", "/right", "c", "/out", "d", "/end"),
        ("/in", "long", "/x", "longer", "/y", "longest", "/end"),
    }
    assert (answer["direction"], answer["length"], answer["total"]) == ("downstream", 6, 3)
    assert answer["paths"][0]["steps"][0] == {
        "source": "dataset:file:/in", "source_field": None, "job": "job:test:a", "target": "dataset:file:/left", "target_field": None,
    }  # fmt: skip
    assert {n["id"] for n in answer["nodes"]} == {id_ for path in answer["paths"] for id_ in path["nodes"]}
    pairs = {(e["source"], e["target"]) for e in answer["edges"]}
    assert pairs == {(a, b) for p in answer["paths"] for a, b in zip(p["nodes"], p["nodes"][1:], strict=False)}


def test_more_than_shown_is_said(client: Any) -> None:
    diamond(client)
    answer = ask(client, "dataset:file:/in", "dataset:file:/end", limit=1)
    assert (len(answer["paths"]), answer["total"]) == (1, 3)


def test_against_the_flow(client: Any) -> None:
    chain(client, 3)
    answer = ask(client, "dataset:file:/3", "dataset:file:/1")
    assert (answer["direction"], ways(answer)) == ("upstream", {("/1", "j2", "/2", "j3", "/3")})
    assert ask(client, "dataset:file:/3", "dataset:file:/1", direction="downstream")["total"] == 0


def test_jobs_are_ends_too_with_the_jobs_below_them(client: Any) -> None:
    chain(client, 3)
    assert ways(ask(client, "job:test:j1", "job:test:j3")) == {("j1", "/1", "j2", "/2", "j3")}
    assert ways(ask(client, "job:test:j1", "dataset:file:/2")) == {("j1", "/1", "j2", "/2")}
    assert ways(ask(client, "dataset:file:/1", "job:test:j2")) == {("/1", "j2")}
    send(client, run_event("COMPLETE", 9, "package.x", ["/3"], ["/4"], run_facets=parent(8, "package")))
    assert ways(ask(client, "dataset:file:/2", "job:test:package")) == {("/2", "j3", "/3", "package.x")}


def test_none_and_given_up(client: Any) -> None:
    chain(client, 4)
    send(client, run_event("COMPLETE", 9, "other", ["/p"], ["/q"]))
    answer = ask(client, "dataset:file:/0", "dataset:file:/q")
    assert (answer["total"], answer["paths"], answer["direction"], answer["reason"]) == (0, [], None, None)
    short = ask(client, "dataset:file:/0", "dataset:file:/4", max_length=7)
    assert (short["total"], short["reason"]) == (0, "max_length=7 reached")
    assert ask(client, "dataset:file:/0", "dataset:file:/4", max_length=8)["length"] == 8


def test_explicit_lineage_is_kept_to(client: Any) -> None:
    entries = [
        {"namespace": "file", "name": f"/o{n}", "type": "DATASET", "inputs": [{"namespace": "file", "name": f"/i{n}", "type": "DATASET"}]}
        for n in (1, 2)
    ]  # fmt: skip
    send(
        client,
        run_event("COMPLETE", 1, "a", ["/i1", "/i2"], ["/o1", "/o2"], job_facets={"lineage": facet(entries=entries)}),
        run_event("COMPLETE", 2, "b", ["/i1"], ["/detour"]),
        run_event("COMPLETE", 3, "c", ["/detour"], ["/o2"]),
    )
    assert ways(ask(client, "dataset:file:/i1", "dataset:file:/o1")) == {("/i1", "a", "/o1")}
    assert ways(ask(client, "dataset:file:/i1", "dataset:file:/o2")) == {("/i1", "b", "/detour", "c", "/o2")}
    assert ways(ask(client, "dataset:file:/i1", "job:test:a")) == {("/i1", "a")}
    assert ways(ask(client, "job:test:a", "dataset:file:/o2")) == {("a", "/o2")}


def test_what_explicit_lineage_does_not_mention(client: Any) -> None:
    """An output that no entry is about is fed by inputs that none mentions; the walk says the same."""
    entries = [
        {"namespace": "file", "name": "/o1", "type": "DATASET", "inputs": [{"namespace": "file", "name": "/i1", "type": "DATASET"}]}
    ]  # fmt: skip
    send(
        client,
        run_event("COMPLETE", 1, "a", ["/i1", "/i2"], ["/o1", "/o2"], job_facets={"lineage": facet(entries=entries)}),
    )
    feeds = {("/i1", "/o1"), ("/i2", "/o2")}
    for source in ("/i1", "/i2"):
        down = hops(lineage(client, f"dataset:file:{source}", direction="downstream"))
        for target in ("/o1", "/o2"):
            found = ask(client, f"dataset:file:{source}", f"dataset:file:{target}", direction="downstream")["total"]
            assert (found == 1) == ((source, target) in feeds) == (target in down)
    shown = lineage(client, "dataset:file:/o2", type="dataset")
    assert [(e["source"], e["target"]) for e in shown["edges"]] == [("dataset:file:/i2", "dataset:file:/o2")]


def test_columns_that_only_the_sql_tells(client: Any) -> None:
    said = {"sql": facet(query="insert into out select a as z from raw", dialect="postgres")}
    send(
        client,
        run_event(
            "COMPLETE",
            1,
            "j",
            [dataset("raw", "db", **schema("a", "b"))],
            [dataset("out", "db", **schema("z"))],
            job_facets=said,
        ),
    )
    found = ask(client, "dataset:db:raw", "dataset:db:out", from_field="a", to_field="z")
    assert ways(found) == {("raw", "j", "out")}
    assert ask(client, "dataset:db:raw", "dataset:db:out", from_field="b", to_field="z")["total"] == 0


def test_columns(client: Any) -> None:
    mid = dataset(
        "/mid", **columns({"x": [("/raw", "a", "DIRECT:IDENTITY")], "y": [("/raw", "b", "DIRECT:IDENTITY")]}, [("/raw", "k", "INDIRECT:FILTER")])
    )  # fmt: skip
    out = dataset("/out", **columns({"z": [("/mid", "x", "DIRECT:IDENTITY")]}))
    entries = [{"type": "JOB", "inputs": [{"type": "DATASET", "namespace": "file", "name": "/out", "field": "z"}]}]
    send(
        client,
        run_event("COMPLETE", 1, "a", ["/raw"], [mid]),
        run_event("COMPLETE", 2, "b", ["/mid"], [out]),
        run_event("COMPLETE", 3, "report", ["/out"], ["/page"], job_facets={"lineage": facet(entries=entries)}),
    )
    answer = ask(client, "dataset:file:/raw", "dataset:file:/out", from_field="a", to_field="z")
    told = [[(s["source_field"], s["job"], s["target_field"]) for s in p["steps"]] for p in answer["paths"]]
    assert told == [[("a", "job:test:a", "x"), ("x", "job:test:b", "z")]]
    assert ways(answer) == {("/raw", "a", "/mid", "b", "/out")}
    assert ask(client, "dataset:file:/raw", "dataset:file:/out", from_field="b", to_field="z")["total"] == 0
    for most, total in ((3, 0), (4, 1)):
        few = ask(client, "dataset:file:/raw", "dataset:file:/out", from_field="a", to_field="z", max_length=most)
        assert few["total"] == total
    # A column that decides about all rows decides about every column; a dataset without a column asked for is any of its columns.
    assert ask(client, "dataset:file:/raw", "dataset:file:/out", from_field="k", to_field="z")["length"] == 4
    assert ask(client, "dataset:file:/raw", "dataset:file:/mid", from_field="b")["length"] == 2
    # Columns that feed a job feed what it writes.
    page = ask(client, "dataset:file:/raw", "dataset:file:/page", from_field="a")
    assert ways(page) == {("/raw", "a", "/mid", "b", "/out", "report", "/page")}


def test_as_of(client: Any) -> None:
    send(
        client,
        run_event("COMPLETE", 1, "a", ["/in"], ["/out"], at="2026-01-01T00:00:00Z"),
        run_event("COMPLETE", 2, "b", ["/out"], ["/end"], at="2026-03-01T00:00:00Z"),
        *(run_event("COMPLETE", n, "a", ["/other"], ["/out"], at=f"2026-02-{n:02}T00:00:00Z") for n in range(10, 21)),
    )
    assert ask(client, "dataset:file:/in", "dataset:file:/out")["total"] == 0
    then = ask(client, "dataset:file:/in", "dataset:file:/out", as_of="2026-01-02T00:00:00Z")
    assert ways(then) == {("/in", "a", "/out")}
    reply = client.get(
        "/api/v2/paths", **{"from": "dataset:file:/in", "to": "dataset:file:/end", "as_of": "2026-01-02T00:00:00Z"}
    )
    assert reply.status_code == 404


def test_statements_grow_with_length_and_not_with_width(client: Any, statements: Any) -> None:
    counts = []
    for width in (2, 50):
        name = f"/w{width}"
        send(
            client,
            *(run_event("COMPLETE", width * 100 + n, f"{width}-{n}", [name], [f"{name}-{n}"]) for n in range(width)),
            run_event("COMPLETE", width, f"end{width}", [f"{name}-0"], [f"{name}-end"]),
        )
        with statements() as counted:
            assert ask(client, f"dataset:file:{name}", f"dataset:file:{name}-end")["length"] == 4
        counts.append(len(counted))
    assert counts[0] == counts[1]


def test_questions_that_make_no_sense(client: Any) -> None:
    chain(client, 1)
    ends = {"from": "dataset:file:/0", "to": "dataset:file:/1"}
    for wrong in (
        {"direction": "sideways"}, {"limit": 0}, {"max_length": 0}, {"to": "dataset:file:/0"}, {"to": "job:test:j1", "to_field": "x"},
    ):  # fmt: skip
        assert client.get("/api/v2/paths", **ends | wrong).status_code == 400, wrong
    assert client.get("/api/v2/paths", **ends | {"to": "dataset:file:/no"}).status_code == 404
    assert client.get("/api/v2/paths", **{"from": "dataset:file:/0"}).status_code == 400
