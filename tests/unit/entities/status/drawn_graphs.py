"""Random graphs of entities with what is known of them, and what is reached in them instance by instance: pairs, sets and nothing clever."""

import datetime as dt
import random
from typing import NamedTuple

from tests.unit.entities.time.drawn_tables import tabled

from headwater.entities.needs.graph import Dependency, Entity, Graph, Link
from headwater.entities.needs.kinds import Snapshot, Static, TimeSeries
from headwater.entities.needs.walk import Facts
from headwater.entities.time.calendar import Calendar
from headwater.entities.time.dates import Dates
from headwater.entities.time.instances import Instances
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.errors import InvalidEntities

Instance = tuple[str, int]
Pairs = set[tuple[int, int]]

AROUND = [
    ("Europe/Paris", dt.date(2025, 3, 30)),
    ("Europe/Paris", dt.date(2025, 10, 26)),
    ("Australia/Lord_Howe", dt.date(2024, 4, 7)),
    ("America/Sao_Paulo", dt.date(2018, 11, 4)),
    ("Pacific/Apia", dt.date(2011, 12, 30)),
]
EVERY = ["day", "day", "day", "12h", "6h", "3 days", "week", "month"]
ANY = ["same", "last 3 days", "all_week", "everything", "last 1 month", "next", "last 30 hours", "month_to_date"]
EARLIER = [
    "previous",
    "previous 2",
    "previous 3",
    "-2 days",
    "-1w",
    "-36h",
    "-1mo",
    "last 3 days ending previous",
    "from -6d to -3d",
    "from -6d to -4d",
    "from -40h to -30h",
]


class World(NamedTuple):
    graph: Graph
    exist: dict[str, Ordinals]
    cuts: dict[int, Ordinals]  # by a link's id
    pairs: list[tuple[Link, Pairs]]  # (downstream, upstream), all that pass anything on

    def facts(self) -> Facts:
        return Facts(
            exist=self.exist.__getitem__,
            cuts=(lambda link: self.cuts.get(id(link), NONE)) if self.cuts else None,
        )


def entities(chance: random.Random, tables: float = 0.0) -> list[Entity]:
    """Mostly a graph without cycles, with edges back to what is earlier here and there. `tables`: which share of dependencies has a `custom` one."""
    zone, date = chance.choice(AROUND)
    names = [f"e{place}" for place in range(chance.randrange(1, 7))]
    found = []
    static: set[str] = set()
    for name in names:
        if chance.random() < 0.08:
            static.add(name)
    for place, name in enumerate(names):
        calendar = Calendar.every(chance.choice(EVERY), chance.choice([zone, zone, "UTC"]))
        start, end = (calendar.at(_midnight(date + dt.timedelta(days=days))) for days in (-25, 20))
        needs = []
        for upstream in chance.sample(names[:place], min(place, chance.randrange(3))):
            needs.append(
                _dependency(chance, upstream, ANY if chance.random() < 0.7 else EARLIER, {name, upstream} & static)
            )
        if chance.random() < 0.35 and name not in static:
            needs.append(_dependency(chance, name, EARLIER, set()))
        if chance.random() < 0.3 and place + 1 < len(names):
            other = chance.choice(names[place + 1 :])
            needs.append(_dependency(chance, other, EARLIER, {name, other} & static))
        kind = chance.choice([TimeSeries(), TimeSeries(), TimeSeries(), Snapshot("carry")])
        states = (
            {"completed": tuple(needs)} if len(needs) < 3 else {"partial": (needs[0],), "completed": tuple(needs[1:])}
        )
        if name in static:
            found.append(Entity(name, Static(), None, states))
        else:
            found.append(Entity(name, kind, Instances(calendar, start, max(end, start + 1)), states))
    return tabled(chance, found, tables) if tables else found


def _midnight(date: dt.date) -> dt.datetime:
    return dt.datetime.combine(date, dt.time(), dt.UTC)


def _dependency(chance: random.Random, upstream: str, texts: list[str], static: set[str]) -> Dependency:
    if static:
        return Dependency(upstream)
    said: dict[str, object] = {"dates": chance.choice(texts)}
    if chance.random() < 0.2:
        said["before_start"] = "ignore"
    return Dependency(upstream, Dates.of(said))


def world(chance: random.Random, tables: float = 0.0) -> World | None:
    """None where the entities drawn have a cycle without lag."""
    try:
        graph = Graph(entities(chance, tables))
    except InvalidEntities as wrong:
        if "cycle without lag" not in wrong.message:
            raise
        return None
    exist, every = {}, {}
    for name, entity in graph.entities.items():
        every[name] = entity.instances.all.members().tolist() if entity.instances else [0, 1, 2]
        share = chance.choice([0.0, 0.0, 0.1, 0.4])
        exist[name] = Ordinals.of([k for k in every[name] if chance.random() >= share])
    links = [link for name in graph.entities for link in graph.upstream(name)]
    cuts = {}
    some_cuts = chance.random() < 0.4
    for link in links:
        mine = exist[link.downstream].members().tolist()
        if some_cuts and chance.random() < 0.5:
            cuts[id(link)] = Ordinals.of([k for k in mine if chance.random() < 0.15])
    pairs = []
    for link in links:
        cut = cuts.get(id(link), NONE)
        pairs.append((link, {(k, u) for k, u in _declared(link, exist, every) if k not in cut}))
    return World(graph, exist, cuts, pairs)


def _declared(link: Link, exist: dict[str, Ordinals], every: dict[str, list[int]]) -> Pairs:
    """Return the needs of each instance, asked for one at a time; instances that do not exist are among them, on both sides: they may be
    roots."""
    mine = exist[link.downstream].members().tolist()
    if link.carried:
        return set(zip(mine[1:], mine, strict=False))
    if link.edge is None:
        return {(k, u) for k in every[link.downstream] for u in every[link.upstream]}
    found: Pairs = set()
    for k in every[link.downstream]:
        found |= {(k, u) for u in link.edge.need(Ordinals.between(k, k + 1)).members().tolist()}
    return found


def reached(world: World, roots: set[Instance], forward: bool) -> dict[Instance, int]:
    """Breadth first from the roots, each with the number of pairs that it took."""
    out: dict[Instance, list[Instance]] = {}
    for link, pairs in world.pairs:
        for k, u in pairs:
            down, up = (link.downstream, k), (link.upstream, u)
            start, end = (up, down) if forward else (down, up)
            out.setdefault(start, []).append(end)
    found = dict.fromkeys(roots, 0)
    queue = list(roots)
    for at in queue:
        for name, k in out.get(at, ()):
            if (name, k) not in found and k in world.exist[name]:
                found[name, k] = found[at] + 1
                queue.append((name, k))
    return found


def circular(world: World) -> bool:
    """Return whether any instance needs itself: leaves are taken off until nothing is left, or a cycle."""
    needs: dict[Instance, set[Instance]] = {}
    for link, pairs in world.pairs:
        for k, u in pairs:
            if link.edge is not None or link.carried:
                needs.setdefault((link.downstream, k), set()).add((link.upstream, u))
    while needs:
        free = {at for at, others in needs.items() if not others & needs.keys()}
        if not free:
            return True
        for at in free:
            del needs[at]
    return False
