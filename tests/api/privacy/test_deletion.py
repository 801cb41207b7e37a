"""Deletion of one subject: a value planted in a real PostgreSQL and in files is looked for by value, and every place that has it must be listed."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml
from tests.api.usage.measures import send
from tests.events import facet, run_event
from typer.testing import CliRunner

from headwater.cli.program import program

CASE = yaml.safe_load((Path(__file__).parents[2] / "cases" / "privacy" / "shop.yaml").read_text(encoding="utf-8"))
N = "postgres://db:5432"
KEY = CASE["tagged"]
# Exports of tables as files: {file: (table, its columns)}.
FILES = {
    "letters.csv": ("marketing.letters", ("id", "line")),
    "hashes.csv": ("mart.hashed", ("id", "digest")),
    "copy.csv": ("lake.copy", ("id", "email")),
    "cities.csv": ("marketing.cities", ("city",)),
}


@pytest.fixture(scope="module")
def world(postgres: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Path]]:
    """A database in which the statements ran, and a folder with the exports."""
    folder = tmp_path_factory.mktemp("exports")
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute("drop database if exists deletion_shop")
        connection.execute("create database deletion_shop")
    with psycopg.connect(postgres.url, dbname="deletion_shop", autocommit=True) as connection:
        for schema in {name.partition(".")[0] for name in CASE["tables"]}:
            connection.execute(f"create schema {schema}")
        for name, columns in CASE["tables"].items():
            connection.execute(
                f"create table {name} ({', '.join(f'{column} {kind}' for column, kind in columns.items())})"
            )
        for text in (*CASE["setup"], *CASE["statements"]):
            connection.execute(text)
        for file, (name, columns) in FILES.items():
            rows = connection.execute(f"select {', '.join(columns)} from {name}").fetchall()
            (folder / file).write_text("\n".join(",".join(map(str, row)) for row in rows), encoding="utf-8")
        yield connection, folder
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute("drop database deletion_shop with (force)")


def tables_with_it(connection: Any) -> set[str]:
    value = f"%{CASE['value']}%"
    return {
        name
        for name, columns in CASE["tables"].items()
        for column in columns
        if connection.execute(f"select count(*) from {name} where {column}::text like %s", (value,)).fetchone() != (0,)
    }


def files_with_it(folder: Path) -> set[str]:
    return {file for file in FILES if CASE["value"] in (folder / file).read_text(encoding="utf-8")}


def table(name: str) -> dict[str, Any]:
    fields = [{"name": column, "type": kind} for column, kind in CASE["tables"][name].items()]
    return {"namespace": N, "name": f"db.{name}", "facets": {"schema": facet(fields=fields)}}


@pytest.fixture
def shop(client: Any, world: tuple[Any, Path]) -> Any:
    events = []
    for number, text in enumerate(CASE["statements"]):
        target = text.split()[2]
        sources = [name for name in CASE["tables"] if name != target and f" {name} " in f"{text} "]
        told = {"sql": facet(query=text, dialect="postgres")}
        events.append(
            run_event(
                "COMPLETE",
                number,
                f"load {target}",
                [table(name) for name in sources],
                [table(target)],
                namespace=N,
                job_facets=told,
            )
        )
    for number, (file, (name, columns)) in enumerate(FILES.items(), 100):
        fields = {
            column: {"inputFields": [{"namespace": N, "name": f"db.{name}", "field": column}]} for column in columns
        }
        out = {"namespace": "file", "name": str(world[1] / file), "facets": {"columnLineage": facet(fields=fields)}}
        events.append(run_event("COMPLETE", number, f"export {file}", [table(name)], [out], namespace=N))
    send(client, *events)
    return client


def planned(client: Any, **question: Any) -> Any:
    reply = client.post("/api/v2/privacy/deletion", json.dumps(question).encode(), content_type="application/json")
    assert reply.status_code == 200, reply.text
    return reply.json()


def document(client: Any, **question: Any) -> Any:
    return json.loads(planned(client, **question)["document"])


def test_every_place_of_the_subject_is_listed_and_nothing_that_hides_it(shop: Any, world: tuple[Any, Path]) -> None:
    connection, folder = world
    found = document(shop, key=KEY)
    tables = {one["dataset"].partition(":db.")[2] for one in found["places"] if f":{N}:" in one["dataset"]}
    files = {Path(one["dataset"]).name for one in found["places"] if one["dataset"].startswith("dataset:file:")}
    assert files == files_with_it(folder) == {"letters.csv", "copy.csv"}
    assert tables_with_it(connection) <= tables
    derived = {name.rpartition(".")[0] for name in CASE["derived"]}
    assert tables - tables_with_it(connection) <= derived
    assert "mart.hashed" not in tables
    assert {one.rpartition(":")[2] for one in found["hidden_columns"]} >= {"db.mart.hashed#digest"}


def test_deleting_as_it_says_leaves_nothing_and_its_proofs_find_nothing(shop: Any, world: tuple[Any, Path]) -> None:
    connection, _ = world
    found = document(shop, key=KEY)
    order = [one["dataset"] for one in found["places"]]
    for one in found["places"]:
        assert all(order.index(before) < order.index(one["dataset"]) for before in one["after"])
    proofs = [proof for one in found["places"] for proof in one["prove"] if proof.startswith("select")]
    literal = f"'{CASE['value']}'"

    def proven() -> int:
        return sum(connection.execute(proof.replace(":subject", literal)).fetchone()[0] for proof in proofs)

    assert proven() > 0
    connection.execute("begin")
    try:
        for one in found["places"]:
            if one["delete"]:
                connection.execute(one["delete"].replace(":subject", literal))
        # What has no key is made again from what is left.
        for one in found["places"]:
            name = one["dataset"].partition(":db.")[2]
            text = next((text for text in CASE["statements"] if text.split()[2] == name), None)
            if text is not None and not one["delete"]:
                connection.execute(f"delete from {name}")
        for one in found["places"]:
            name = one["dataset"].partition(":db.")[2]
            text = next((text for text in CASE["statements"] if text.split()[2] == name), None)
            if text is not None and not one["delete"]:
                assert f"job:{N}:load {name}" in found["make_again"]
                connection.execute(text)
        assert tables_with_it(connection) == set()
        assert proven() == 0
    finally:
        connection.execute("rollback")


def test_a_report_is_signed_and_a_change_is_seen(shop: Any) -> None:
    signed = planned(shop, key="email", subject_sha256="0" * 64)

    def verified(**changed: str) -> Any:
        body = json.dumps(signed | changed).encode()
        return shop.post("/api/v2/privacy/verify", body, content_type="application/json").json()

    assert verified() == {"valid": True, "by_this_server": True}
    assert verified(document=signed["document"].replace("shop", "shap")) == {"valid": False, "by_this_server": False}
    assert verified(public_key="AAAA") == {"valid": False, "by_this_server": False}


def test_a_key_that_no_dataset_has_is_refused(shop: Any) -> None:
    reply = shop.post("/api/v2/privacy/deletion", b'{"key": "no_such_column"}', content_type="application/json")
    assert reply.status_code == 404


def test_the_command_line_keeps_the_subject_to_itself(
    server_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import urllib.request

    event = run_event("COMPLETE", 1, "load", [], [table("shop.customers")], namespace=N)
    request = urllib.request.Request(
        f"{server_url}/api/v1/lineage", json.dumps(event).encode(), {"Content-Type": "application/json"}
    )
    urllib.request.urlopen(request).read()
    monkeypatch.setenv("HEADWATER_URL", server_url)
    file = tmp_path / "report.json"
    told = CliRunner().invoke(
        program, ["privacy", "delete", "o'hara@example.test", "--key", "email", "--report", str(file)]
    )
    assert told.exit_code == 0, told.output
    assert "delete from shop.customers where cast(email as text) = 'o''hara@example.test';" in told.output
    assert "hara" not in file.read_text(encoding="utf-8")
    assert CliRunner().invoke(program, ["privacy", "verify", str(file)]).exit_code == 0
    file.write_text(file.read_text(encoding="utf-8").replace("customers", "orders"), encoding="utf-8")
    assert CliRunner().invoke(program, ["privacy", "verify", str(file)]).exit_code == 3
