"""Places of private values, and policies: a value planted in a real PostgreSQL is found by scanning, and every place that has it must be listed."""

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml
from tests.api.usage.measures import send
from tests.events import facet, run_event
from tests.fixtures.people import People
from typer.testing import CliRunner

from headwater.cli.program import program

CASE = yaml.safe_load((Path(__file__).parents[2] / "cases" / "privacy" / "shop.yaml").read_text(encoding="utf-8"))
N = "postgres://db:5432"


@pytest.fixture(scope="module")
def scanned(postgres: Any) -> Iterator[set[str]]:
    """Columns in which the planted value, or a text with it, is found after the statements ran."""
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute("drop database if exists privacy_shop")
        connection.execute("create database privacy_shop")
    with psycopg.connect(postgres.url, dbname="privacy_shop", autocommit=True) as connection:
        for schema in {name.partition(".")[0] for name in CASE["tables"]}:
            connection.execute(f"create schema {schema}")
        for name, columns in CASE["tables"].items():
            listed = ", ".join(f"{column} {kind}" for column, kind in columns.items())
            connection.execute(f"create table {name} ({listed})")
        for text in (*CASE["setup"], *CASE["statements"]):
            connection.execute(text)
        yield {
            f"{name}.{column}"
            for name, columns in CASE["tables"].items()
            for column in columns
            if connection.execute(
                f"select count(*) from {name} where {column}::text like %s", (f"%{CASE['value']}%",)
            ).fetchone()
            != (0,)
        }
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute("drop database privacy_shop with (force)")


def table(name: str) -> dict[str, Any]:
    fields = [{"name": column, "type": kind} for column, kind in CASE["tables"][name].items()]
    return {"namespace": N, "name": f"db.{name}", "facets": {"schema": facet(fields=fields)}}


def ran(number: int, text: str, more: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the event of a statement by a producer that knows tables and no columns."""
    target = text.split()[2]
    sources = [name for name in CASE["tables"] if name != target and f" {name} " in f"{text} "]
    told = {"sql": facet(query=text, dialect="postgres")}
    return run_event(
        "COMPLETE",
        number,
        f"load {target}",
        [table(name) for name in sources],
        [table(target)],
        namespace=N,
        job_facets=told,
        **(more or {}),
    )


@pytest.fixture
def shop(client: Any, people: People) -> Any:
    send(client, *(ran(number, text) for number, text in enumerate(CASE["statements"])))
    dataset, _, column = CASE["tagged"].rpartition(".")
    people.put("datasets", N, f"db.{dataset}", "tags", "pii", column=column)
    return client


def places(client: Any, tag: str = "pii") -> dict[str, Any]:
    reply = client.get("/api/v2/privacy/where", tag=tag)
    assert reply.status_code == 200, reply.text
    return {
        f"{one['dataset'].removeprefix(f'dataset:{N}:db.')}.{one['column']}": one for one in reply.json()["columns"]
    }


def test_every_place_of_the_value_is_listed_and_nothing_that_hides_it(shop: Any, scanned: set[str]) -> None:
    found = places(shop)
    assert CASE["tagged"] in scanned
    assert len(scanned) == 7
    plain = {name for name, one in found.items() if one["handling"] != "masked"}
    assert scanned <= plain
    assert plain - scanned <= set(CASE["derived"])
    assert {name for name, one in found.items() if one["handling"] == "masked"} <= {*CASE["masked"], *CASE["derived"]}
    assert set(CASE["masked"]) <= found.keys()
    assert all(one["certain"] and one["now"] == one["handling"] for one in found.values())


def test_the_way_is_the_evidence(shop: Any) -> None:
    found = places(shop)["marketing.letters.line"]
    assert found["hops"] == 2
    assert [one.partition("db.")[2] or one.rpartition(":")[2] for one in found["path"]] == [
        "shop.customers#email",
        "load mart.wide",
        "mart.wide#label",
        "load marketing.letters",
        "marketing.letters#line",
    ]


def test_a_job_that_tells_no_columns_may_carry_it(shop: Any) -> None:
    target = {"namespace": N, "name": "db.export.file", "facets": {}}
    send(shop, run_event("COMPLETE", 50, "python_export", [table("lake.copy")], [target], namespace=N))
    found = places(shop)["export.file.None"]
    assert (found["certain"], found["handling"], found["column"]) == (False, "plain", None)


def test_what_a_job_wrote_before_may_be_there_still(shop: Any) -> None:
    columns = {"columnLineage": facet(fields={"email": {"inputFields": [{"namespace": N, "name": "db.shop.customers", "field": "email"}]}})}  # fmt: skip
    empty = {"columnLineage": facet(fields={"id": {"inputFields": [{"namespace": N, "name": "db.shop.customers", "field": "id"}]}})}  # fmt: skip
    for number, told in ((60, columns), (61, empty)):
        target = table("lake.copy") | {"name": "db.lake.once"}
        target["facets"] |= told
        at = f"2026-02-{number - 59:02d}T00:00:00Z"
        send(shop, run_event("COMPLETE", number, "once", [table("shop.customers")], [target], namespace=N, at=at))
    found = places(shop)["lake.once.email"]
    assert (found["handling"], found["now"]) == ("plain", None)


def test_masked_on_one_way_and_plain_on_another(shop: Any) -> None:
    send(shop, ran(70, "insert into mart.hashed select id, email from shop.customers", {"at": "2026-03-01T00:00:00Z"}))
    assert places(shop)["mart.hashed.digest"]["handling"] == "plain"


def test_a_longer_plain_way_counts_more_than_a_short_masked_one(shop: Any) -> None:
    longer = ran(71, "insert into mart.hashed select id, address from mart.contacts")
    longer["job"]["name"] = "also"
    send(shop, longer, ran(72, "insert into lake.json select id, digest from mart.hashed"))
    found = places(shop)
    assert (found["mart.hashed.digest"]["handling"], found["mart.hashed.digest"]["hops"]) == ("plain", 2)
    assert found["lake.json.body"]["handling"] == "plain"


def test_a_tag_of_the_whole_dataset_is_of_each_column(shop: Any, people: People) -> None:
    people.put("datasets", N, "db.shop.orders", "tags", "class", body={"value": "money"})
    found = places(shop, "class:money")
    assert {name for name in found if name.startswith("shop.")} == {
        "shop.orders.id", "shop.orders.customer", "shop.orders.amount"
    }  # fmt: skip
    assert "mart.totals.amount" in found
    assert places(shop, "class").keys() == found.keys()
    assert places(shop, "class:other") == {}


POLICIES = """
policies:
  - name: no personal data in marketing
    tag: pii
    never_in: marketing.*
  - name: marts keep hashes only
    tag: pii
    never_in: [mart.hashed, "mart.d*"]
  - name: marketing reads marts
    datasets: marketing.*
    never_reads: [shop.*, lake.*]
  - name: loads write
    datasets: [mart.*, lake.*]
    written_by: "load lake*"
    except:
      - {dataset: mart.*, until: 2099-01-01, reason: they move next year}
      - {dataset: lake.json, until: 2020-01-01, reason: it moved}
  - name: nothing of this kind
    tag: secret
    never_in: "*"
"""


def check(client: Any, text: str, status: int = 200, **more: Any) -> Any:
    body = {"files": [{"name": "p.yaml", "text": text}], **more}
    reply = client.post("/api/v2/privacy/check", json.dumps(body).encode(), content_type="application/json")
    assert reply.status_code == status, reply.text
    return reply.json()


def test_policies_are_checked_with_evidence(shop: Any) -> None:
    found = {one["name"]: one for one in check(shop, POLICIES)["policies"]}
    (letter,) = found["no personal data in marketing"]["violations"]
    assert (letter["column"], letter["handling"], letter["certain"], len(letter["path"])) == ("line", "plain", True, 5)
    assert [one["column"] for one in found["marts keep hashes only"]["violations"]] == ["is_test"]
    assert found["marketing reads marts"]["violations"] == []
    assert found["marketing reads marts"]["looked_at"] == 2
    assert found["loads write"]["violations"] == []
    assert found["loads write"]["excepted"] == 6
    assert found["nothing of this kind"]["looked_at"] == 0
    assert found["no personal data in marketing"]["line"] == 3


def test_a_masked_value_breaks_where_that_is_refused(shop: Any) -> None:
    text = "policies: [{name: a, tag: pii, never_in: mart.hashed, masked: refused}]"
    assert check(shop, text)["violations"] == 1
    text = "policies: [{name: a, tag: pii, only_in: [shop.*, lake.*, marketing.*]}]"
    broken = check(shop, text)["policies"][0]["violations"]
    assert {one["dataset"].rpartition("db.")[2] for one in broken} == {
        "mart.contacts", "mart.latest", "mart.wide", "mart.totals", "mart.domains"
    }  # fmt: skip


def test_an_exception_that_has_ended_says_so(shop: Any) -> None:
    text = "policies: [{name: a, tag: pii, never_in: lake.*, except: [{dataset: lake.json, until: 2020-01-01, reason: it moved}]}]"
    broken = check(shop, text)["policies"][0]["violations"]
    assert {(one["dataset"].rpartition(".")[2], one["expired"]) for one in broken} == {("copy", None), ("json", "it moved")}  # fmt: skip


def test_the_lineage_of_a_time_before(shop: Any) -> None:
    assert check(shop, POLICIES, as_of="2020-01-01T00:00:00")["violations"] == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "p.yaml:1:1: no policy is in it"),
        ("policies: [{name: a, tag: pii}]", "p.yaml:1:12: policy 'a': has no rule"),
        ("policies: [{name: a, tag: pii, never_in: x, only_in: y}]", "has never_in and only_in"),
        ("policies: [{name: a, never_in: x}]", "never_in is about tag, which is not given"),
        ("policies: [{name: a, tag: t, datasets: d, never_in: x}]", "p.yaml:1:40: policy 'a': datasets says nothing"),
        ("policies: [{name: a, datasets: d, written_by: x, masked: refused}]", "masked says nothing beside written_by"),
        ("policies: [{name: a, tag: t, never_on: x}]", "did you mean 'never_in'?"),
        ("policies: [{tag: t, never_in: x}]", "a policy has no name"),
        ("policies: [{name: a, tag: t, never_in: x}, {name: a, tag: t, never_in: y}]", "policy 'a' is also in p.yaml"),
        ("policies: [{name: a, tag: t, never_in: '*a*b*c*d*e*'}]", "more than 5 `*`"),
        ("policies: [{name: a, tag: t, never_in: x, except: [{dataset: y}]}]", "an exception has no reason"),
        ("policies: [{name: a, tag: t, never_in: x, except: [{dataset: y, reason: z, until: soon}]}]", "until is no day"),
        ("policies: {", "not YAML"),
    ],
)  # fmt: skip
def test_a_wrong_policy_says_where_and_what(client: Any, text: str, words: str) -> None:
    assert any(words in one for one in check(client, text, status=422)["detail"]["problems"])


def test_the_commands(server_url: str, tmp_path: Path) -> None:
    events = [ran(number, text) for number, text in enumerate(CASE["statements"])]
    events[0]["inputs"][0]["facets"]["tags"] = facet(tags=[{"key": "pii", "value": "true", "field": "email"}])
    request = urllib.request.Request(f"{server_url}/api/v1/lineage/batch", json.dumps(events).encode())
    urllib.request.urlopen(request, timeout=10).close()

    def call(*words: str) -> Any:
        return CliRunner().invoke(program, ["privacy", *words, "--url", server_url])

    found = call("where", "--tag", "pii")
    assert found.exit_code == 0, found.output
    assert "db.marketing.letters#line" in found.stdout
    assert "10 columns of 10 datasets, 9 not masked" in found.stdout
    assert len(json.loads(call("where", "--tag", "pii", "--json").stdout)["columns"]) == 10
    assert "nothing carries the tag none" in call("where", "--tag", "none").stdout
    (tmp_path / "p.yaml").write_text(POLICIES)
    checked = call("check", str(tmp_path / "p.yaml"))
    assert checked.exit_code == 3
    assert "no personal data in marketing" in checked.stdout
    assert "checked nothing" in checked.stdout
    assert json.loads(call("check", str(tmp_path / "p.yaml"), "--json").stdout)["violations"] == 2
    assert "cannot be read" in str(call("check", str(tmp_path / "absent.yaml")).exception)
