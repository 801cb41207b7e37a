"""Some columns are wrong: by column lineage their users are wrong, and users of other columns are not; without column lineage any column may be used."""

import asyncio
import datetime as dt
import itertools
from typing import Any

import pytest
from tests.store.status.test_status import at, says

from events import columns, dataset, encoded, facet, parent, run_event, schema
from headwater.answer.status import incidents as answers
from headwater.answer.status.readiness import Asked, ready
from headwater.entities.status.marks import by_entity
from headwater.entities.time import ranges
from headwater.errors import InvalidStatus
from headwater.intake.events.accept import Intake
from headwater.intake.status import incidents
from headwater.intake.status.declared import declared
from headwater.intake.status.entities import File, apply
from headwater.intake.status.incidents import Wrong, WrongColumns
from headwater.intake.status.reports import record
from headwater.store.database import Database
from headwater.store.status import status as store

DECLARED = """
entity: weather
period: {every: day, from: 2024-01-01}
stored_in: [file /weather]
---
entity: delays
period: {every: day, from: 2024-01-01}
stored_in: [file /delays]
depends_on: {weather: same}
---
entity: winds
period: {every: day, from: 2024-01-01}
stored_in: [file /winds]
depends_on: {weather: same}
---
entity: raw
period: {every: day, from: 2024-01-01}
stored_in: [file /raw]
depends_on: {weather: same}
---
entity: by_hand
period: {every: day, from: 2024-01-01}
depends_on: {weather: {dates: same, columns: [wind]}}
---
entity: monthly
period: {every: month, from: 2024-01-01}
depends_on: {winds: all_month, delays: all_month}
"""
DAYS = "2024-03-01..2024-03-10"
SAME = "DIRECT:IDENTITY"


class Weather:
    """These entities, made once by jobs that reported columns: delays over a dataset that is no entity, winds from the wind alone, raw from unknown columns."""

    def __init__(self, database: Database, run: Any) -> None:
        self.database, self.run, self.numbers = database, run, itertools.count(1)
        run(apply(database, [File("entities.yaml", DECLARED)], "tests"))
        self.told("join", ["/weather"], "/joined", ["day", "temp", "wind"], day="day", temp="temp", wind="wind")
        self.told("delay", ["/joined"], "/delays", ["day", "mean"], source="/joined", day="day", mean="temp")
        self.told("wind", ["/weather"], "/winds", ["day", "most", "n"], day="day", most="wind", n=None)
        self.told("copy", ["/weather"], "/raw", ["day", "temp"])
        self.say("weather", DAYS, 0)
        for entity in ("delays", "winds", "raw", "by_hand"):
            self.say(entity, DAYS, 1)
        self.say("monthly", "2024-03", 2)

    def told(
        self, job: str, inputs: list[str], output: str, names: list[str], *, source: str = "", whole: str = "", hours: float = 1, type_: str = "COMPLETE",
        **made: str | None,
    ) -> None:  # fmt: skip
        """A run: what it wrote has these columns, and each of `made` is made from a column of the source, or from nothing."""
        place = source or next(iter(inputs), "")
        fields = {name: [(place, each, SAME)] if each else [] for name, each in made.items()}
        facets = schema(*names)
        if fields:
            facets |= columns(fields, [(place, whole, "INDIRECT:FILTER")] if whole else [])
        event = run_event(type_, next(self.numbers), job, inputs, [dataset(output, **facets)], at=at(hours).isoformat())
        self.run(Intake(self.database).accept(encoded(event)))

    def streamed(self, job: str, source: str, output: str, names: list[str], **made: str | None) -> None:
        """A stream that fails after a checkpoint."""
        facets = schema(*names) | columns({name: [(source, each, SAME)] if each else [] for name, each in made.items()})
        number, streaming = next(self.numbers), {"jobType": facet(processingType="STREAMING", integration="SPARK")}
        for type_, hours in (("START", 1.0), ("RUNNING", 1.5), ("FAIL", 2.0)):
            told = dataset(output, **facets)
            event = run_event(type_, number, job, [source], [told], at=at(hours).isoformat(), job_facets=streaming)
            self.run(Intake(self.database).accept(encoded(event)))

    def above(self, run: int, inputs: list[str], output: str) -> None:
        """A run without columns; a run below it, the last that was reported, wrote the same."""
        event = run_event("COMPLETE", 900, "task", inputs, [output], at=at(1).isoformat())
        self.run(Intake(self.database).accept(encoded(event)))
        below = run_event("COMPLETE", run, "wind", run_facets=parent(900, "task"), at=at(1.2).isoformat())
        self.run(Intake(self.database).accept(encoded(below)))

    def say(self, entity: str, instances: str, hours: float) -> None:
        self.run(record(self.database, [says(entity, "produced", instances, at=at(hours))]))

    def open_(self, *names: str, instances: str = "2024-03-05", entity: str = "weather") -> incidents.Opened:
        wrong = [WrongColumns(entity, [instances], list(names))]
        return self.run(incidents.open_(self.database, wrong, "stuck", "ada"))

    def wrong(self, id_: Any) -> dict[str, list[str]]:
        """Return the instances of each entity that are wrong now because of an incident."""
        return self.run(self._wrong(str(id_)))

    async def _wrong(self, ref: str) -> dict[str, list[str]]:
        async with self.database.connection() as connection:
            held = await declared(connection)
            runs = await store.marks_by_ref(connection, ["tainted", "inherited"], ref)
        return {
            held.names[id_]: ranges.written(held.instances(held.names[id_]), marks.of("tainted", "inherited"))
            for id_, marks in by_entity(runs).items()
        }

    def ready(self, entity: str, instance: str) -> bool:
        return self.run(ready(self.database, [Asked(entity, [instance])])).ready


@pytest.fixture
def weather(database: Database, run: Any) -> Weather:
    return Weather(database, run)


DAY = ["2024-03-05"]
SPREAD = {"weather": DAY, "delays": DAY, "raw": DAY, "monthly": ["2024-03"]}


def test_who_used_other_columns_is_not_wrong(weather: Weather) -> None:
    found = weather.open_("temp")
    assert {hit.entity: hit.columns for hit in found.hits} == {
        "weather": ["temp"],
        "delays": ["mean"],  # over a dataset that no entity is stored in
        "raw": None,  # no columns were reported
        "monthly": None,  # nor is it stored anywhere
    }
    assert weather.wrong(found.id) == SPREAD
    shown = weather.run(answers.incident(weather.database, found.id))
    assert {(one.entity, one.upstream) for one in shown.unaffected} == {("winds", "weather"), ("by_hand", "weather")}
    assert {one.entity: one.columns for one in shown.entities}["delays"] == ["mean"]


def test_of_the_other_column_others_are_wrong(weather: Weather) -> None:
    found = weather.open_("WIND")  # as databases do, in any case
    assert weather.wrong(found.id) == {
        "weather": DAY,
        "winds": DAY,
        "raw": DAY,
        "by_hand": DAY,
        "monthly": ["2024-03"],
    }


def test_where_no_column_is_named_all_are(weather: Weather) -> None:
    found = weather.open_()
    assert set(weather.wrong(found.id)) == {"weather", "delays", "winds", "raw", "by_hand", "monthly"}
    assert {hit.columns for hit in found.hits} == {None}
    both = [WrongColumns("weather", ["2024-03-05"], ["temp"]), Wrong("weather", ["2024-03-06"])]
    more = weather.run(incidents.open_(weather.database, both, "stuck", "ada"))
    assert "winds" in weather.wrong(more.id)


def test_a_column_of_which_nothing_is_told_may_be_made_from_any(weather: Weather) -> None:
    weather.told("wind", ["/weather"], "/winds", ["day", "most", "n"], hours=1.5, day="day", most="wind")
    assert "winds" in weather.wrong(weather.open_("temp").id)


def test_what_decides_about_rows_decides_about_all_columns(weather: Weather) -> None:
    weather.told(
        "wind", ["/weather"], "/winds", ["day", "most", "n"], hours=1.5, whole="temp", day="day", most="wind", n=None
    )
    found = weather.open_("temp")
    assert {hit.entity: hit.columns for hit in found.hits}["winds"] is None


@pytest.mark.parametrize(("hours", "wrong"), [(1.5, True), (-30.0, False)])
def test_what_was_made_by_another_statement_counts_from_when_the_wrong_ones_were_made(
    weather: Weather, hours: float, wrong: bool
) -> None:
    weather.told(
        "wind", ["/weather"], "/winds", ["day", "most", "n"], hours=hours, day="day", most="temp", n=None
    )  # as it was once
    weather.told("wind", ["/weather"], "/winds", ["day", "most", "n"], hours=9, day="day", most="wind", n=None)
    assert ("winds" in weather.wrong(weather.open_("temp").id)) == wrong


def test_a_run_that_failed_tells_nothing_of_columns_and_nothing_else(weather: Weather) -> None:
    weather.told("wind", ["/weather"], "/winds", ["day", "most", "n"], hours=1.5, type_="FAIL")
    assert "winds" not in weather.wrong(weather.open_("temp").id)


def test_columns_that_a_stream_told_before_it_failed_count(weather: Weather) -> None:
    weather.streamed("wind", "/weather", "/winds", ["day", "most", "n"], day="day", most="temp", n=None)
    assert "winds" in weather.wrong(weather.open_("temp").id)


def test_of_what_a_run_below_tells_the_run_above_need_not(weather: Weather) -> None:
    weather.above(3, ["/weather"], "/winds")
    assert "winds" not in weather.wrong(weather.open_("temp").id)


def test_the_same_edge_by_two_jobs_is_both(weather: Weather) -> None:
    weather.told("other", ["/weather"], "/winds", ["day", "most", "n"], hours=1.5, day="day", most="temp", n=None)
    assert "winds" in weather.wrong(weather.open_("temp").id)


def test_wrong_columns_that_are_not_used_hold_nothing_back(weather: Weather) -> None:
    weather.open_("temp")
    assert weather.ready("winds", "2024-03-05")
    assert weather.ready("by_hand", "2024-03-05")
    assert not weather.ready("delays", "2024-03-05")
    assert not weather.ready("raw", "2024-03-05")
    weather.open_("wind")
    assert not weather.ready("winds", "2024-03-05")


def test_what_is_made_after_it_is_judged_by_columns_too(weather: Weather) -> None:
    id_ = weather.open_("temp").id
    for entity in ("winds", "delays", "by_hand"):
        weather.say(entity, "2024-03-05", 5)
    assert weather.wrong(id_) == SPREAD


def test_who_begins_to_use_a_wrong_column_is_wrong_from_then_on(weather: Weather) -> None:
    id_ = weather.open_("temp").id
    weather.say("winds", "2024-03-05", 5)
    assert "winds" not in weather.wrong(id_)
    weather.told("wind", ["/weather"], "/winds", ["day", "most", "n"], hours=6, day="day", most="temp", n=None)
    weather.say("winds", "2024-03-05", 6)
    assert weather.wrong(id_)["winds"] == DAY
    shown = weather.run(answers.incident(weather.database, id_))
    assert {(one.entity, one.upstream) for one in shown.unaffected} == {("by_hand", "weather")}
    assert {one.entity: one.columns for one in shown.entities}["winds"] is None


def test_who_is_right_again_is_told_by_columns(weather: Weather) -> None:
    id_ = weather.open_("temp").id
    weather.run(incidents.confirm(weather.database, id_, [Wrong("weather", ["2024-03-05"])], "ada"))
    assert weather.wrong(id_) == {}
    other = weather.open_("temp").id
    weather.run(incidents.retract(weather.database, other, "ada"))
    assert weather.wrong(other) == {}


def test_an_unknown_column_is_refused(weather: Weather) -> None:
    weather.open_("wnd")  # as long as no schema was reported
    weather.told("load", [], "/weather", ["day", "temp", "wind"], hours=0.5)
    with pytest.raises(InvalidStatus, match=r"'weather' has no column 'wnd'; did you mean 'wind'\?"):
        weather.open_("wnd")


def test_lineage_that_is_not_kept_is_not_guessed(weather: Weather) -> None:
    async def drop() -> None:
        async with weather.database.transaction() as connection:
            await connection.execute("update server_state set log_dropped_before = %s", [at(0) + dt.timedelta(days=2)])

    weather.run(drop())
    with pytest.raises(InvalidStatus, match=r"leave out the columns"):
        weather.open_("temp")
    assert "winds" in weather.wrong(weather.open_().id)


def test_trying_it_out_keeps_nothing(weather: Weather) -> None:
    wrong = [WrongColumns("weather", ["2024-03-05"], ["temp"])]
    found = weather.run(incidents.open_(weather.database, wrong, "stuck", "ada", dry_run=True))
    assert {hit.entity for hit in found.hits} == {"weather", "delays", "raw", "monthly"}

    async def kept() -> list[Any]:
        async with weather.database.connection() as connection:
            row = await connection.execute(
                "select (select count(*) from incident_columns), (select count(*) from incident_unaffected)"
            )
            return list(await row.fetchone() or ())

    assert weather.run(asyncio.wait_for(kept(), 10)) == [0, 0]
