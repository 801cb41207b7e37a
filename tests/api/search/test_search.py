"""Search over HTTP: what is found by which words, in which order, why, and how it is narrowed."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.events import dataset, encoded, facet, run_event, schema

from headwater.answer.search import search as answer

CASES = sorted((Path(__file__).parents[2] / "cases/search").glob("*.json"))


def send(client: Any, *events: dict[str, Any]) -> None:
    for event in events:
        assert client.post("/api/v1/lineage", encoded(event)).status_code == 201


def ask(client: Any, q: str, **narrow: Any) -> dict[str, Any]:
    reply = client.get("/api/v2/search", q=q, **narrow)
    assert reply.status_code == 200, reply.text
    return dict(reply.json())


def names(found: dict[str, Any]) -> list[str]:
    return [one["name"] for one in found["results"]]


def node(told: dict[str, Any]) -> dict[str, Any]:
    """An event with a case's dataset or job."""
    facets: dict[str, Any] = {}
    if "columns" in told:
        facets["schema"] = facet(fields=[{"name": name, "description": text} for name, text in told["columns"]])
    if "description" in told:
        facets["documentation"] = facet(description=told["description"])
    if "tags" in told:
        facets["tags"] = facet(tags=[{"key": tag} for tag in told["tags"]])
    if "owners" in told:
        facets["ownership"] = facet(owners=[{"name": owner, "type": "OWNER"} for owner in told["owners"]])
    if "sql" in told:
        facets["sql"] = facet(query=told["sql"])
    at = told.get("at", "2026-01-01T00:00:00Z")
    return {
        "eventTime": at,
        "producer": "p",
        told["type"]: {"namespace": told.get("namespace", "ns"), "name": told["name"], "facets": facets},
    }


@pytest.mark.parametrize("few", [300, 0], ids=["one by one", "by the index"])
@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])
def test_cases(client: Any, path: Path, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways to rank end in the same order."""
    monkeypatch.setattr(answer, "_FEW", few)
    case = json.loads(path.read_text(encoding="utf-8"))
    send(client, *(node(told) for told in case["nodes"]))
    for question in case["questions"]:
        found = ask(client, question["q"], **question.get("narrow", {}))
        seen = [[one["name"], one["matched"]] for one in found["results"]]
        assert len(seen) == len(question["expected"]), (question["q"], seen)
        for one, expected in zip(seen, question["expected"], strict=True):
            for value, allowed in zip(one, expected, strict=True):
                assert value in (allowed if isinstance(allowed, list) else [allowed]), (question["q"], seen)
        assert found["corrected"] == question.get("corrected"), question["q"]
        scores = [one["score"] for one in found["results"]]
        assert scores == sorted(scores, reverse=True)


def test_ties_go_to_what_was_spoken_of_last(client: Any) -> None:
    for number, day in enumerate((1, 3, 2)):
        send(client, node({"type": "dataset", "name": f"{number}.orders", "at": f"2026-01-0{day}T00:00:00Z"}))
    assert names(ask(client, "orders")) == ["1.orders", "2.orders", "0.orders"]
    send(client, run_event("START", 1, "j", [dataset("0.orders", "ns")], at="2026-01-05T00:00:00Z"))
    assert names(ask(client, "orders")) == ["0.orders", "1.orders", "2.orders"]


def shop(client: Any) -> None:
    send(
        client,
        node({"type": "dataset", "namespace": "s3://lake", "name": "orders", "tags": ["pii"], "owners": ["ann"]}),
        node({"type": "dataset", "namespace": "s3://lake", "name": "orders_old", "owners": ["bob"]}),
        node({"type": "dataset", "namespace": "kafka://k:9092", "name": "orders", "tags": ["pii"]}),
        node({"type": "job", "namespace": "etl", "name": "load_orders", "owners": ["ann"]}),
    )


def test_facets_count_everything_that_is_found(client: Any) -> None:
    shop(client)
    found = ask(client, "orders", limit=1)
    assert found["total"] == 4
    assert len(found["results"]) == 1
    assert not found["capped"]
    assert found["notes"] == []
    assert found["facets"] == {
        "type": {"DATASET": 3, "JOB": 1},
        "namespace": {"s3://lake": 2, "etl": 1, "kafka://k:9092": 1},
        "platform": {"s3": 2, "kafka": 1},
        "tag": {"pii": 2},
        "owner": {"ann": 2, "bob": 1},
    }


@pytest.mark.parametrize(
    ("narrow", "expected"),
    [
        ({"type": "job"}, 1),
        ({"type": "DATASET"}, 3),
        ({"namespace": "s3://lake"}, 2),
        ({"namespace": "s3://lak"}, 0),
        ({"platform": "kafka"}, 1),
        ({"tag": "pii"}, 2),
        ({"owner": "ann"}, 2),
        ({"owner": "ann", "type": "dataset"}, 1),
        ({"tag": "'; drop"}, 0),
    ],
)
def test_narrowing(client: Any, narrow: dict[str, str], expected: int) -> None:
    shop(client)
    found = ask(client, "orders", **narrow)
    assert found["total"] == len(found["results"]) == expected
    assert sum(found["facets"]["type"].values()) == expected


def test_pages_do_not_overlap(client: Any) -> None:
    send(client, *(node({"type": "dataset", "name": f"t{i}.orders"}) for i in range(7)))
    pages = [names(ask(client, "orders", limit=3, offset=offset)) for offset in (0, 3, 6, 9)]
    assert [len(page) for page in pages] == [3, 3, 1, 0]
    assert len({name for page in pages for name in page}) == 7


def test_why(client: Any) -> None:
    send(
        client,
        node(
            {
                "type": "dataset",
                "name": "shop.daily",
                "columns": [["customer_id", "who bought"], ["amount", None]],
                "description": "x" * 500 + " Sums for each Customer and day. " + "y" * 500,
                "tags": ["customer:gold"],
            }
        ),
    )
    (one,) = ask(client, "custom")["results"]
    assert (one["matched"], one["detail"]) == ("column", "customer_id")
    marked = {h["field"]: [h["text"][a:b] for a, b in h["marks"]] for h in one["highlights"]}
    assert marked == {"column": ["custom"], "tag": ["custom"], "description": ["Custom"]}
    (snippet,) = [h["text"] for h in one["highlights"] if h["field"] == "description"]
    assert snippet.startswith("…x")
    assert snippet.endswith("y…")
    assert len(snippet) < 250


def test_changed_facets_change_what_is_found(client: Any) -> None:
    def told(columns: list[str], at: str, **facets: Any) -> None:
        about = dataset("t", "ns", **schema(*columns), **facets)
        send(client, {"eventTime": at, "producer": "p", "dataset": about})

    told(["before"], "2026-01-01T00:00:00Z", documentation=facet(description="first"))
    assert names(ask(client, "before")) == ["t"]
    told(["after"], "2026-01-02T00:00:00Z")
    assert names(ask(client, "before")) == []
    assert names(ask(client, "after")) == ["t"]
    assert names(ask(client, "first")) == ["t"]
    # A late event of an earlier day changes nothing that holds.
    told(["late"], "2026-01-01T12:00:00Z")
    assert names(ask(client, "late")) == []
    told(["after"], "2026-01-03T00:00:00Z", documentation=facet(_deleted=True))
    assert names(ask(client, "first")) == []


def test_a_deleted_word_corrects_nothing(client: Any) -> None:
    told = {"type": "dataset", "name": "t", "columns": [["salary", None]]}
    send(client, node(told))
    assert ask(client, "salery")["corrected"] == "salary"
    send(client, node(told | {"columns": [["wage", None]], "at": "2026-01-02T00:00:00Z"}))
    assert ask(client, "salery")["corrected"] is None


def test_a_dataset_with_two_names_is_one(client: Any) -> None:
    send(
        client,
        node(
            {"type": "dataset", "namespace": "file", "name": "/warehouse/orders_parquet", "columns": [["loaded", None]]}
        ),
    )
    link = facet(identifiers=[{"namespace": "hive", "name": "shop.buys", "type": "TABLE"}])
    send(client, node({"type": "dataset", "namespace": "hive", "name": "shop.buys", "description": "amounts"}))
    assert ask(client, "amount")["results"][0]["id"] == "dataset:hive:shop.buys"
    about = dataset("/warehouse/orders_parquet", symlinks=link)
    send(client, {"eventTime": "2026-01-02T00:00:00Z", "producer": "p", "dataset": about})
    for words in ("amount", "loaded", "orders_parquet", "shop.buys", "buys"):
        found = ask(client, words)
        assert [one["id"] for one in found["results"]] == ["dataset:file:/warehouse/orders_parquet"], words
    (one,) = ask(client, "shop.buys")["results"]
    assert (one["matched"], one["detail"], one["score"]) == ("name", "hive:shop.buys", 1.0)
    match = client.get("/api/v2/resolve", name="buys").json()["match"]
    assert (match["id"], match["detail"]) == ("dataset:file:/warehouse/orders_parquet", "dataset:hive:shop.buys")


def test_every_text_is_a_question(client: Any) -> None:
    shop(client)
    for text in (
        "word " * 4000,
        "ж" * 3_000,
        "a" * 20_000,
        "a'b\"c\\d:e&f|g!h(i)j<->k*",
        "orders\x00",
        "' & !",
        "￿x",
        "9" * 300,
        "²",
    ):
        reply = client.get("/api/v2/search", q=text)
        assert reply.status_code == 200, (text[:20], reply.text)
    assert ask(client, "word " * 4000)["notes"] == [
        "only the first 16 words of the first 2,000 characters were searched"
    ]
    for blank in ("", "  ", "\t\n"):
        assert client.get("/api/v2/search", q=blank).status_code == 400
    assert client.get("/api/v2/search", q="x", type="run").status_code == 400


def test_what_is_capped_says_so(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    shop(client)
    monkeypatch.setattr(answer, "MOST_COUNTED", 3)
    found = ask(client, "orders")
    assert (found["total"], found["capped"]) == (3, True)
    assert "more than 3 " in found["notes"][0]


def test_resolve_suggests_what_is_near(client: Any) -> None:
    shop(client)
    found = client.get("/api/v2/resolve", name="load_ordres").json()
    assert found["match"] is None
    assert found["suggestions"][0]["name"] == "load_orders"
    assert client.get("/api/v2/resolve", name="lake:orders").json()["match"]["id"] == "dataset:s3://lake:orders"
    assert client.get("/api/v2/resolve", name="s3://lake:orders").json()["match"]["id"] == "dataset:s3://lake:orders"
    assert client.get("/api/v2/resolve", name="_old").json()["match"] is None
