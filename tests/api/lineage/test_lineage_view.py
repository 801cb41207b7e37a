"""Views of lineage: filtered without breaking a connection, collapsed, grouped."""

from typing import Any

import pytest
from tests.api.lineage.test_lineage import ask, chain, send
from tests.events import columns, dataset, facet, parent, run_event, schema

from headwater.store.database import Database


def edges(answer: dict[str, Any]) -> dict[tuple[str, str], tuple[int, int]]:
    """(source, target) → (count, via), by the last part of the name."""
    return {
        (e["source"].rsplit(":", 1)[1], e["target"].rsplit(":", 1)[1]): (e["count"], e["via"]) for e in answer["edges"]
    }


def names(answer: dict[str, Any]) -> set[str]:
    return {n["id"].rsplit(":", 1)[1] for n in answer["nodes"]}


def test_datasets_alone_and_jobs_alone_stay_connected(client: Any) -> None:
    chain(client, 3)
    answer = ask(client, "dataset:file:/3", type="dataset")
    assert edges(answer) == {("/0", "/1"): (1, 1), ("/1", "/2"): (1, 1), ("/2", "/3"): (1, 1)}
    assert answer["filtered"] == {"nodes": 3, "edges": 0, "column_edges": 0, "cut": False}
    # The start is always shown.
    jobs = ask(client, "dataset:file:/3", type="job")
    assert edges(jobs) == {("j1", "j2"): (1, 1), ("j2", "j3"): (1, 1), ("j3", "/3"): (1, 0)}


def test_what_does_not_pass_is_a_bridge(client: Any) -> None:
    tags = facet(tags=[{"key": "gold"}])
    send(
        client,
        run_event("COMPLETE", 1, "a", [dataset("/in", tags=tags)], [dataset("t", "db")]),
        run_event("COMPLETE", 2, "b", [dataset("t", "db")], [dataset("/out", tags=tags)], namespace="other"),
    )
    assert edges(ask(client, "dataset:file:/out", namespace="file")) == {("/in", "/out"): (1, 3)}
    assert edges(ask(client, "dataset:file:/out", tag="gold")) == {("/in", "/out"): (1, 3)}
    both = ask(client, "dataset:file:/out", namespace=["fi*", "db"])
    assert edges(both) == {("/in", "t"): (1, 1), ("t", "/out"): (1, 1)}
    assert edges(ask(client, "dataset:file:/out", namespace="oth*")) == {("b", "/out"): (1, 0)}


def test_by_platform_owner_and_the_tag_of_a_column(client: Any) -> None:
    owned = facet(owners=[{"name": "team:ana", "type": "MAINTAINER"}])
    tagged = facet(tags=[{"key": "pii", "value": "true", "source": "x", "field": "email"}])
    send(
        client,
        run_event(
            "COMPLETE", 1, "a", [dataset("in", "s3://lake", ownership=owned)], [dataset("t", "postgres://db:5432")]
        ),
        run_event(
            "COMPLETE",
            2,
            "b",
            [dataset("t", "postgres://db:5432", tags=tagged, **schema("id", "email"))],
            ["/out"],
        ),
        run_event("COMPLETE", 3, "c", ["/out"], [dataset("/top", ownership=owned)], job_facets={"ownership": owned}),
    )
    end = "dataset:file:/top"
    assert names(ask(client, end, platform="s3")) == {"in", "/top"}
    assert names(ask(client, end, platform=["s3", "post*"])) == {"in", "t", "/top"}
    assert edges(ask(client, end, owner="team:ana")) == {("in", "c"): (1, 4), ("c", "/top"): (1, 0)}
    assert names(ask(client, end, owner="team:*", type="dataset")) == {"in", "/top"}
    assert names(ask(client, end, tag="pii*")) == {"t", "/top"}
    assert names(ask(client, end, platform="nothing")) == {"/top"}


def test_filters_of_jobs_let_datasets_be(client: Any) -> None:
    kind = facet(processingType="BATCH", integration="SPARK", jobType="SQL_JOB")
    send(
        client,
        run_event("COMPLETE", 1, "a", ["/0"], ["/1"], job_facets={"jobType": kind}),
        run_event("FAIL", 2, "b", ["/1"], ["/2"]),
    )
    assert edges(ask(client, "dataset:file:/2", job_type="spark")) == {
        ("/0", "a"): (1, 0), ("a", "/1"): (1, 0), ("/1", "/2"): (1, 1),
    }  # fmt: skip
    assert edges(ask(client, "dataset:file:/2", state="failed")) == {
        ("/0", "/1"): (1, 1), ("/1", "b"): (1, 0), ("b", "/2"): (1, 0),
    }  # fmt: skip


def test_edges_by_origin_and_time_and_what_they_alone_connected_goes(client: Any) -> None:
    declared = {"eventTime": "2026-01-01T00:00:00Z", "producer": "p", "job": {"namespace": "test", "name": "plan"}}
    send(
        client,
        declared | {"inputs": [dataset("/wish")], "outputs": [dataset("/mid")]},
        run_event("COMPLETE", 1, "a", ["/before"], ["/mid"], at="2026-01-01T00:00:00Z"),
        run_event("COMPLETE", 2, "b", ["/mid"], ["/out"], at="2026-03-01T00:00:00Z"),
    )
    observed = ask(client, "dataset:file:/out", origin="observed")
    assert names(observed) == {"/before", "a", "/mid", "b", "/out"}
    assert observed["filtered"]["edges"] == 2
    assert names(ask(client, "dataset:file:/out", since="2026-02-01T00:00:00Z")) == {"/mid", "b", "/out"}
    assert names(ask(client, "dataset:file:/out", origin="DECLARED")) == {"/out"}


def test_columns_go_with_their_edges(client: Any) -> None:
    told = {"x": [("/in", "a", "DIRECT:IDENTITY")]}
    send(client, run_event("COMPLETE", 1, "j", ["/in"], [dataset("/out", **columns(told))]))
    shown = ask(client, "dataset:file:/out", columns=True, type="dataset")
    assert [(e["source_field"], e["target_field"]) for e in shown["column_edges"]] == [("a", "x")]
    gone = ask(client, "dataset:file:/out", columns=True, since="2027-01-01T00:00:00Z")
    assert gone["column_edges"] == []
    assert gone["filtered"]["column_edges"] == 1


def test_columns_of_an_edge_that_went_go_though_their_ends_stay(client: Any) -> None:
    def out(column: str) -> dict[str, Any]:
        return dataset("/out", **columns({"x": [("/in", column, "DIRECT:IDENTITY")]}))

    send(
        client,
        run_event("COMPLETE", 1, "early", ["/in"], [out("a")], at="2026-01-01T00:00:00Z"),
        run_event("COMPLETE", 2, "late", ["/in"], [out("b")], at="2026-03-01T00:00:00Z"),
    )
    answer = ask(client, "dataset:file:/out", columns=True, since="2026-02-01T00:00:00Z")
    assert [e["source_field"] for e in answer["column_edges"]] == ["b"]
    assert answer["filtered"]["column_edges"] == 1


def test_a_dataset_that_stands_in_its_jobs_place_is_grouped_too(client: Any) -> None:
    told = facet(inputs=[{"type": "DATASET", "namespace": "file", "name": "/in"}])
    event = {"eventTime": "2026-01-01T00:00:00Z", "producer": "p", "dataset": dataset("/out", lineage=told)}
    send(client, event)
    plain = ask(client, "dataset:file:/out")
    assert {(e["source"], e["target"]) for e in plain["edges"]} == {("dataset:file:/in", "dataset:file:/out")}
    (group,) = ask(client, "dataset:file:/out", group="namespace")["groups"]
    assert (group["datasets"], group["inside"]) == (2, len(plain["edges"]))


def test_no_bridge_against_explicit_lineage(client: Any) -> None:
    entries = [
        {"namespace": "file", "name": f"/o{n}", "type": "DATASET", "inputs": [{"namespace": "file", "name": f"/i{n}", "type": "DATASET"}]}
        for n in (1, 2)
    ]  # fmt: skip
    send(
        client,
        run_event("COMPLETE", 1, "a", ["/i1", "/i2"], ["/o1", "/o2"], job_facets={"lineage": facet(entries=entries)}),
    )
    assert set(edges(ask(client, "job:test:a", type="dataset"))) == {
        ("/i1", "a"),
        ("/i2", "a"),
        ("a", "/o1"),
        ("a", "/o2"),
    }
    send(client, run_event("COMPLETE", 2, "b", ["/o1", "/o2"], ["/end"]))
    shown = ask(client, "dataset:file:/end", type="dataset")
    assert set(edges(shown)) == {("/i1", "/o1"), ("/i2", "/o2"), ("/o1", "/end"), ("/o2", "/end")}


def family(client: Any) -> None:
    """dag > group > two tasks, and a task directly below dag."""
    group = parent(8, "group", root=(9, "dag"))
    send(
        client,
        run_event("START", 9, "dag"),
        run_event("START", 8, "group", run_facets=parent(9, "dag")),
        run_event("COMPLETE", 1, "one", ["/in"], ["/mid"], run_facets=group),
        run_event("COMPLETE", 2, "two", ["/in", "/mid"], ["/out"], run_facets=group),
        run_event("COMPLETE", 3, "three", ["/out"], ["/end"], run_facets=parent(9, "dag")),
    )


def test_children_are_drawn_as_their_parent_or_root(client: Any) -> None:
    family(client)
    nothing = ask(client, "dataset:file:/end", collapse="none")
    assert {"one", "two", "three"} <= names(nothing)
    assert "count" not in nothing["edges"][0]
    one = ask(client, "dataset:file:/end", collapse="parent")
    assert edges(one) == {
        ("/in", "group"): (2, 0), ("group", "/mid"): (1, 0), ("/mid", "group"): (1, 0), ("group", "/out"): (1, 0),
        ("/out", "dag"): (1, 0), ("dag", "/end"): (1, 0),
    }  # fmt: skip
    assert [(c["job"], c["children"]) for c in one["collapsed"]] == [
        ("job:test:dag", ["job:test:three"]), ("job:test:group", ["job:test:one", "job:test:two"]),
    ]  # fmt: skip
    root = ask(client, "dataset:file:/end", collapse="root")
    assert names(root) == {"/in", "/mid", "/out", "/end", "dag"}
    assert sum(count for count, _ in edges(root).values()) == len(nothing["edges"])
    assert next(n for n in root["nodes"] if n["name"] == "dag")["hop"] == -1


def test_inside_a_family_without_its_datasets(client: Any) -> None:
    family(client)
    answer = ask(client, "dataset:file:/end", collapse="root", type="job")
    assert edges(answer) == {("dag", "/end"): (1, 0)}
    assert answer["collapsed"] == [
        {"job": "job:test:dag", "children": ["job:test:one", "job:test:three", "job:test:two"], "inside": 2}
    ]
    assert ask(client, "job:test:two", collapse="root")["root"] == "job:test:dag"


def test_groups(client: Any) -> None:
    owner = facet(owners=[{"name": "team:b"}, {"name": "team:a"}])
    source = facet(name="lake", uri="s3://lake")
    send(
        client,
        run_event(
            "COMPLETE",
            1,
            "a",
            [dataset("s.t", "db", ownership=owner), dataset("s.u", "db")],
            [dataset("/x/y", dataSource=source)],
        ),
        run_event(
            "COMPLETE",
            2,
            "b",
            [dataset("/x/y")],
            [dataset("/x/z", tags=facet(tags=[{"key": "gold"}]))],
            run_facets=parent(9, "p"),
        ),
    )
    by = {
        kind: ask(client, "dataset:file:/x/z", group=kind) for kind in ("namespace", "source", "tag", "owner", "parent")
    }
    for answer in by.values():
        assert answer["nodes"] == answer["column_edges"] == []
        assert sum(e["count"] for e in answer["edges"]) + sum(g["inside"] for g in answer["groups"]) == 5
        assert sum(g["datasets"] + g["jobs"] for g in answer["groups"]) == 6
        assert answer["root"] in {g["id"] for g in answer["groups"]}
    assert {(e["source"], e["target"]): e["count"] for e in by["namespace"]["edges"]} == {
        ("group:namespace:db", "group:namespace:test"): 2,
        ("group:namespace:test", "group:namespace:file"): 2,
        ("group:namespace:file", "group:namespace:test"): 1,
    }
    assert {g["key"] for g in by["source"]["groups"]} == {"db", "lake", "file", "test"}
    assert {g["key"] for g in by["owner"]["groups"]} == {"team:a, team:b", None}
    assert {g["label"] for g in by["tag"]["groups"]} == {"gold", "no tag"}
    assert {g["key"] for g in by["parent"]["groups"]} == {"db:s", "file:/x", "job:test:p", None}
    group = next(g for g in by["namespace"]["groups"] if g["key"] == "file")
    assert (group["datasets"], group["jobs"], group["members"]) == (2, 0, ["dataset:file:/x/z", "dataset:file:/x/y"])


def test_what_people_say_groups_and_filters_too(client: Any, people: Any) -> None:
    chain(client, 1)
    people.put("datasets", "file", "/1", "tags", "gold")
    people.put("jobs", "test", "j1", "owners", "ada")
    people.put("edges", body={"source": "dataset:file:/1", "target": "dataset:dash:sales"})
    assert edges(ask(client, "dataset:file:/0", tag="gold")) == {("/0", "/1"): (1, 1)}
    assert {g["key"] for g in ask(client, "dataset:file:/0", group="owner")["groups"]} == {"ada", None}
    drawn = ask(client, "dataset:file:/1", origin="manual")
    assert {e["origin"] for e in drawn["edges"]} == {"MANUAL"}
    assert {n["id"] for n in drawn["nodes"]} == {
        "dataset:file:/1",
        "job:manual:file:/1 -> dash:sales",
        "dataset:dash:sales",
    }


def test_what_is_inside_a_group_is_capped_and_said(client: Any) -> None:
    send(client, run_event("COMPLETE", 1, "wide", [f"/i{n}" for n in range(70)], [dataset("t", "db")]))
    answer = ask(client, "dataset:db:t", group="namespace")
    group = next(g for g in answer["groups"] if g["key"] == "file")
    assert (group["datasets"], len(group["members"]), group["hidden_members"]) == (70, 50, 20)


def test_as_of(client: Any) -> None:
    send(
        client,
        run_event(
            "COMPLETE", 1, "a", ["/in"], [dataset("/out", tags=facet(tags=[{"key": "old"}]))], at="2026-01-01T00:00:00Z"
        ),
        run_event(
            "COMPLETE", 2, "a", ["/in"], [dataset("/out", tags=facet(tags=[{"key": "new"}]))], at="2026-02-01T00:00:00Z"
        ),
    )
    then = ask(client, "dataset:file:/in", group="tag", as_of="2026-01-15T00:00:00Z")
    assert {g["key"] for g in then["groups"]} == {"old", None}


def test_questions_that_make_no_sense(client: Any) -> None:
    chain(client, 1)
    for wrong in ({"type": "x"}, {"state": "x"}, {"origin": "x"}, {"collapse": "x"}, {"group": "x"}, {"since": "x"}):
        assert client.get("/api/v2/lineage", node="dataset:file:/1", **wrong).status_code == 400, wrong


def test_ad_hoc_jobs_are_hidden_with_what_they_alone_connect(client: Any) -> None:
    def of(kind: str) -> dict[str, Any]:
        return {"headwater_recurrence": facet(**{"class": kind})}

    send(
        client,
        run_event("COMPLETE", 1, "daily", ["/in"], ["/out"], job_facets=of("recurring")),
        run_event("COMPLETE", 2, "look", ["/out"], ["/copy"], job_facets=of("ad_hoc")),
        run_event("COMPLETE", 3, "again", ["/copy"], ["/far"], job_facets=of("recurring")),
        run_event("COMPLETE", 4, "once", ["/in"], ["/out"], job_facets=of("one_off")),
    )
    answer = ask(client, "dataset:file:/out", hide="ad_hoc")
    assert names(answer) == {"/in", "daily", "once", "/out"}
    # No bridge: what it connected is not connected.
    assert answer["filtered"] == {"nodes": 4, "edges": 2, "column_edges": 0, "cut": False}
    assert names(ask(client, "dataset:file:/out", hide=["AD_HOC", "one_off"])) == {"/in", "daily", "/out"}
    # The start is always shown.
    assert names(ask(client, "job:test:look", hide="ad_hoc")) >= {"look", "/out", "/copy"}
    assert client.get("/api/v2/lineage", node="dataset:file:/out", hide="boring").status_code == 400


def test_one_moment_of_the_database_answers(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """An event that arrives while the server computes a view is in no part of that view."""
    chain(client, 3)
    opened: list[str] = []
    snapshot = Database.snapshot

    def counted(self: Database, **options: Any) -> Any:
        opened.append("snapshot")
        return snapshot(self, **options)

    monkeypatch.setattr(Database, "snapshot", counted)
    ask(client, "dataset:file:/3", type="dataset", collapse="parent")
    assert opened == ["snapshot"]


def fan(client: Any, readers: int) -> None:
    """A table that many jobs read, each of which writes one of its own, and two of them one together."""
    send(
        client,
        run_event("COMPLETE", 1, "load", ["/raw"], ["/hub"]),
        *(
            run_event("COMPLETE", 10 + i, f"read_{i}", ["/hub"], [f"/out_{i}", *(["/both"] if i < 2 else [])])
            for i in range(readers)
        ),
    )


def test_many_alike_are_one_bundle_and_nothing_is_lost(client: Any) -> None:
    fan(client, 6)
    whole = ask(client, "dataset:file:/hub")
    bundled = ask(client, "dataset:file:/hub", bundle=3)
    assert names(bundled) == {"/raw", "load", "/hub", "/both"}
    jobs, outs = sorted(bundled["bundles"], key=lambda one: str(one["kind"]), reverse=True)
    assert (jobs["kind"], jobs["label"], jobs["count"], jobs["hop"]) == ("JOB", "read_…", 6, 1)
    assert (outs["kind"], outs["label"], outs["count"], outs["hop"]) == ("DATASET", "/out_…", 6, 1)
    shown = {n["id"] for n in bundled["nodes"]} | {*jobs["members"], *outs["members"]}
    assert shown == {n["id"] for n in whole["nodes"]}
    assert sum(e.get("count", 1) for e in bundled["edges"]) == len(whole["edges"])
    drawn = {(e["source"], e["target"]): e["count"] for e in bundled["edges"] if "count" in e}
    assert drawn == {
        ("dataset:file:/hub", jobs["id"]): 6,
        (jobs["id"], outs["id"]): 6,
        (jobs["id"], "dataset:file:/both"): 2,
    }
    assert bundled["hidden"] == whole["hidden"]


def test_a_bundle_that_is_opened_shows_its_members_and_keeps_what_is_beyond(client: Any) -> None:
    fan(client, 6)
    jobs = next(one for one in ask(client, "dataset:file:/hub", bundle=3)["bundles"] if one["kind"] == "JOB")
    opened = ask(client, "dataset:file:/hub", bundle=3, opened=[jobs["id"]])
    assert {f"read_{i}" for i in range(6)} < names(opened)
    assert {(one["kind"], one["is_open"], one["count"]) for one in opened["bundles"]} == {
        ("JOB", True, 6),
        ("DATASET", False, 6),
    }
    # It keeps its id when another reader comes.
    fan(client, 7)
    again = ask(client, "dataset:file:/hub", bundle=3, opened=[jobs["id"]])
    assert next(one for one in again["bundles"] if one["kind"] == "JOB")["is_open"]


def test_a_bundle_counts_what_lies_beyond_its_members(client: Any) -> None:
    fan(client, 6)
    near = ask(client, "dataset:file:/raw", depth=1)
    assert near["bundles"] == []
    far = ask(client, "dataset:file:/both", depth=1, bundle=1)
    (jobs,) = far["bundles"]
    assert (jobs["count"], jobs["hidden_upstream"], jobs["hidden_downstream"]) == (2, 0, 0)
    # The limit of nodes is for those that are drawn.
    few = ask(client, "dataset:file:/hub", bundle=3, max_nodes=4)
    assert few["hidden"]["nodes"] == 0
    assert len(few["nodes"]) == 4


def test_a_bundle_is_refused_beside_a_filter(client: Any) -> None:
    fan(client, 2)
    assert client.get("/api/v2/lineage", node="dataset:file:/hub", bundle=3, group="namespace").status_code == 400
