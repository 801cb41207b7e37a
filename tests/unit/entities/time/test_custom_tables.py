"""Tables of what needs what, both ways, against pairs; and what is said of tables that are wrong."""

import random

import numpy as np
import pytest
from tests.scale import full
from tests.unit.entities.time.drawn_tables import Drawn, other, table

from headwater.entities.needs.edges import Edge
from headwater.entities.needs.graph import Dependency, Entity, Graph
from headwater.entities.needs.kinds import TimeSeries
from headwater.entities.needs.lags import NEVER, least
from headwater.entities.status.taint import suspects, tainted
from headwater.entities.time import custom_tables, keys, ranges
from headwater.entities.time.dates import Dates
from headwater.entities.time.instances import Instances
from headwater.entities.time.ordinals import Ordinals
from headwater.errors import InvalidDates, InvalidEntities

WEEKS = Instances.of({"every": "week", "from": "2022-01-03"})
COMPARED = Instances.of({"every": "week", "from": "2023-01-02"})
DAYS = Instances.of({"every": "day", "from": "2024-01-01", "until": "2025-01-01"})


def one(ordinal: int) -> Ordinals:
    return Ordinals.between(ordinal, ordinal + 1)


def check(seed: int) -> int:
    """Compare one table, alone and with the other direction written. Returns the number of answers compared."""
    chance = random.Random(seed)
    drawn = table(chance)
    custom = drawn.said["custom"]
    assert isinstance(custom, dict)
    edge = Edge(drawn.downstream, drawn.upstream, Dates.of(drawn.said))
    count = compared(chance, drawn, edge, drawn.pairs)
    if mirror := next(iter((rest := other(drawn)).values())):
        inside = {pair for pair in drawn.pairs if pair[1] in drawn.upstream.all}
        both = Edge(drawn.downstream, drawn.upstream, Dates.of(drawn.said | {"custom": custom | rest}))
        mine = Edge(drawn.downstream, drawn.upstream, Dates.of(drawn.said | {"custom": rest}))
        for each in (both, mine):
            assert {
                (k, u)
                for k in drawn.downstream.all.members().tolist()
                for u in (each.need(one(k)) & each.upstream.all).members().tolist()
            } == inside, seed
        # A row that is not written, or another period in it, is found.
        assert isinstance(mirror, dict)
        left = chance.choice(sorted(mirror))
        for wrong in (
            {key: value for key, value in mirror.items() if key != left},
            mirror | {left: changed(chance, drawn, rest, mirror[left])},
        ):
            if wrong:
                said = drawn.said | {"custom": custom | {next(iter(rest)): wrong}}
                with pytest.raises(InvalidDates, match="needs and affects disagree"):
                    Edge(drawn.downstream, drawn.upstream, Dates.of(said))
        count += 4
    return count


def changed(chance: random.Random, drawn: Drawn, rest: dict[str, object], named: list[str]) -> list[str]:
    """Other instances than these."""
    if named:
        return named[1:]
    some = drawn.upstream if "needs" in rest else drawn.downstream
    return [keys.key(some.calendar, chance.choice(some.all.members().tolist()))]


def compared(chance: random.Random, drawn: Drawn, edge: Edge, pairs: set[tuple[int, int]]) -> int:
    downs = drawn.downstream.all.members().tolist()
    first, end = edge.upstream.all.first - 40, edge.upstream.all.end + 40
    window = Ordinals.between(first, end)
    needs = {k: Ordinals.of([u for at, u in pairs if at == k]) for k in downs}
    for k in downs:
        assert edge.need(one(k)) & window == needs[k], (k, drawn)
    for u in range(first, end):
        users = Ordinals.of([k for k, at in pairs if at == u])
        assert edge.affected(one(u)) == users, (u, drawn)
    for _ in range(8):
        some = Ordinals.of(chance.sample(downs, chance.randrange(1, min(len(downs), 9))))
        assert edge.need(some) & window == Ordinals().union(*(needs[k] for k in some.members().tolist()))
        changed = Ordinals.of([chance.randrange(first, end) for _ in range(chance.randrange(1, 9))])
        among = Ordinals.between(chance.choice(downs), chance.choice(downs) + 5)
        users = Ordinals.of([k for k in downs if needs[k] & changed])
        assert edge.affected(changed) == users
        assert edge.affected(changed, among) == users & among
        if users:
            wanted = [(needs[k] & changed).first for k in users.members().tolist()]
            assert edge.first_needed(users.members(), changed).tolist() == wanted
        last, has = edge.spans.last_of(np.array(downs), changed & edge.needed)
        wanted = [(needs[k] & changed).end - 1 if needs[k] & changed else None for k in downs]
        assert [each if there else None for each, there in zip(last.tolist(), has.tolist(), strict=True)] == wanted
    upstream = edge.upstream.calendar
    incomplete = Ordinals.of([k for k in downs if edge.need(one(k)) - edge.upstream.all])
    assert edge.incomplete() == incomplete
    assert edge.first_complete() == next((k for k in downs if k not in incomplete), None)
    starts = np.array([chance.choice(downs) for _ in range(12)])
    ends = starts + np.array([chance.choice([0, 1, 1, 1, 2, 5]) for _ in range(12)])
    for start, stop, low, high, whole in zip(starts, ends, *edge.hulls(starts, ends), strict=True):
        need = edge.need(Ordinals.between(start, stop))
        assert not whole or need == Ordinals.between(low, high), drawn
        assert (not need and low == high) or low <= need.first < need.end <= high, drawn
    until = {k: upstream.begins([edge.need(one(k)).end]) for k in downs if edge.need(one(k))}
    lag = min((int((edge.downstream.calendar.begins([k + 1]) - end)[0]) for k, end in until.items()), default=NEVER)
    # Instances before the upstream's start are not needed, and count all the same.
    assert least(edge) <= lag if edge.clipped else least(edge) == lag, drawn
    return len(downs) + end - first + 40


@pytest.mark.parametrize("seed", range(full(40, 12)))
def test_random_tables_agree_with_pairs(seed: int) -> None:
    check(seed)


def named(found: Ordinals, instances: Instances) -> list[str]:
    return ranges.written(instances, found)


def at(instances: Instances, key: str) -> Ordinals:
    return ranges.read(instances, [key])


def test_a_feast_that_moves_is_compared_with_itself() -> None:
    needs = {"2024-W13": "2023-W14", "2024-W14": "2023-W15", "2024-W15": ["2023-W13", "2023-W16"], "2026-W53": []}
    edge = Edge(COMPARED, WEEKS, Dates.of({"dates": "same - 364 days", "custom": {"needs": needs}}))
    for week, expected in (
        ("2024-W12", ["2023-W12"]),
        ("2024-W13", ["2023-W14"]),
        ("2024-W15", ["2023-W13", "2023-W16"]),
        ("2024-W16", ["2023-W16"]),
        ("2026-W52", ["2025-W52"]),
        ("2026-W53", []),
        ("2024-W12..2024-W15", ["2023-W12..2023-W16"]),
    ):
        assert named(edge.need(at(COMPARED, week)), WEEKS) == expected
    for week, users in (
        ("2023-W13", ["2024-W15"]),
        ("2023-W14", ["2024-W13"]),
        ("2023-W16", ["2024-W15..2024-W16"]),
        ("2026-W01", []),
        ("2025-W52", ["2026-W52"]),
    ):
        assert named(edge.affected(at(WEEKS, week)), COMPARED) == users


def test_a_day_that_holds_three_and_one_without_needs() -> None:
    affects = {"2024-03-10": [], "2024-03-11": [], "2024-03-12": "2024-03-10..2024-03-12"}
    said: dict[str, object] = {"custom": {"affects": affects}}
    edge = Edge(DAYS, DAYS, Dates.of(said))
    assert named(edge.need(at(DAYS, "2024-03-10")), DAYS) == ["2024-03-12"]
    assert named(edge.need(at(DAYS, "2024-03-09..2024-03-13")), DAYS) == ["2024-03-09", "2024-03-12..2024-03-13"]
    assert named(edge.affected(at(DAYS, "2024-03-12")), DAYS) == ["2024-03-10..2024-03-12"]
    assert edge.resolve(at(DAYS, "2024-03-10").first, DAYS.all) == at(DAYS, "2024-03-12")
    needs = {"2024-03-10..2024-03-11": "2024-03-12"}
    both = Edge(DAYS, DAYS, Dates.of({"custom": {"needs": needs, "affects": affects}}))
    assert both.affected(at(DAYS, "2024-03-12")) == edge.affected(at(DAYS, "2024-03-12"))
    everything = Edge(DAYS, DAYS, Dates.of({"dates": "everything", "custom": {"affects": {"2024-03-10": []}}}))
    assert named(everything.need(at(DAYS, "2024-03-12")), DAYS) == ["2024-01-01..2024-03-09", "2024-03-11..2024-03-12"]
    assert not everything.affected(at(DAYS, "2024-03-10"))


def test_longer_units_and_open_ends() -> None:
    table = {"2024-03": "2024-02", "..2024-01-05": "2024-01-01", "2024-12-30..": []}
    edge = Edge(DAYS, DAYS, Dates.of({"dates": "nothing", "custom": {"needs": table}}))
    assert named(edge.need(at(DAYS, "2024-03-17")), DAYS) == ["2024-02-01..2024-02-29"]
    assert named(edge.affected(at(DAYS, "2024-02-29")), DAYS) == ["2024-03-01..2024-03-31"]
    assert named(edge.affected(DAYS.all), DAYS) == ["2024-01-01..2024-01-05", "2024-03-01..2024-03-31"]
    all_ = Edge(DAYS, DAYS, Dates.of({"dates": "nothing", "custom": {"needs": {"*": "2024-01-01"}}}))
    assert named(all_.affected(at(DAYS, "2024-01-01")), DAYS) == ["2024-01-01..2024-12-31"]


def refused(custom: dict[str, object], dates: str = "same") -> list[list[str]]:
    with pytest.raises(InvalidDates) as told:
        Edge(DAYS, DAYS, Dates.of({"dates": dates, "custom": custom}))
    rows = told.value.detail["rows"]
    assert isinstance(rows, list)
    assert told.value.message == "; ".join(text for _, _, text in rows)
    return rows


def test_two_tables_are_compared_pair_by_pair() -> None:
    """A pair that only one of them says is found whichever it is, and wherever the other does not list it."""
    needs = {"2024-05-01": "2024-04-01"}
    right = {"2024-04-01": ["2024-04-01", "2024-05-01"], "2024-05-01": []}
    Edge(DAYS, DAYS, Dates.of({"custom": {"needs": needs, "affects": right}}))
    for wrong, row, pair in (
        ({"2024-04-01": ["2024-04-01", "2024-05-01"]}, ["needs", "2024-05-01"], "2024-05-01 does not need 2024-05-01"),
        (right | {"2024-04-01": "2024-05-01"}, ["affects", "2024-04-01"], "2024-04-01 needs 2024-04-01"),
        (right | {"2024-06-01": []}, ["affects", "2024-06-01"], "2024-06-01 needs 2024-06-01"),
        ({"2024-05-01": []}, ["needs", "2024-05-01"], "2024-05-01 needs 2024-04-01"),
    ):
        [(direction, key, text)] = refused({"needs": needs, "affects": wrong})
        assert [direction, key] == row
        assert f"disagree: {pair} by needs" in text


def test_more_than_can_be_compared_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(custom_tables, "MOST_COMPARED", 30)
    both = {"needs": {"2024-03": "2024-03-01"}, "affects": {"2024-03-01": "2024-03"}}
    [(direction, key, text)] = refused(both)
    assert (direction, key) == ("needs", "2024-03")
    assert "lists 31 instances" in text


def test_edges_of_equal_tables_are_one() -> None:
    def dates(key: str) -> Dates:
        return Dates.of({"custom": {"needs": {key: "2024-01-01"}}})

    needs = {"b": dates("2024-02-01"), "c": dates(" 2024-02-01"), "d": dates("2024-02-02"), "e": Dates.of("same")}
    graph = Graph(
        [
            Entity("a", TimeSeries(), DAYS),
            *(
                Entity(name, TimeSeries(), DAYS, {"completed": (Dependency("a", each),)})
                for name, each in needs.items()
            ),
        ]
    )
    edges = {name: graph.upstream(name)[0].edge for name in needs}
    assert edges["b"] is edges["c"]
    assert len({id(edge) for edge in edges.values()}) == 3
    assert str(graph.upstream("b")[0]) == "b ← a (same, custom)"


def test_a_table_may_make_a_cycle_and_may_break_one() -> None:
    def stock(dates: str, needs: dict[str, object]) -> Entity:
        said = Dates.of({"dates": dates, "custom": {"needs": needs}})
        return Entity("stock", TimeSeries(), DAYS, {"completed": (Dependency("stock", said),)})

    Graph([stock("previous", {"2024-03-01": "2024-01-01", "2024-03-02": []})])
    Graph([stock("nothing", {"2024-03-01": "2024-02-01"})])
    for dates, wrong in (("previous", "2024-03-01"), ("previous", "2024-12-31"), ("same", "2024-01-01")):
        with pytest.raises(InvalidEntities, match="without lag"):
            Graph([stock(dates, {"2024-03-01": wrong})])


def test_a_long_chain_with_exceptions_is_closed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise it is a round for each of 87,660 hours."""
    steps = 0
    affected, need = Edge.affected, Edge.need

    def counted_affected(self: Edge, changed: Ordinals, among: Ordinals | None = None) -> Ordinals:
        nonlocal steps
        steps += 1
        return affected(self, changed, among)

    def counted_need(self: Edge, wanted: Ordinals) -> Ordinals:
        nonlocal steps
        steps += 1
        return need(self, wanted)

    monkeypatch.setattr(Edge, "affected", counted_affected)
    monkeypatch.setattr(Edge, "need", counted_need)
    hours = Instances.of({"every": "hour", "from": "2015-01-01", "until": "2025-01-01"})
    for custom, after, before in (
        (
            {"needs": {"2020-01-01T05": "2019-12-31T03", "2021-01-01T05": []}},
            ["2015-01-01T05..2021-01-01T04"],
            ["2015-01-01T00..2019-12-31T03", "2020-01-01T05..2020-06-01T00"],
        ),
        (
            {"affects": {"2020-01-01T05": "2020-02-01T05"}},
            ["2015-01-01T05..2020-01-01T05", "2020-02-01T05..2024-12-31T23"],
            ["2015-01-01T00..2020-06-01T00"],
        ),
    ):
        dates = Dates.of({"dates": "previous", "custom": custom})
        graph = Graph([Entity("a", TimeSeries(), hours, {"completed": (Dependency("a", dates),)})])
        assert named(tainted(graph, {"a": at(hours, "2015-01-01T05")}).hits["a"].instances, hours) == after
        assert named(suspects(graph, {"a": at(hours, "2020-06-01T00")}).hits["a"].instances, hours) == before
    assert 0 < steps < 50
