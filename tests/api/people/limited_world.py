"""A server of two teams, whose one team must not learn of the other's: what is planted has unmistakable names."""

import datetime as dt
from typing import Any

from tests.events import RUN, columns, dataset, encoded, facet, parent, run_event, schema

from headwater.model.names import DatasetName, JobName
from headwater.model.version import dataset_id, job_id

MINE, THEIRS = "team-a", "zq7ns"
PLANTED = "zq7"
"""A part of every name, owner, column, text and address of the other team, and of nothing else."""

HIDDEN_DATASETS = ("zq7raw", "zq7mart", "zq7alias")
HIDDEN_JOBS = ("zq7load", "zq7mix", "zq7dag")
HIDDEN_RUNS = tuple(RUN.format(number) for number in (11, 12, 13, 14, 15))
IDS = (
    *(str(dataset_id(DatasetName(THEIRS, name))) for name in HIDDEN_DATASETS),
    *(str(job_id(JobName("zq7jobs", name))) for name in HIDDEN_JOBS),
    *HIDDEN_RUNS,
)
_SQL = "insert into zq7mart select zq7col, mine from zq7raw join orders"


def _theirs(name: str, **more: Any) -> dict[str, Any]:
    facets = {
        **schema("zq7col", "zq7pii"),
        "ownership": facet(owners=[{"name": "zq7owner", "type": "OWNER"}]),
        "documentation": facet(description="zq7 words about it"),
        "dataSource": facet(name="zq7source", uri="zq7://source"),
        "tags": facet(tags=[{"key": "zq7tag", "value": "true", "source": "X"}]),
        **more,
    }
    return dataset(name, THEIRS, **facets)


def _column_lineage(target: str) -> dict[str, Any]:
    told = columns({target: [("zq7raw", "zq7col", "DIRECT:IDENTITY")]})
    told["columnLineage"]["fields"][target]["inputFields"][0]["namespace"] = THEIRS
    return told


def _mine(name: str, **more: Any) -> dict[str, Any]:
    return dataset(name, MINE, **schema("mine", "amount"), ownership=facet(owners=[{"name": "ana"}]), **more)


def events() -> list[bytes]:
    """The first team's job; the other team's; one that mixes both; and what producers say of hidden things in facets of visible ones."""
    told = []
    for number, at in ((1, "2026-11-27T00:00:00Z"), (2, "2026-11-28T00:00:00Z")):
        told += [
            run_event("START", number, "load", [_mine("orders")], [], at=at, namespace="jobs-a"),
            run_event(
                "COMPLETE", number, "load", [_mine("orders")], [_mine("clean")], at=at.replace("00:00Z", "05:00Z"), namespace="jobs-a",
                job_facets={"sql": facet(query="insert into clean select mine from orders")},
            ),
        ]  # fmt: skip
    sql = {"sql": facet(query=_SQL)}
    wrong = {"errorMessage": facet(message="zq7 failed", programmingLanguage="SQL", stackTrace="at zq7.line")}
    hidden = {
        "symlinks": facet(identifiers=[{"namespace": THEIRS, "name": "zq7alias", "type": "TABLE"}]),
        "lifecycleStateChange": facet(lifecycleStateChange="RENAME", previousIdentifier={"namespace": THEIRS, "name": "zq7old"}),
    }  # fmt: skip
    told += [
        run_event("COMPLETE", 11, "zq7load", [], [_theirs("zq7raw", **hidden)], at="2026-11-27T01:00:00Z", namespace="zq7jobs", job_facets=sql,
                  run_facets=parent(13, "zq7dag", "zq7jobs")),
        run_event("FAIL", 12, "zq7load", [], [_theirs("zq7raw")], at="2026-11-28T01:00:00Z", namespace="zq7jobs", run_facets=wrong, job_facets=sql),
        run_event("COMPLETE", 14, "zq7mix", [_theirs("zq7raw"), _mine("orders")], [_theirs("zq7mart"), _mine("mixed", **_column_lineage("mine"))],
                  at="2026-11-28T02:00:00Z", namespace="zq7jobs", job_facets=sql,
                  run_facets={**parent(13, "zq7dag", "zq7jobs"), "tags": facet(tags=[{"key": "zq7label", "value": "zq7"}])}),
        # A job whose every dataset is visible, and whose facets name others.
        run_event("COMPLETE", 3, "gossip", [_mine("clean")], [_mine("report", zq7_custom=facet(about="zq7raw"))], at="2026-11-28T03:00:00Z",
                  namespace="jobs-a", job_facets={"sql": facet(query="select 1 -- zq7raw"), "zq7_more": facet(text="zq7")},
                  run_facets={"errorMessage": facet(message="zq7raw is not there", programmingLanguage="SQL"), "zq7_run": facet(text="zq7")}),
        # Column lineage from a dataset that is not among the inputs.
        run_event("COMPLETE", 4, "sly", [_mine("clean")], [_mine("slid", **_column_lineage("amount"))], at="2026-11-28T04:00:00Z", namespace="jobs-a"),
        # A job that reads nothing by its own account, and explicit lineage that says where its data is from.
        run_event("COMPLETE", 5, "pulled", [], [_mine("pulled")], at="2026-11-28T04:30:00Z", namespace="jobs-a",
                  job_facets={"lineage": facet(inputs=[{"namespace": THEIRS, "name": "zq7raw", "type": "DATASET"}])}),
        # A job of theirs that fails, one of ours that fails because of it, and one that fails by itself.
        run_event("FAIL", 15, "zq7mix", [_theirs("zq7raw")], [_mine("mixed")], at=_ago(20), namespace="zq7jobs", run_facets=wrong),
        run_event("FAIL", 6, "after", [_mine("mixed")], [_mine("late")], at=_ago(15), namespace="jobs-a", run_facets=wrong),
        run_event("FAIL", 7, "broken", [_mine("report")], [_mine("unmade")], at=_ago(10), namespace="jobs-a", run_facets=wrong),
    ]  # fmt: skip
    return [encoded(event) for event in told]


def _ago(minutes: int) -> str:
    return (dt.datetime.now(dt.UTC) - dt.timedelta(minutes=minutes)).isoformat()


RULES = """\
rules:
  - name: zq7rule
    when: failed
    to: zq7@example.test
    settle: 0
"""

ENTITIES = """\
entity: order_days
period: {every: day, from: 2026-11-20}
stored_in: {namespace: team-a, name: orders}
---
entity: clean_days
period: {every: day, from: 2026-11-20}
stored_in: {namespace: team-a, name: clean}
produced_by: [{job: jobs-a/load}, {job: zq7jobs/zq7load}]
depends_on: {zq7days: same, order_days: same}
---
entity: report_days
period: {every: day, from: 2026-11-20}
produced_by: {job: jobs-a/gossip}
depends_on: [{any_of: [zq7days: same, clean_days: same]}]
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

_PRODUCED = (
    ("zq7days", RUN.format(11)),
    ("order_days", ""),
    ("clean_days", RUN.format(12)),
    ("report_days", RUN.format(3)),
    ("zq7report", RUN.format(14)),
)
_VERDICTS: tuple[dict[str, Any], ...] = (
    {"reason": "zq7 broke", "wrong": [{"entity": "zq7days", "instances": ["2026-11-22"]}]},
    {"reason": "orders broke", "wrong": [{"entity": "order_days", "instances": ["2026-11-23"]}]},
    {"reason": "zq7 report broke", "wrong": [{"entity": "zq7report", "instances": ["2026-11-21"]}]},
    {"reason": "zq7 run broke", "origins": [{"kind": "RUN", "ref": RUN.format(14)}, {"kind": "RUN", "ref": RUN.format(2)}]},
)  # fmt: skip


def plant(server: Any, key: str) -> None:
    """Send it all, and let people describe both sides."""
    for body in events():
        answer = server.post("/api/v1/lineage", key, content=body)
        assert answer.status_code in {200, 201}, answer.text
    hidden = f"/api/v2/metadata/datasets/{THEIRS}/zq7raw"
    for path, body in (
        (f"/api/v2/metadata/datasets/{MINE}/clean/tags/team", {"value": "a"}),
        (f"{hidden}/tags/team", {"value": "zq7b"}),
        (f"{hidden}/tags/zq7people", {}),
        (f"{hidden}/description", {"text": "zq7 in words"}),
        (f"{hidden}/owners/zq7person", {}),
        ("/api/v2/views/zq7view", {"address": f"dataset/dataset:{THEIRS}:zq7raw", "shared": True}),
        ("/api/v2/rules", {"files": [{"name": "zq7.yaml", "text": RULES}]}),
    ):
        answer = server.ask("PUT", path, key, json=body)
        assert answer.status_code < 300, (path, answer.text)
    _plant_instances(server, key)


def _plant_instances(server: Any, key: str) -> None:
    """Declare entities of both teams; report their instances; call some of them wrong; plan what makes all right again."""

    def send(path: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = server.post(path, key, json=body)
        assert answer.status_code < 300, (path, answer.text)
        return dict(answer.json())

    send("/api/v2/entities", {"files": [{"name": "zq7.yaml", "text": ENTITIES}]})
    days = ["2026-11-21..2026-11-26"]
    reports = [
        {"entity": entity, "what": "produced", "instances": days, "reason": "zq7 words", "storage": {"at": "zq7://place"},
         "code": "zq7code", **({"ref": run} if run else {})}
        for entity, run in _PRODUCED
    ]  # fmt: skip
    reports.append({"entity": "clean_days", "what": "started", "instances": ["2026-11-27"], "ref": RUN.format(15)})
    results = send("/api/v2/instances", {"reports": reports})["results"]
    assert all(each["seq"] for each in results), results
    for verdict in _VERDICTS:
        send("/api/v2/incidents", verdict)
    send("/api/v2/plans", {"reason": "zq7 plan"})
    send("/api/v2/plan-workers", {"worker": "zq7worker", "expires_seconds": 3600})
