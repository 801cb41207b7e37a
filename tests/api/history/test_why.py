"""`headwater why`, `/api/v2/why` and the difference of two runs, from events as producers send them."""

import datetime as dt
import json
from typing import Any

import pytest
from tests.events import RUN, dataset, facet, run_event
from typer.testing import CliRunner, Result

from headwater.cli.program import program
from headwater.errors import InvalidQuestion

NOW = dt.datetime.now(dt.UTC).replace(microsecond=0)


@pytest.fixture
def headwater(client: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs a command whose questions go to the application in this process."""

    def ask(_base: str, path: str, params: Any = None, **_options: Any) -> bytes:
        given = {key: value for key, value in (params or {}).items() if value is not None}
        reply = client.get(path, **given)
        if reply.status_code >= 400:
            raise InvalidQuestion(reply.json()["message"])
        return bytes(reply.content)

    monkeypatch.setattr("headwater.client.ask.ask", ask)

    def run(*words: str) -> Result:
        return CliRunner().invoke(program, words)

    return run


def at(day: int, hour: int = 0) -> str:
    return (NOW - dt.timedelta(days=40) + dt.timedelta(days=day, hours=hour)).isoformat()


def world(**of_run: Any) -> dict[str, Any]:
    """The facets of a run as Spark's and Airflow's integrations send them; `of_run` replaces some values."""
    told = {
        "engine": "3.5.6",
        "code": "c0ffee",
        "sql": "select id, amount from orders",
        "cluster": "blue",
        "lib": "2.1",
        "date": "d",
        "region": "eu",
    } | of_run
    run = {
        "processing_engine": facet(name="spark", version=told["engine"]),
        "executionParameters": facet(parameters=[{"key": "date", "value": told["date"]}]),
        "environmentVariables": facet(environmentVariables=[{"name": "REGION", "value": told["region"]}]),
        "acme_cluster": facet(cluster={"id": told["cluster"]}, libraries={"numpy": told["lib"]}),
    }
    if "error" in told:
        run["errorMessage"] = facet(message=told["error"], programmingLanguage="python")
    job = {
        "sql": facet(query=told["sql"]),
        "sourceCodeLocation": facet(type="git", url="https://git.test/x", version=told["code"]),
    }
    return {"run_facets": run, "job_facets": job}


def orders(*names: str, rows: int = 1000) -> dict[str, Any]:
    fields = [{"name": name, "type": "string"} for name in names or ("amount", "id")]
    return dataset("/orders", schema=facet(fields=fields)) | {"inputFacets": {"inputStatistics": facet(rowCount=rows)}}


def days(first: int, last: int, *, type_: str = "COMPLETE", source: dict[str, Any] | None = None, load: dict[str, Any] | None = None, **of_run: Any) -> list[dict[str, Any]]:  # fmt: skip
    """A load of /orders and a run of `report` on each day."""
    events = []
    for day in range(first, last):
        events.append(
            run_event(
                "COMPLETE",
                1000 + day,
                "load",
                ["/raw"],
                ["/orders"],
                at=at(day),
                **world(date=f"d{day}", **(load or {})),
            )
        )
        events.append(
            run_event(
                type_,
                day,
                "report",
                [source or orders()],
                ["/report"],
                at=at(day, 1),
                **world(date=f"d{day}", **of_run),
            )
        )
    return events


def send(client: Any, events: list[dict[str, Any]]) -> None:
    for event in events:
        assert client.post("/api/v1/lineage", json.dumps(event).encode()).status_code == 201


_BAD: dict[str, Any] = {"type_": "FAIL", "error": "KeyError: 'id'\nat line 3"}


@pytest.mark.parametrize(
    ("changed", "kind", "name", "pair"),
    [
        ({"code": "badc0de"}, "code", "version", ("c0ffee", "badc0de")),
        ({"engine": "4.0.1"}, "engine", "spark", ("3.5.6", "4.0.1")),
        ({"sql": "select id, amount\nfrom orders where 1 / 0"}, "sql", "", ("select id, amount from orders", "select id, amount\nfrom orders where 1 / 0")),
        ({"cluster": "green"}, "cluster", "acme_cluster.cluster.id", ("blue", "green")),
        ({"lib": "3.0"}, "package", "acme_cluster.libraries.numpy", ("2.1", "3.0")),
        ({"region": "us"}, "environment", "REGION", ("eu", "us")),
        ({"source": orders("amount")}, "schema", "dataset:file:/orders", ("amount string\nid string", "amount string")),
        ({"source": orders(rows=10_000)}, "volume", "dataset:file:/orders rows", ("1000", "10000")),
        ({"load": {"code": "feed"}}, "upstream", "job:test:load: code version", ("c0ffee", "feed")),
    ],
)  # fmt: skip
def test_the_planted_change_is_named(
    client: Any, changed: dict[str, Any], kind: str, name: str, pair: tuple[str, str]
) -> None:
    send(client, [*days(0, 12), *days(12, 16, **_BAD, **changed)])
    found = client.get("/api/v2/why", job="job:test:report").json()
    assert (found["question"], found["goes_on"], found["named"], found["runs"], found["bad"]) == (
        "failed",
        True,
        True,
        16,
        4,
    )
    (cause,) = found["suspects"][0]["causes"]
    assert (cause["kind"], cause["name"], (cause["before"], cause["after"])) == (kind, name, pair)
    assert (cause["bad_with"], cause["good_with"], cause["bad_without"], cause["good_without"]) == (4, 0, 0, 12)
    assert cause["run_id"] == found["first_bad"]["run_id"] == RUN.format(12)
    assert found["last_good"]["run_id"] == RUN.format(11)
    assert found["first_bad"]["error"].startswith("KeyError")
    equal = {(one["kind"], one["name"]) for one in found["equal"]}
    assert (kind, name) not in equal
    assert {("engine", "spark"), ("environment", "REGION"), ("code", "version")} - {(kind, name)} <= equal
    assert client.get("/api/v2/why", run=RUN.format(14)).json()["suspects"] == found["suspects"]


def test_an_input_that_was_not_renewed_is_named(client: Any) -> None:
    stale = [event for event in days(12, 16, **_BAD) if event["job"]["name"] == "report"]
    send(client, [*days(0, 12), *stale])
    found = client.get("/api/v2/why", job="job:test:report").json()
    first = found["suspects"][0]["causes"]
    assert ("renewed", "dataset:file:/orders", "yes") in [(one["kind"], one["name"], one["before"]) for one in first]


def test_a_failure_without_a_change_names_nothing(client: Any) -> None:
    send(client, [*days(0, 12), *days(12, 13, **_BAD), *days(13, 20), *days(20, 21, **_BAD)])
    found = client.get("/api/v2/why", job="job:test:report").json()
    assert not found["named"]
    assert found["by_chance"] > 0.5


def test_a_change_like_others_that_did_no_harm_is_called_a_coincidence(client: Any, headwater: Any) -> None:
    later = {"engine": "4.0.1", "sql": "select id, amount as euros from orders"}
    send(
        client,
        [
            *days(0, 4),
            *days(4, 8, engine="4.0.1"),
            *days(8, 12, **later),
            *days(12, 20, **_BAD, **later, code="badc0de"),
        ],
    )
    found = client.get("/api/v2/why", job="job:test:report").json()
    assert (found["named"], found["coinciding"], found["coincidence"]) == (False, True, round(2 / 11, 4))
    assert [cause["kind"] for cause in found["suspects"][0]["causes"]] == ["code"]
    told = headwater("why", "report").output
    assert "No cause is sure; this changed at the same time\n  code version" in told
    assert "with 18% of the good runs before, a change as likely to do harm came, and did none" in told


def test_a_job_that_recovered_and_one_that_does_well(client: Any, headwater: Any) -> None:
    send(client, [*days(0, 12), *days(12, 15, **_BAD, code="badc0de"), *days(15, 18)])
    found = client.get("/api/v2/why", job="job:test:report").json()
    assert (found["question"], found["goes_on"], found["named"]) == ("failed", False, True)
    assert headwater("why", "report").output.startswith("test:report failed, and recovered")
    assert client.get("/api/v2/why", job="job:test:load").json()["question"] == "nothing"
    assert "none of its runs failed" in headwater("why", "load").output


def test_a_job_that_became_slower(client: Any) -> None:
    events = []
    for day in range(24):
        slow = day >= 14
        for type_, minutes in (("START", 0), ("COMPLETE", 30 if slow else 10)):
            time = (NOW - dt.timedelta(days=40 - day) + dt.timedelta(minutes=minutes, seconds=day % 3)).isoformat()
            events.append(
                run_event(
                    type_,
                    day,
                    "report",
                    [],
                    ["/report"],
                    at=time,
                    **world(engine="4.0.1" if slow else "3.5.6", date=f"d{day}"),
                )
            )
    send(client, events)
    found = client.get("/api/v2/why", job="job:test:report").json()
    assert (found["question"], found["named"], found["bad"]) == ("slower", True, 10)
    assert [one["kind"] for one in found["suspects"][0]["causes"]] == ["engine"]
    assert "1,800" in found["notes"][0]
    assert "600" in found["notes"][0]


def test_two_runs_side_by_side(client: Any, headwater: Any) -> None:
    send(client, [*days(0, 3), *days(3, 4, **_BAD, code="badc0de", sql="select id\nfrom orders")])
    found = client.get(f"/api/v2/runs/{RUN.format(2)}/diff/{RUN.format(3)}").json()
    told = {(one["kind"], one["name"]): (one["before"], one["after"]) for one in found["differences"]}
    assert told["code", "version"] == ("c0ffee", "badc0de")
    assert told["parameter", "date"] == ("d2", "d3")
    assert told["upstream", "job:test:load: parameter date"] == ("d2", "d3")
    assert {"kind": "engine", "name": "spark"} in found["equal"]
    assert next(one for one in found["differences"] if one["kind"] == "sql")["changes"] == [
        "-select id, amount from orders",
        "+select id",
        "+from orders",
    ]
    text = headwater("diff", RUN.format(2), RUN.format(3)).output
    assert "~ code version  c0ffee → badc0de" in text
    assert "+select id" in text
    assert json.loads(headwater("diff", RUN.format(2), RUN.format(3), "--json").output) == found


def test_the_command_says_what_changed_and_what_is_equal(client: Any, headwater: Any) -> None:
    send(client, [*days(0, 12), *days(12, 16, **_BAD, engine="4.0.1")])
    told = headwater("why", "report").output
    for words in ("test:report fails: 4 bad runs of the 16 compared", "KeyError: 'id'", "Cause\n  engine spark", "3.5.6 → 4.0.1", "4 bad and 0 good with it, 0 bad and 12 good without", "it never changed before", "Checked and equal: "):  # fmt: skip
        assert words in told
    assert json.loads(headwater("why", "report", "--json").output)["named"]
    for words in (["why"], ["why", "orders"], ["why", "report", "--failing"]):
        assert headwater(*words).exit_code != 0


def test_questions_that_cannot_be_answered(client: Any) -> None:
    send(client, days(0, 2))
    assert client.get("/api/v2/why").status_code == 400
    assert client.get("/api/v2/why", job="job:test:none").status_code == 404
    assert client.get("/api/v2/why", job="dataset:file:/orders").status_code == 404
    assert client.get("/api/v2/why", run=RUN.format(1)).status_code == 400
    assert client.get(f"/api/v2/runs/{RUN.format(1)}/diff/{RUN.format(1)}").status_code == 400
    assert client.get("/api/v2/why/failing", since=NOW.isoformat(), until=at(0)).status_code == 400
    for far in ("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"):
        for name in ("since", "until"):
            assert client.get("/api/v2/why/failing", **{name: far}).status_code in (200, 400)


def test_what_failing_jobs_share(client: Any, headwater: Any) -> None:
    events = []
    for number in range(40):
        name, upgraded = f"job{number}", number % 4 == 0
        events.append(
            run_event(
                "COMPLETE",
                2 * number,
                name,
                ["/raw"],
                [f"/out{number}"],
                at=(NOW - dt.timedelta(days=2)).isoformat(),
                **world(date=str(number)),
            )
        )
        events.append(
            run_event(
                "FAIL" if upgraded or number == 5 else "COMPLETE",
                2 * number + 1,
                name,
                ["/raw"],
                [f"/out{number}"],
                at=(NOW - dt.timedelta(hours=2)).isoformat(),
                **world(date=str(number), engine="4.0.1" if upgraded else "3.5.6"),
            )
        )
    send(client, events)
    found = client.get("/api/v2/why/failing", since=(NOW - dt.timedelta(hours=6)).isoformat()).json()
    assert (found["bad"], found["good"], found["unexplained"]) == (11, 40, 1)
    (one,) = found["findings"]
    assert one["traits"] == [{"kind": "engine", "name": "spark", "value": "4.0.1"}]
    assert (one["bad_with"], one["good_with"], one["bad_without"], one["good_without"]) == (10, 0, 1, 40)
    assert one["low"] > 1
    assert one["chance"] < 1e-4
    told = headwater("why", "--failing", "--since", "6h").output
    assert "engine spark = 4.0.1" in told
    assert "1 failed job share nothing" in told or "share nothing that stands out" in told
    assert "No job failed" in headwater("why", "--failing", "--since", "1m").output
