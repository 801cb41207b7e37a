"""Search documents: kept with the events, the same after a rebuild, and cheap where nothing changed."""

import asyncio
import itertools
import json
from typing import Any

import pytest
from tests.events import dataset, facet, schema
from tests.fixtures.postgres import empty

from headwater.answer.search.search import search
from headwater.intake.events.accept import Intake
from headwater.intake.upkeep.rebuild import fingerprints, rebuild
from headwater.model import version, words
from headwater.model.described import FACETS, Described
from headwater.model.names import DatasetName
from headwater.store import search as store
from headwater.store import sqlfile
from headwater.store.database import Database
from headwater.store.events.projections import TABLES

T = DatasetName("ns", "t")


def event(name: str, at: str, **facets: Any) -> dict[str, Any]:
    return {"eventTime": f"2026-01-0{at}T00:00:00Z", "producer": "p", "dataset": dataset(name, "ns", **facets)}


def linked(alias: str) -> dict[str, Any]:
    return facet(identifiers=[{"namespace": "ns", "name": alias, "type": "TABLE"}])


EVENTS = [
    event("t", "1", **schema("alpha", "beta")),
    event("t", "2", **schema("alpha", "gamma"), documentation=facet(description="of it")),
    event("t", "3", documentation=facet(_deleted=True), symlinks=linked("u")),
    event("u", "2", tags=facet(tags=[{"key": "pii"}]), symlinks=linked("w")),
]


async def send(database: Database, batches: list[list[dict[str, Any]]]) -> None:
    intake = Intake(database)
    for batch in batches:
        assert not (await intake.accept_batch(json.dumps(batch).encode())).refused


async def rows(database: Database, sql: str, *parameters: Any) -> list[Any]:
    async with database.connection() as connection:
        return await (await connection.execute(sql, parameters)).fetchall()  # type: ignore[arg-type]


def test_the_tables_are_projections() -> None:
    assert {"search_documents", "search_words"} <= set(TABLES)


def test_any_order_any_split_and_a_rebuild_end_in_the_same_documents(database: Database, run: Any) -> None:
    seen = set()
    for order in itertools.permutations(EVENTS):
        for batches in ([list(order)], [[one] for one in order]):
            run(empty(database))
            run(send(database, batches))
            found = run(fingerprints(database))
            seen.add((found["search_documents"], found["search_words"]))
    assert len(seen) == 1
    run(rebuild(database))
    after = run(fingerprints(database))
    assert {(after["search_documents"], after["search_words"])} == seen
    known = {row[0] for row in run(rows(database, "select word from search_words"))}
    assert known == {"alpha", "gamma", "pii"}
    assert len(run(rows(database, "select 1 from search_documents"))) == 1


def test_a_facet_told_again_after_another_one_holds_again(database: Database, run: Any) -> None:
    for at, column in (("1", "alpha"), ("2", "beta"), ("3", "alpha")):
        run(send(database, [[event("t", at, **schema(column))]]))
        assert run(search(database, column)).total == 1
    assert run(search(database, "beta")).total == 0


def test_what_is_made_from_the_same_is_not_written_again(database: Database, run: Any) -> None:
    run(send(database, [EVENTS]))
    before = run(rows(database, "select id, xmin::text from search_documents"))
    statistics = [event("t", "4", other=facet(n=n)) for n in range(3)]
    run(send(database, [statistics]))
    assert run(rows(database, "select id, xmin::text from search_documents")) == before
    run(send(database, [[event("t", "5", **schema("delta"))]]))
    assert run(rows(database, "select id, xmin::text from search_documents")) != before


def test_statements_do_not_grow_with_the_documents(
    database: Database, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from headwater.store.sqlfile import Query

    sent: list[str] = []

    def counting(method: Any) -> Any:
        async def counted(self: Query, connection: Any, **parameters: object) -> Any:
            sent.append(self.name)
            return await method(self, connection, **parameters)

        return counted

    async def refresh(count: int) -> list[str]:
        await send(database, [[event(f"n{i}", "1", **schema("x")) for i in range(count)]])
        async with database.transaction() as connection:
            await connection.execute("delete from search_documents")
            sent.clear()
            await store.refresh(connection, [version.dataset_id(DatasetName("ns", f"n{i}")) for i in range(count)])
        return list(sent)

    monkeypatch.setattr(Query, "send", counting(Query.send))
    monkeypatch.setattr(Query, "exec", counting(Query.exec))
    few, many = run(refresh(3)), run(refresh(100))
    assert few == many == ["lock_groups", "doomed", "stale", "upsert_documents", "lock_words"]
    before = run(rows(database, "select * from search_documents order by id"))
    monkeypatch.setattr(store, "_PAGE", 40)
    paged = run(refresh(100))
    assert (paged.count("stale"), paged.count("upsert_documents")) == (3, 3)
    assert run(rows(database, "select * from search_documents order by id")) == before


def test_what_people_say_counts_and_takes_away(database: Database, run: Any) -> None:
    run(
        send(
            database,
            [
                [
                    event(
                        "t",
                        "1",
                        **schema("alpha"),
                        tags=facet(tags=[{"key": "PII"}]),
                        ownership=facet(owners=[{"name": "ann"}]),
                    )
                ]
            ],
        )
    )

    async def say(target: str, kind: str, key: str, value: dict[str, Any], deleted: bool = False) -> None:
        async with database.transaction() as connection:
            await connection.execute(
                "insert into annotations values (%s, %s, %s, %s, %s, 'me', now(), gen_random_uuid())",
                (target, kind, key, json.dumps(value), deleted),
            )
            await store.refresh(connection, [version.dataset_id(T)])

    async def found(q: str, **narrow: str) -> int:
        return (await search(database, q, **narrow)).total  # type: ignore[arg-type]

    assert run(found("t", tag="PII", owner="ann")) == 1
    run(say("dataset:ns:t", "description", "", {"text": "bookings of today"}))
    run(say("dataset:ns:t#alpha", "description", "", {"text": "first letter"}))
    run(say("dataset:ns:t", "tag", "tier", {"name": "Tier", "value": 1}))
    run(say("dataset:ns:t", "tag", "pii", {"name": "pii"}, deleted=True))
    run(say("dataset:ns:t", "owner", "ann", {"name": "ann"}, deleted=True))
    run(say("dataset:ns:t", "owner", "bob", {"name": "bob", "type": None}))
    run(say("dataset:ns:tt", "description", "", {"text": "another"}))
    assert run(found("bookings")) == run(found("letter")) == run(found("bob")) == run(found("t", tag="Tier:1")) == 1
    assert run(found("pii")) == run(found("ann")) == run(found("another")) == 0
    detail = run(search(database, "letter")).results[0]
    assert (detail.matched, detail.detail) == ("description", "alpha: first letter")


def test_hidden_is_not_found_until_it_is_shown(database: Database, run: Any) -> None:
    run(send(database, [EVENTS]))

    async def hide(hidden: bool) -> None:
        async with database.transaction() as connection:
            await connection.execute("update datasets set hidden = %s where name = 't'", (hidden,))
            await store.refresh(connection, [version.dataset_id(T)])

    run(hide(True))
    assert run(rows(database, "select count(*) from search_documents"))[0][0] == 0
    assert run(rows(database, "select count(*) from search_words"))[0][0] == 0
    run(hide(False))
    assert run(search(database, "gamma")).total == 1


def test_names_that_part_are_two_again(database: Database, run: Any) -> None:
    run(send(database, [EVENTS]))

    async def part() -> None:
        async with database.transaction() as connection:
            await connection.execute("delete from dataset_links")
            await connection.execute("delete from dataset_canonical")
            ids = await (await connection.execute("select id from datasets")).fetchall()
            await store.refresh(connection, [row[0] for row in ids])

    run(part())
    assert {one.name for one in run(search(database, "ns")).results} == {"t", "u", "w"}


def test_writers_at_once_leave_what_a_rebuild_leaves(database: Database, run: Any) -> None:
    """Some add words that others take away, of datasets under several names."""

    async def storm() -> None:
        intakes = [Intake(database) for _ in range(3)]
        tasks = []
        for number in range(30):
            name = ("t", "u", "w", f"n{number}")[number % 4]
            told = event(
                name, str(1 + number % 9), **schema(f"word{'abc'[number % 3]}", "shared" if number % 2 else "other")
            )
            if name in {"t", "u"}:
                told["dataset"]["facets"]["symlinks"] = linked({"t": "u", "u": "w"}[name])
            tasks.append(intakes[number % 3].accept_batch(json.dumps([told]).encode()))
        await asyncio.gather(*tasks)

    run(storm())
    before = run(fingerprints(database))
    run(rebuild(database))
    assert run(fingerprints(database)) == before


def test_a_document_has_bounds() -> None:
    """A tsvector holds a megabyte: what matters least is given up, SQL and descriptions before columns, columns before names."""
    columns = [(f"column_{n:05}_{'x' * 150}", None) for n in range(9_000)]
    about = Described(columns, "é" * 100 + " word" * 50_000, ["pii"], ["ann"], "select secret from t")
    lexemes = store._lexemes("DATASET", [("ns", "wide" + "w" * 3_000)], about)
    assert 700_000 < sum(len(one.encode()) + 4 for one in lexemes) <= 800_000
    assert max(len(one.encode()) for one in lexemes) < 2046
    assert {"TDATASET", "Gpii", "npii"[0] + "wide" + "w" * 60, f"C{columns[7][0]}"} <= set(lexemes)
    assert "ssecret" not in lexemes


@pytest.mark.parametrize("query", ["candidates", "few", "counts", "match_words", "ending_with"])
def test_questions_read_no_table_from_end_to_end(database: Database, run: Any, query: str) -> None:
    from headwater.store import sqlfile

    parameters = {
        "candidates": {"queries": ["'nx'"], "most": 10},
        "few": {"query": "'nx'", "queries": ["'nx'"], "most": 10},
        "counts": {"query": "'nx'", "most": 10},
        "match_words": {"word": ["abc"], "after": ["abd"], "near": ["abc ab"], "alike": [True]},
        "ending_with": {"pattern": "cba%", "name": "abc", "whole": ["abc"]},
    }[query]
    sql = sqlfile.load("lineage/nodes" if query == "ending_with" else "search")[query].sql

    async def plan() -> str:
        async with database.transaction() as connection:
            await connection.execute("set local enable_seqscan = off")
            told = await (await connection.execute("explain " + sql, parameters)).fetchall()
            return "\n".join(row[0] for row in told)

    text = run(plan())
    for table in ("search_documents", "search_words", "datasets", "jobs"):
        assert f"Seq Scan on {table}" not in text, text


def test_words() -> None:
    assert words.words("dim_customerOrders2") == {"dim", "customerorders", "customer", "orders", "2"}
    assert words.words("SQLServer eBay") == {"sqlserver", "sql", "server", "ebay", "e", "bay"}
    assert words.joined("CustomerOrders-2024") == words.joined("customer orders.2024") == "customer_orders_2024"
    assert words.words("売上") == {"売", "上", "売上"}
    assert words.sql_words("SELECT a_b, 'North' FROM t1 -- gone\n/* gone */ WHERE x = 5") == {"north"}
    assert {words.distance("teh", "the", 2), words.distance("abc", "abd", 2)} == {1}
    assert words.distance("abcdef", "ab", 2) == 3


def test_the_log_of_facets_watches_what_is_searched() -> None:
    """`upsert_owner_facets` names the facets a document is made from."""
    sql = sqlfile.load("events/projections")["upsert_owner_facets"].sql
    assert all(f"'{name}'" in sql for name in FACETS)
