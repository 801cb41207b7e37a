"""Another database as this one was at a time: the same tables, the same answers. A repeated event writes nothing."""

import asyncio
import datetime as dt
import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.events import RUN, columns, dataset, facet, run_event, schema
from tests.fixtures.postgres import empty
from tests.scale import full
from tests.store.events.test_projection import events as anything
from tests.store.people.test_manual_changes import said

from headwater.answer.lineage import correlation, lineage, runs
from headwater.errors import DatabaseUnavailable, HeadwaterError, InvalidChange, LogIncomplete, NotFound, ReplayRefused
from headwater.intake.events.accept import Intake
from headwater.intake.people import identity as identity_writes
from headwater.intake.people.audit import by_command
from headwater.intake.people.manual import record
from headwater.intake.upkeep import rebuild as rebuilding
from headwater.intake.upkeep.rebuild import fingerprints
from headwater.intake.upkeep.replay import accept_again, replay
from headwater.intake.upkeep.retention import Policy
from headwater.intake.upkeep.retention import run as retain
from headwater.model import manual
from headwater.model.identity import Rule
from headwater.model.manual import Target
from headwater.store.database import Database
from headwater.store.embedded import EmbeddedPostgres
from headwater.store.events import events as log
from headwater.store.events import replay as store
from headwater.store.events import server_state
from headwater.store.events.replay import beside

ITEM = "0199c0de-1111-7000-8000-{:012d}"
FAR = dt.datetime(2040, 1, 1, tzinfo=dt.UTC)


@pytest.fixture
def other(postgres: EmbeddedPostgres, database: Database, run: Any) -> Iterator[Callable[[], Database]]:
    """Makes empty databases of the same PostgreSQL, without a table."""
    opened: list[Database] = []

    def make() -> Database:
        name = f'replayed "{len(opened)}"'
        opened.append(run(_opened(postgres.url, name)))
        return opened[-1]

    async def end() -> None:
        for one in opened:
            await one.close()
        async with database.connection() as connection:
            for number in range(len(opened)):
                await connection.execute(f'drop database "replayed ""{number}"""')
            await connection.execute("drop table if exists replayed")

    yield make
    run(end())


async def _opened(url: str, name: str) -> Database:
    return await Database(await beside(url, name), pool_size=2).open()


async def send(database: Database, *told: Any) -> None:
    accepted = await Intake(database).accept_each([json.dumps(one).encode() for one in told])
    assert not accepted.refused


async def rows(database: Database, query: str) -> list[Any]:
    async with database.connection() as connection:
        return await (await connection.execute(query)).fetchall()


async def now(database: Database) -> dt.datetime:
    ((at,),) = await rows(database, "select clock_timestamp()")
    return at  # type: ignore[no-any-return]


def step(type_: str, number: int, job: str, read: str, wrote: str, at: str, **facets: Any) -> dict[str, Any]:
    """A step that read an item and wrote the next."""
    source, target = (
        dataset(read, **schema("x")),
        dataset(wrote, **schema("x", "y"), **columns({"x": [(read, "x", "DIRECT:IDENTITY")]})),
    )
    source["inputFacets"] = {"headwater_item": facet(id=ITEM.format(number))}
    target["outputFacets"] = {
        "headwater_item": facet(id=ITEM.format(number + 1), fingerprint=f"xxh3-128:{number:032x}")
    }
    return run_event(type_, number, job, [source], [target], at=at, run_facets=facets)


async def answers(database: Database) -> list[Any]:
    """The answers of a server."""
    told = [
        await lineage.lineage(database, lineage.Question("dataset:file:/c", depth=9, columns=True)),
        await lineage.lineage(database, lineage.Question("dataset:file:/c", depth=9, as_of=FAR)),
        await runs.run(database, RUN.format(1)),
        await correlation.correlation(database, correlation.Question(ITEM.format(2))),
    ]
    # An answer about now says when it was asked.
    return [{**json.loads(msgspec.json.encode(one)), "as_of": None} for one in told]


async def first_days(database: Database) -> None:
    """Events out of order by their own time, one without any, and what people say in between."""
    await send(database, step("COMPLETE", 2, "late", "/b", "/c", "2026-03-02T00:00:00Z"))
    await record(database, manual.Describe(Target("dataset", "/c", "file"), "the end"), "ada")
    await send(database, step("START", 1, "early", "/a", "/b", "2026-01-01T00:00:00Z"))
    await send(database, {**run_event("OTHER", 7, "odd", ["/a"]), "eventTime": "yesterday"})
    link = {"identifiers": [{"namespace": "hive://m", "name": "db.a", "type": "TABLE"}]}
    await send(database, run_event("COMPLETE", 8, "linked", [dataset("/a", symlinks=facet(**link))], ["/z"]))
    await record(database, manual.Hide(Target("dataset", "/z", "file")), "ada")
    await record(database, manual.DrawEdge(Target("dataset", "/b", "file"), Target("dataset", "/z", "file"), ()), "ada")
    await send(database, step("COMPLETE", 1, "early", "/a", "/b", "2026-01-01T00:00:09Z"))


async def next_days(database: Database) -> None:
    """Send events that would change every one of the answers: also some that are older by their own time than all before."""
    await send(database, step("COMPLETE", 0, "root", "/raw", "/a", "2025-01-01T00:00:00Z"))
    await send(database, step("FAIL", 1, "early", "/a", "/b", "2026-01-01T00:00:05Z"))
    await record(database, manual.Describe(Target("dataset", "/c", "file"), "not the end"), "ada")
    await send(database, run_event("COMPLETE", 9, "linked", ["/z"], ["/c"], at="2026-02-01T00:00:00Z"))
    await record(database, manual.Hide(Target("dataset", "/b", "file")), "bob")


def test_a_replay_answers_as_was_answered_then(database: Database, other: Callable[[], Database], run: Any) -> None:
    async def scene(target: Database) -> None:
        await first_days(database)
        then, told, at = await fingerprints(database), await answers(database), await now(database)
        await next_days(database)
        later = await fingerprints(database)
        assert all(one != before for one, before in zip(await answers(database), told, strict=True))
        whole = [
            await rows(database, f"select t::text from {t} t order by 1") for t in ("events", "changes", "server_state")
        ]
        done: list[tuple[str, int, int]] = []
        made = await replay(database, target, at, lambda *step: done.append(step))
        assert (made.events, made.changes, made.copied, made.projected) == (5, 3, True, True)
        assert done[-1] == ("projecting", 5, 5)
        assert await fingerprints(target) == then
        assert await answers(target) == told
        for table, time in (("events", "received_at"), ("changes", "at"), ("warnings", "now()")):
            query = f"select t::text from {table} t where {time} <= '{at.isoformat()}' or '{time}' = 'now()' order by 1"
            assert await rows(target, query) == await rows(database, query)
        assert await rows(target, "select count(*) from warnings") != [(0,)]
        # The source is as it was, and the copy goes on by itself: what was sent later makes it what the source is.
        assert await fingerprints(database) == later
        assert whole == [
            await rows(database, f"select t::text from {t} t order by 1") for t in ("events", "changes", "server_state")
        ]
        ((last,),) = await rows(target, "select max(arrived) from events")
        await send(target, step("COMPLETE", 0, "root", "/raw", "/a", "2025-01-01T00:00:00Z"))
        ((more,),) = await rows(target, "select max(arrived) from events")
        assert more > last

    run(scene(other()))


def test_until_now_is_everything(database: Database, other: Callable[[], Database], run: Any) -> None:
    async def scene(first: Database, second: Database) -> None:
        await first_days(database)
        middle = await now(database)
        await next_days(database)
        told, late = await answers(database), await now(database)
        await replay(database, first, late)
        assert await fingerprints(first) == await fingerprints(database)
        assert await answers(first) == told
        # A replay of the replay.
        await replay(database, second, middle)
        assert await fingerprints(second) != await fingerprints(first)

    run(scene(other(), other()))


@settings(
    max_examples=full(12, 6),
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(steps=st.lists(anything() | said, min_size=2, max_size=14), data=st.data())
def test_any_history_at_any_time(database: Database, target: Database, run: Any, steps: list[Any], data: Any) -> None:
    cut = data.draw(st.integers(1, len(steps) - 1))

    async def scene() -> None:
        await empty(database)
        await empty(target)
        async with target.connection() as connection:
            await connection.execute("drop table if exists replayed")
        await tell(database, steps[:cut])
        then, at = await fingerprints(database), await now(database)
        await tell(database, steps[cut:])
        ((logged,),) = await rows(database, f"select count(*) from events where received_at <= '{at.isoformat()}'")
        if not logged:
            return
        await replay(database, target, at)
        assert await fingerprints(target) == then

    run(scene())


@pytest.fixture
def target(other: Callable[[], Database], run: Any) -> Database:
    """Another database, migrated."""
    from headwater.store.migrate import migrate

    made = other()
    run(migrate(made))
    return made


async def tell(database: Database, steps: list[Any]) -> None:
    for one in steps:
        if isinstance(one, dict):
            await send(database, one)
        else:
            try:
                await record(database, one, "ada")
            except (NotFound, InvalidChange):
                continue  # what is not known yet cannot be spoken of


@settings(
    max_examples=full(40, 15),
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(steps=st.lists(anything() | said, min_size=1, max_size=12))
def test_sent_again_nothing_is_written(database: Database, run: Any, steps: list[Any]) -> None:
    """Not only do rows say the same: none is written, by its place and by who wrote it."""

    async def scene() -> None:
        await empty(database)
        await tell(database, steps)
        for _ in range(2):
            assert (await accept_again(database)).changed == []

    run(scene())


def test_sent_again_nothing_is_written_to_what_is_hidden(database: Database, run: Any) -> None:
    async def scene() -> None:
        await first_days(database)
        await record(database, manual.Hide(Target("job", "early", "test")), "ada")
        await record(database, manual.Hide(Target("namespace", "hive://m")), "ada")
        told = await accept_again(database)
        assert (told.events, told.refused, told.changed) == (5, 0, [])

    run(scene())


def test_a_row_that_is_written_again_is_found_out(
    database: Database, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    each = Intake.accept_each

    async def scene() -> None:
        await first_days(database)

        async def rewriting(self: Intake, bodies: Any) -> Any:
            async with database.connection() as connection:
                await connection.execute("update edges set first_at = first_at where direction = 'in'")
            return await each(self, bodies)

        monkeypatch.setattr(Intake, "accept_each", rewriting)
        assert (await accept_again(database)).changed == ["edges"]

    run(scene())


def test_rules_are_those_of_then(database: Database, other: Callable[[], Database], run: Any) -> None:
    def rules(to: str) -> tuple[Rule, ...]:
        return (Rule("namespace", "file", to),)

    async def keep(to: str, **more: Any) -> None:
        kept = rules(to)
        by = by_command("identity set", "set_identity", "identity", rules=msgspec.to_builtins(kept), **more)
        await identity_writes.store_rules(database, kept, by=by)

    async def scene(made: list[Database]) -> None:
        await rows_gone(database)
        await first_days(database)
        before, then = await now(database), await fingerprints(database)
        await keep("disk")
        await rebuilding.rebuild(database)
        between, moved = await now(database), await fingerprints(database)
        await keep("tape")
        told = await replay(database, made[0], before)
        assert (told.rules, told.rules_from) == (0, "none yet")
        assert await fingerprints(made[0]) == then
        told = await replay(database, made[1], between)
        assert (told.rules, told.rules_from) == (1, "audit")
        assert await fingerprints(made[1]) == moved != then
        async with made[1].connection() as connection:
            state = await server_state.read(connection)
        assert (state.rules, state.identity_behind) == (rules("disk"), False)

    run(scene([other(), other()]))


async def rows_gone(database: Database) -> None:
    """The audit log of other tests."""
    async with database.transaction() as connection:
        await connection.execute("set local headwater.retention = 'audit'")
        await connection.execute("delete from audit")


def test_without_an_audit_log_todays_rules_apply(database: Database, other: Callable[[], Database], run: Any) -> None:
    async def scene(target: Database) -> None:
        await rows_gone(database)
        await first_days(database)
        async with database.transaction() as connection:
            await server_state.set_rules(connection, (Rule("namespace", "file", "disk"),))
        told = await replay(database, target, await now(database))
        assert (told.rules, told.rules_from) == (1, "today")

    run(scene(other()))


def refused(run: Any, work: Any, error: type[HeadwaterError] = ReplayRefused) -> str:
    with pytest.raises(error) as caught:
        run(work)
    return caught.value.message


def test_times_that_are_none_of_the_log(database: Database, other: Callable[[], Database], run: Any) -> None:
    target = other()
    early = run(now(database))
    assert "the log is empty" in refused(run, replay(database, target, early))
    run(first_days(database))
    late = run(now(database))
    assert "the log has no event that had arrived by" in refused(run, replay(database, target, early))
    assert "is in the future" in refused(run, replay(database, target, late + dt.timedelta(hours=1)))
    run(retain(database, Policy(events=30), now=dt.datetime(2026, 3, 20, tzinfo=dt.UTC)))
    said = refused(run, replay(database, target, late), LogIncomplete)
    assert "events before 2026-02-01 were dropped by retention" in said
    said = refused(run, replay(database, target, early))
    assert "retention dropped events before 2026-02-01" in said
    # Nothing was made of the target by any of these.
    assert run(rows(target, "select count(*) from pg_tables where schemaname = 'public'")) == [(0,)]
    told = run(replay(database, target, late, from_what_is_left=True))
    assert told.log_dropped_before == dt.datetime(2026, 2, 1, tzinfo=dt.UTC)

    async def state() -> Any:
        async with target.connection() as connection:
            return await server_state.read(connection)

    assert run(state()).log_dropped_before == told.log_dropped_before


def test_only_what_is_empty_is_replayed_into(database: Database, other: Callable[[], Database], run: Any) -> None:
    strange, full, target = other(), other(), other()
    run(first_days(database))
    at = run(now(database))

    async def prepare() -> None:
        from headwater.store.migrate import migrate

        async with strange.connection() as connection:
            await connection.execute("create table jobs (id int)")
        await migrate(full)
        await send(full, run_event("START", 1, "job"))

    run(prepare())
    assert "it has a table 'jobs'" in refused(run, replay(database, strange, at))
    assert "is not Headwater's" in refused(run, replay(strange, target, at))
    assert "it holds 1 events and 0 changes" in refused(run, replay(database, full, at))
    assert "it holds 5 events" in refused(run, replay(database, database, at))
    assert run(rows(full, "select count(*) from events")) == [(1,)]

    first = run(replay(database, target, at))
    same = run(replay(database, target, at))
    assert (first.copied, first.projected, same.copied, same.projected) == (True, True, False, False)
    run(next_days(database))
    later = run(now(database))
    assert "another replay, until" in refused(run, replay(database, target, later))
    run(send(target, run_event("START", 77, "job")))
    assert "has accepted other events or changes" in refused(run, replay(database, target, at))
    assert "another replay, of another log" in refused(run, _of_another_log(database, target, at))


async def _of_another_log(database: Database, target: Database, at: dt.datetime) -> None:
    async with database.connection() as connection:
        await connection.execute("update events set digest = digest || 'x' where run_id is not null")
        await connection.execute("update events set digest = sha256(digest) where run_id is not null")
    await replay(database, target, at)


def test_an_older_database_is_not_replayed(database: Database, other: Callable[[], Database], run: Any) -> None:
    older, target = other(), other()

    async def prepare() -> None:
        from headwater.store.migrate import migrate

        await migrate(older)
        async with older.connection() as connection:
            await connection.execute("delete from migrations where name like '0009%'")

    run(prepare())
    at = run(now(older))
    assert "has an older schema (0009_listeners.sql did not run)" in refused(run, replay(older, target, at))


def test_stopped_it_goes_on(
    database: Database, other: Callable[[], Database], run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = other()
    run(first_days(database))
    then, at = run(fingerprints(database)), run(now(database))
    copy, pages = store.copy, log.pages

    async def broken(source: Any, into: Any, what: Any, *more: Any) -> int:
        if what == "events":
            await into.execute("select pg_terminate_backend(pg_backend_pid())")
        return await copy(source, into, what, *more)

    with monkeypatch.context() as patch:
        patch.setattr(store, "copy", broken)
        refused(run, replay(database, target, at), DatabaseUnavailable)
    assert run(rows(target, "select count(*) from changes")) == [(0,)]

    async def halted(*given: Any) -> AsyncIterator[Any]:
        async for page in pages(*given):
            yield page
            raise asyncio.CancelledError

    with monkeypatch.context() as patch:
        patch.setattr(log, "pages", halted)
        with pytest.raises(asyncio.CancelledError):
            run(replay(database, target, at))
    assert run(rows(target, "select count(*) from events")) == [(5,)]
    told = run(replay(database, target, at))
    assert (told.copied, told.projected) == (False, True)
    assert run(fingerprints(target)) == then


def test_what_is_being_written_is_waited_for(database: Database, other: Callable[[], Database], run: Any) -> None:
    """An event has its time of arrival before any reader can see it."""
    target = other()

    async def scene() -> None:
        await first_days(database)
        async with database.transaction() as writing:
            state = await server_state.read(writing)
            await server_state.begin_writing(writing, state.generation)
            await writing.execute(
                "insert into events (event_time, digest, kind, producer, body) select event_time, 'new', kind, producer, body from events limit 1"
            )
            at = await now(database)
            task = asyncio.create_task(replay(database, target, at))
            await asyncio.sleep(0.3)
            assert not task.done()
        told = await task
        assert told.events == 6

    run(scene())
