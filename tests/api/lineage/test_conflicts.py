"""Conflicts between claims about lineage."""

from typing import Any

from tests.api.lineage.test_lineage import send
from tests.events import RUN, columns, dataset, facet, parent, run_event


def ask(client: Any, **question: Any) -> dict[str, Any]:
    reply = client.get("/api/v2/conflicts", **question)
    assert reply.status_code == 200, reply.text
    return dict(reply.json())


def kinds(answer: dict[str, Any]) -> set[tuple[str, str, str]]:
    return {(c["kind"], c["source"].rsplit(":", 1)[1], c["target"].rsplit(":", 1)[1]) for c in answer["conflicts"]}


def job_event(job: str, inputs: list[Any], outputs: list[Any], at: str = "2026-01-01T00:00:00Z") -> dict[str, Any]:
    return {
        "eventTime": at,
        "producer": "https://example.test",
        "job": {"namespace": "test", "name": job},
        "inputs": [dataset(i) for i in inputs],
        "outputs": [dataset(o) for o in outputs],
    }


def test_a_declaration_and_what_was_seen(client: Any) -> None:
    send(
        client,
        job_event("a", ["/plan"], ["/out"]),
        run_event("COMPLETE", 1, "a", ["/seen"], ["/out"], at="2026-01-02T00:00:00Z"),
    )
    answer = ask(client, node="job:test:a")
    assert kinds(answer) == {("declared_not_observed", "/plan", "a"), ("observed_not_declared", "/seen", "a")}
    first = answer["conflicts"][0]
    assert first["job"] == "job:test:a"
    assert first["claims"] == [
        {"origin": "OBSERVED", "says": "MISSING", "at": "2026-01-02T00:00:00Z", "run_id": RUN.format(1)},
        {"origin": "JOB_EVENT", "says": "CLAIMS", "at": "2026-01-01T00:00:00Z", "run_id": None},
    ]
    # Seen from a dataset: only what is about it.
    assert kinds(ask(client, node="dataset:file:/seen")) == {("observed_not_declared", "/seen", "a")}
    assert kinds(ask(client, node="dataset:file:/out")) == set()
    # The next declaration replaces the earlier, and they agree.
    send(client, job_event("a", ["/seen"], ["/out"], at="2026-01-03T00:00:00Z"))
    assert kinds(ask(client, node="job:test:a")) == set()
    then = ask(client, node="job:test:a", as_of="2026-01-02T12:00:00Z")
    assert len(then["conflicts"]) == 2


def test_old_runs_have_no_say(client: Any) -> None:
    send(client, job_event("a", ["/in"], ["/out"]), run_event("COMPLETE", 99, "a", ["/odd"], ["/out"]))
    assert kinds(ask(client)) == {("declared_not_observed", "/in", "a"), ("observed_not_declared", "/odd", "a")}
    send(
        client,
        *(run_event("COMPLETE", n, "a", ["/in"], ["/out"], at=f"2026-02-{n:02}T00:00:00Z") for n in range(1, 11)),
    )
    assert kinds(ask(client)) == set()


def test_columns_against_inputs(client: Any) -> None:
    out = dataset("/out", **columns({"x": [("/in", "a", "DIRECT:IDENTITY"), ("/unread", "b", "DIRECT:IDENTITY")]}))
    send(client, run_event("COMPLETE", 1, "a", ["/in", "/lookup"], [out]))
    assert kinds(ask(client)) == {("evidence_not_observed", "/unread", "a"), ("not_in_columns", "/lookup", "/out")}
    assert kinds(ask(client, kind="not_in_columns")) == {("not_in_columns", "/lookup", "/out")}


def test_explicit_lineage_denies(client: Any) -> None:
    entries = [
        {
            "namespace": "file",
            "name": "/out",
            "type": "DATASET",
            "inputs": [{"namespace": "file", "name": "/in", "type": "DATASET"}],
        }
    ]
    out = dataset("/out", **columns({"x": [("/other", "a", "DIRECT:IDENTITY")]}))
    send(
        client,
        run_event(
            "COMPLETE", 1, "a", ["/in", "/other", "/third"], [out], job_facets={"lineage": facet(entries=entries)}
        ),
    )
    assert kinds(ask(client)) == {
        ("columns_against_explicit", "/other", "/out"),
        ("denied_by_explicit", "/third", "/out"),
        ("not_in_columns", "/in", "/out"),
    }


def test_a_package_and_its_children(client: Any) -> None:
    declared = [dataset(name, headwater_declared=facet(name=name)) for name in ("/in", "/never", "/out")]
    send(
        client,
        run_event("START", 1, "p", declared[:2], declared[2:]),
        run_event("COMPLETE", 2, "p.a", ["/in", "/extra"], ["/tmp"], run_facets=parent(1, "p")),
        run_event("COMPLETE", 3, "p.b", ["/tmp"], ["/out"], run_facets=parent(1, "p")),
    )
    assert kinds(ask(client)) == {("declared_not_observed", "/never", "p"), ("observed_not_declared", "/extra", "p")}


def test_an_edge_that_a_person_drew_and_no_run_was_seen_doing(client: Any, people: Any) -> None:
    send(client, run_event("COMPLETE", 1, "a", ["/in"], ["/out"]), run_event("COMPLETE", 2, "b", ["/drawn"], []))
    people.put("edges", body={"source": "dataset:file:/drawn", "target": "job:test:a"})
    people.put("edges", body={"source": "dataset:file:/in", "target": "job:test:a"})
    answer = ask(client, node="job:test:a")
    assert kinds(answer) == {("manual_not_observed", "/drawn", "a")}
    assert [(c["origin"], c["says"]) for c in answer["conflicts"][0]["claims"]] == [
        ("OBSERVED", "MISSING"),
        ("MANUAL", "CLAIMS"),
    ]
    assert kinds(ask(client, node="dataset:file:/drawn")) == {("manual_not_observed", "/drawn", "a")}
    assert ask(client, node="job:test:a", as_of="2026-01-02T00:00:00Z")["conflicts"] == []


def test_page_by_page(client: Any) -> None:
    for n in range(7):
        send(client, job_event(f"j{n}", [f"/plan{n}"], ["/out"]), run_event("COMPLETE", n, f"j{n}", [], ["/out"]))
    send(client, run_event("COMPLETE", 50, "fine", ["/a"], ["/b"]))
    found, after, pages = set(), None, 0
    while True:
        answer = ask(client, limit=3, after=after)
        assert len(answer["conflicts"]) <= 3
        assert not found & kinds(answer)
        found |= kinds(answer)
        pages += 1
        if (after := answer["next"]) is None:
            break
    assert found == {("declared_not_observed", f"/plan{n}", f"j{n}") for n in range(7)}
    assert pages == 3
    assert ask(client, namespace="test")["jobs_checked"] == 8
    assert ask(client, namespace="nowhere") | {"as_of": ""} == {
        "as_of": "", "conflicts": [], "jobs_checked": 0, "hidden": 0, "next": None,
    }  # fmt: skip


def test_too_many_of_one_job_are_counted(client: Any) -> None:
    send(client, job_event("a", [f"/i{n}" for n in range(250)], ["/out"]), run_event("COMPLETE", 1, "a", [], ["/out"]))
    answer = ask(client)
    assert (len(answer["conflicts"]), answer["hidden"]) == (200, 50)


def test_statements_do_not_grow_with_the_number_of_jobs(client: Any, statements: Any) -> None:
    counts = []
    for first, last in ((0, 2), (2, 40)):
        for n in range(first, last):
            send(client, job_event(f"j{n}", [f"/p{n}"], ["/o"]), run_event("COMPLETE", n, f"j{n}", [], ["/o"]))
        with statements() as counted:
            assert len(ask(client)["conflicts"]) == last
        counts.append(len(counted))
    assert counts[0] == counts[1]


def test_questions_that_make_no_sense(client: Any) -> None:
    send(client, run_event("COMPLETE", 1, "a", ["/in"], ["/out"]))
    for wrong in ({"kind": "x"}, {"limit": 0}, {"after": "x"}, {"node": "job:test:a", "namespace": "test"}):
        assert client.get("/api/v2/conflicts", **wrong).status_code == 400, wrong
    assert client.get("/api/v2/conflicts", node="job:test:no").status_code == 404
    assert client.get("/api/v2/conflicts", node="job:test:a", as_of="2020-01-01T00:00:00Z").status_code == 404
