"""Datasets that may be deleted, in a safe order."""

import json
from typing import Any

import pytest
from tests.api.alerts.test_alert_messages import BY
from tests.api.usage.measures import N, ask, dataset, job, refused, send
from tests.events import RUN, facet, run_event
from tests.fixtures.people import People

from headwater.entities.alerts.rules import RuleFile
from headwater.intake.alerts import rules
from headwater.store.database import Database

PATH = "/api/v2/pruning"


def told(client: Any) -> None:
    send(
        client,
        dataset("report", pruning={"wave": 1, "reason": "it has no readers", "money_month": 2.0, "evidence": "last read 2026-01-01", "confidence": 0.9},
                usage={"writes": 30, "reads": 1, "last_read_at": "2026-01-01T00:00:00Z", "status": "stale"}),
        dataset("mart", pruning={"wave": 2, "reason": "only feeds report", "money_month": 5.0, "confidence": 0.8}),
        dataset("loose", pruning={"wave": 1, "reason": "it has no readers", "confidence": 0.3}),
        dataset("old", namespace="bigquery", pruning={"wave": 1, "money_month": 0.5, "confidence": 0.95}),
        dataset("used", usage={"reads": 5, "status": "active"}),
    )  # fmt: skip


def names(client: Any, **question: Any) -> list[str]:
    return [one["name"] for one in ask(client, PATH, **question)["datasets"]]


def test_the_safe_order_and_what_it_saves(client: Any) -> None:
    told(client)
    found = ask(client, PATH)
    assert [(one["wave"], one["name"]) for one in found["datasets"]] == [
        (1, "report"),
        (1, "old"),
        (1, "loose"),
        (2, "mart"),
    ]
    assert found["datasets"][0] == {
        "id": f"dataset:{N}:report", "namespace": N, "name": "report", "label": "report", "wave": 1, "reason": "it has no readers", "money_month": 2.0,
        "money_once": None, "vouches_days": None, "evidence": "last read 2026-01-01", "confidence": 0.9, "reads": 1, "writes": 30, "last_read_at": "2026-01-01T00:00:00Z",
        "last_read_by_person_at": None, "last_written_at": None, "measured_at": "2026-11-21T06:00:00Z",
    }  # fmt: skip
    assert found["waves"] == [
        {"wave": 1, "datasets": 3, "money_month": 2.5, "so_far": 2.5},
        {"wave": 2, "datasets": 1, "money_month": 5.0, "so_far": 7.5},
    ]
    assert (found["total"], found["money_month"]) == (4, 7.5)


@pytest.mark.parametrize(
    ("evidence", "once", "vouches"),
    [
        ('{"money_once": 0.9, "writes": 3, "vouches_days": 28}', 0.9, 28),
        ('{"money_once": "0.9"}', 0.9, None),
        ('{"writes": 3}', None, None),
        ("[1]", None, None),
        ('{"money_once": {}}', None, None),
    ],
)
def test_what_ran_once_and_what_the_log_vouches_for(
    client: Any, evidence: str, once: float | None, vouches: int | None
) -> None:
    send(client, dataset("dead", pruning={"wave": 1, "reason": "unread", "money_month": 2.0, "evidence": evidence}))
    [found] = ask(client, PATH)["datasets"]
    assert (found["money_once"], found["money_month"], found["evidence"]) == (once, 2.0, evidence)
    assert found["vouches_days"] == vouches


def test_filters_and_order(client: Any) -> None:
    told(client)
    assert names(client, sort="money_month") == ["mart", "report", "old", "loose"]
    assert names(client, sort="confidence") == ["old", "report", "mart", "loose"]
    assert names(client, sort="last_read")[0] == "report"
    assert names(client, order="desc")[0] == "mart"
    assert names(client, last_wave=1, namespace=N) == ["report", "loose"]
    sure = ask(client, PATH, min_confidence=0.8, limit=1, offset=1)
    assert ([one["name"] for one in sure["datasets"]], sure["total"], sure["money_month"]) == (["old"], 3, 7.5)
    assert ask(client, PATH, namespace="nowhere") == {
        "measured_at": None,
        "total": 0,
        "money_month": None,
        "waves": [],
        "datasets": [],
        "blocked_total": 0,
        "blocked": [],
    }
    assert "from 0 to 1" in refused(client, PATH, min_confidence=2)
    assert "sort" in refused(client, PATH, sort="reads")


def test_what_is_used_under_another_name_stays(client: Any) -> None:
    told(client)
    links = facet(identifiers=[{"namespace": N, "name": "used", "type": "TABLE"}])
    send(
        client,
        {
            "eventTime": "2026-11-21T07:00:00Z",
            "producer": "p",
            "dataset": {"namespace": N, "name": "loose", "facets": {"symlinks": links}},
        },
    )
    found = ask(client, PATH)
    assert [one["name"] for one in found["datasets"]] == ["report", "old", "mart"]
    assert found["waves"][0]["datasets"] == 2


def test_two_names_that_may_both_go_are_one_in_the_later_wave(client: Any) -> None:
    told(client)
    links = facet(identifiers=[{"namespace": N, "name": "mart", "type": "TABLE"}])
    send(
        client,
        {
            "eventTime": "2026-11-21T07:00:00Z",
            "producer": "p",
            "dataset": {"namespace": N, "name": "report", "facets": {"symlinks": links}},
        },
    )
    found = ask(client, PATH)
    both = [one for one in found["datasets"] if one["name"] in {"mart", "report"}]
    assert [(one["wave"], one["money_month"], one["confidence"], one["reason"]) for one in both] == [
        (2, 7.0, 0.8, "only feeds report")
    ]
    assert [(one["wave"], one["datasets"], one["money_month"]) for one in found["waves"]] == [(1, 2, 0.5), (2, 1, 7.0)]


# -- what the log does not show --


def test_what_another_producer_reads_stays_with_all_that_feeds_it(client: Any) -> None:
    told(client)
    make = run_event("COMPLETE", 1, "SELECT mart 1", [{"namespace": N, "name": "mart"}], [{"namespace": N, "name": "report"}], namespace=N, at="2026-11-19T06:00:00Z")  # fmt: skip
    send(client, make, job("SELECT mart 1", queries={"executions": 3}))
    assert {one["name"] for one in ask(client, PATH)["datasets"]} == {"report", "old", "loose", "mart"}
    send(
        client,
        run_event("COMPLETE", 2, "export_report", [{"namespace": N, "name": "report"}], [], at="2026-11-20T06:00:00Z"),
    )
    found = ask(client, PATH)
    assert [one["name"] for one in found["datasets"]] == ["old", "loose"]
    assert (found["total"], found["money_month"], found["blocked_total"]) == (2, 0.5, 2)
    mart, report = found["blocked"]
    assert report["uses"] == [{"kind": "job", "by": "job:test:export_report", "last_used_at": "2026-11-20T06:00:00Z"}]
    assert mart["uses"] == [{"kind": "feeds", "by": f"dataset:{N}:report", "last_used_at": "2026-11-20T06:00:00Z"}]
    assert ask(client, PATH, namespace="bigquery")["blocked"] == []


def test_a_job_that_reads_it_no_more_blocks_nothing(client: Any) -> None:
    told(client)
    send(client, run_event("COMPLETE", 1, "export", [{"namespace": N, "name": "loose"}], [], at="2026-11-19T06:00:00Z"))
    assert "loose" not in names(client)
    send(client, run_event("COMPLETE", 2, "export", [{"namespace": N, "name": "used"}], [], at="2026-11-20T06:00:00Z"))
    send(client, run_event("COMPLETE", 3, "export", [{"namespace": N, "name": "used"}], [], at="2026-11-21T06:00:00Z"))
    send(client, run_event("COMPLETE", 4, "export", [{"namespace": N, "name": "used"}], [], at="2026-11-22T06:00:00Z"))
    assert "loose" in names(client)


def test_tasks_whose_statements_the_log_shows_were_judged_by_it(client: Any) -> None:
    """A model reads in order to write; the log saw the statement."""
    told(client)
    parent = {"parent": facet(run={"runId": RUN.format(2)}, job={"namespace": "test", "name": "model.shop.report"})}
    shape = run_event("COMPLETE", 1, "SELECT mart 1", [{"namespace": N, "name": "mart"}], [{"namespace": N, "name": "report"}], namespace=N, run_facets=parent)  # fmt: skip
    model = run_event(
        "COMPLETE", 2, "model.shop.report", [{"namespace": N, "name": "mart"}], [{"namespace": N, "name": "report"}]
    )
    send(client, shape, model, job("SELECT mart 1", queries={"executions": 3}))
    assert ask(client, PATH)["blocked"] == []


def test_what_people_say_blocks(client: Any, people: People) -> None:
    told(client)
    people.put("edges", body={"source": f"dataset:{N}:report", "target": "dataset:dash:sales"})
    people.put("datasets", N, "loose", "tags", "Keep")
    found = ask(client, PATH)
    assert [one["name"] for one in found["datasets"]] == ["old", "mart"]
    uses = {one["name"]: [(use["kind"], use["by"]) for use in one["uses"]] for one in found["blocked"]}
    assert uses == {
        "report": [("person", f"job:manual:{N}:report -> dash:sales")],
        "loose": [("mark", "Keep")],
    }
    people.delete("edges", source=f"dataset:{N}:report", target="dataset:dash:sales")
    people.delete("datasets", N, "loose", "tags", "keep")
    assert ask(client, PATH)["blocked_total"] == 0


def test_an_entity_that_is_stored_in_it_blocks(client: Any) -> None:
    told(client)
    text = f"entity: reports\nperiod: {{every: day, from: 2026-01-01}}\nstored_in: {N} report\n"
    reply = client.post(
        "/api/v2/entities",
        json.dumps({"files": [{"name": "e.yaml", "text": text}]}).encode(),
        content_type="application/json",
    )
    assert reply.status_code < 300, reply.text
    (blocked,) = ask(client, PATH)["blocked"]
    assert (blocked["name"], [(use["kind"], use["by"]) for use in blocked["uses"]]) == (
        "report",
        [("entity", "reports")],
    )


def test_an_sla_that_covers_it_and_a_rule_that_names_it_block(client: Any, database: Database, run: Any) -> None:
    told(client)
    text = """
rules:
  - {name: all of it, when: late, of: "namespace:*", by: "12:00", to: o@p.q}
  - {name: the mart, when: failed, of: mart, to: o@p.q}
slas:
  - {name: reports by eight, of: report, except: loose, by: "08:00"}
"""
    run(rules.apply_rules(database, [RuleFile("a.yaml", text)], by=BY))
    found = ask(client, PATH)
    assert {one["name"] for one in found["datasets"]} == {"old", "loose"}
    uses = {one["name"]: [(use["kind"], use["by"]) for use in one["uses"]] for one in found["blocked"]}
    assert uses == {"report": [("sla", "reports by eight")], "mart": [("rule", "the mart")]}


def test_a_use_under_another_name_blocks(client: Any) -> None:
    told(client)
    links = facet(identifiers=[{"namespace": "hive", "name": "db.loose", "type": "TABLE"}])
    alias = {"eventTime": "2026-11-21T07:00:00Z", "producer": "p", "dataset": {"namespace": N, "name": "loose", "facets": {"symlinks": links}}}  # fmt: skip
    send(client, alias, run_event("COMPLETE", 1, "spark", [{"namespace": "hive", "name": "db.loose"}], []))
    (blocked,) = ask(client, PATH)["blocked"]
    assert (blocked["uses"][0]["by"], blocked["uses"][0]["kind"]) == ("job:test:spark", "job")
    assert len(names(client)) == 3


def test_the_parent_of_a_table_that_stays_blocks_by_its_foreign_key(client: Any) -> None:
    told(client)
    for parent, child in (("mart", "orders"), ("loose", "mart"), ("report", "report")):
        refer(client, parent, child)
    found = ask(client, PATH)
    assert [one["name"] for one in found["datasets"]] == ["report", "old"]
    uses = {one["name"]: [(use["kind"], use["by"]) for use in one["uses"]] for one in found["blocked"]}
    assert uses == {"mart": [("key", f"dataset:{N}:orders")], "loose": [("feeds", f"dataset:{N}:mart")]}


def test_a_foreign_key_of_a_table_that_goes_too_blocks_nothing(client: Any) -> None:
    told(client)
    refer(client, "loose", "report")
    assert ask(client, PATH)["blocked"] == []


def refer(client: Any, parent: str, child: str) -> None:
    keys = facet(referencedBy=[{"table": child, "columns": ["a"], "keys": ["id"]}])
    send(
        client,
        {
            "eventTime": "2026-11-21T07:00:00Z",
            "producer": "p",
            "dataset": {"namespace": N, "name": parent, "facets": {"headwater_references": keys}},
        },
    )
