"""Applied policies are checked as events arrive: a violation is an incident with its evidence, is told, and ends when it is no more."""

import datetime as dt
import json
from typing import Any

from tests.api.alerts.test_alert_messages import BY, Server, execute
from tests.events import dataset, encoded, facet, run_event, schema
from tests.mailbox import mailbox

from headwater.entities.alerts.rules import RuleFile
from headwater.intake.alerts import rules
from headwater.intake.events.accept import Intake
from headwater.store.database import Database

NOW = dt.datetime.now(dt.UTC)
POLICIES = """
policies:
  - name: no personal data in marketing
    tag: pii
    never_in: marketing.*
  - name: gold reads no raw
    datasets: gold.*
    never_reads: raw.*
    except:
      - {dataset: gold.once, until: 2020-01-31, reason: form 12}
"""


def put(client: Any, text: str) -> Any:
    body = json.dumps({"files": [{"name": "policies.yaml", "text": text}]}).encode()
    return client._run(
        client._http.put("/api/v2/privacy/policies", content=body, headers={"content-type": "application/json"})
    )


def load(
    database: Database,
    run: Any,
    job: str,
    source: str,
    target: str,
    number: int,
    *,
    tagged: bool = False,
    hours: int = 1,
) -> None:
    facets: dict[str, Any] = schema("email")
    if tagged:
        facets["tags"] = facet(tags=[{"key": "pii", "value": "true", "field": "email"}])
    lineage = facet(fields={"email": {"inputFields": [{"namespace": "db", "name": source, "field": "email"}]}})
    out = dataset(
        target, "db", **schema("email"), columnLineage=lineage, ownership=facet(owners=[{"name": "ana@example.com"}])
    )
    at = (NOW - dt.timedelta(hours=hours)).isoformat()
    event = run_event("COMPLETE", number, job, [dataset(source, "db", **facets)], [out], at=at)
    run(Intake(database).accept(encoded(event)))


def broken(client: Any) -> list[tuple[str, str]]:
    found = client.get("/api/v2/open-incidents", kind="policy").json()["incidents"]
    return sorted((one["label"], one["text"]) for one in found)


def test_a_violation_is_an_incident_with_its_path_and_is_told(client: Any, database: Database, run: Any) -> None:
    reply = put(client, POLICIES)
    assert reply.status_code == 200, reply.text
    assert reply.json()["version"]
    text = "rules:\n  - {name: policies, when: policy broken, to: owner, settle: 0}\n"
    run(rules.apply_rules(database, [RuleFile("alerts.yaml", text)], by=BY))
    run(execute(database, "update applied_rules set applied_at = applied_at - interval '1 hour'"))
    with mailbox() as mail:
        server = Server(database, run, mail.url)
        load(database, run, "copy", "shop.customers", "lake.copy", 1, tagged=True)
        server.look()
        assert broken(client) == []
        load(database, run, "mail", "lake.copy", "marketing.letters", 2)
        load(database, run, "shortcut", "raw.orders", "gold.once", 3)
        assert server.look() == 2
        (private, expired) = broken(client)
        assert expired[0] == "once"
        assert "form 12" in expired[1]
        assert private == (
            "letters",
            "email: no personal data in marketing: shop.customers#email → copy → lake.copy#email → mail → marketing.letters#email",
        )
        assert server.look() == 0
        server.send()
        assert mail.to() == ["ana@example.com", "ana@example.com"]
        incident = client.get("/api/v2/open-incidents", kind="policy").json()["incidents"][0]
        detail = client.get("/api/v2/open-incident", id=incident["id"])
        assert detail.status_code == 200, detail.text
        # The job reads another table now: its edge ends with its newest runs.
        for number in range(10, 22):
            load(database, run, "mail", "lake.other", "marketing.letters", number, hours=0)
        server.look()
        assert [label for label, _ in broken(client)] == ["once"]
        states = {one["label"]: one["until"] for one in client.get("/api/v2/alerts").json()["alerts"]}
        assert states["letters.email"] is not None
        assert states["once"] is None


def test_wrong_policies_change_nothing(client: Any, database: Database) -> None:
    assert put(client, POLICIES).json()["changed"]
    reply = put(client, "policies:\n  - name: x\n    tag: pii\n")
    assert reply.status_code == 422
    assert reply.json()["detail"]["problems"] == [
        "policies.yaml:2:5: policy 'x': has no rule; write one of never_in, only_in, never_reads, written_by"
    ]
    held = client.get("/api/v2/privacy/policies").json()
    assert held["files"][0]["text"] == POLICIES
    assert len(held["versions"]) == 1
    assert not put(client, POLICIES).json()["changed"]


def test_a_stored_policy_that_is_wrong_stops_no_other(client: Any, database: Database, run: Any) -> None:
    """An earlier Headwater accepted it: what broke it stays as it was, and it is shown with its place."""
    put(client, POLICIES)
    load(database, run, "mail", "shop.customers", "marketing.letters", 1, tagged=True)
    load(database, run, "shortcut", "raw.orders", "gold.often", 2)
    server = Server(database, run, None)
    server.look()
    labels = ["letters", "often"]
    assert [label for label, _ in broken(client)] == labels
    text = POLICIES.replace("never_in: marketing.*", "never_in: marketing.*\n    masked: perhaps")
    files = json.dumps([{"name": "old.yaml", "text": text}])
    run(execute(database, f"insert into applied_rules (kind, files, applied_by) values ('policies', '{files}', 't')"))
    load(database, run, "another", "raw.orders", "gold.more", 3)
    server.look()
    assert [label for label, _ in broken(client)] == ["letters", "more", "often"]
    held = client.get("/api/v2/privacy/policies").json()
    assert [each.partition(":")[0] for each in held["problems"]] == ["old.yaml"]
    put(client, "policies: [{name: other, datasets: lake.*, never_reads: nothing.*}]")
    server.look()
    assert broken(client) == []
