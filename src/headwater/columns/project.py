"""Many texts as one project: each is analysed after those that create what it reads, and sees the columns that they made.

A text has a session of its own, so that its temporary tables and defaults end with it; permanent tables and views are shared. Texts are parsed
once: what other texts make is put in by resolving their forms again (`analysis.resolve`).
"""

import heapq
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import msgspec

from headwater.columns import form
from headwater.columns.analysis import analyse, resolve
from headwater.columns.catalog import Catalog, GrowingCatalog, table_key
from headwater.columns.dialect import fold, rules
from headwater.columns.result import Level, Statement, TableName
from headwater.columns.session import Session
from headwater.columns.shape.proofs import TableProofs

_CREATES = frozenset({"CREATE", "CLONE", "LIKE", "SWAP"})


class Text(msgspec.Struct, frozen=True):
    """One text of a project. `place`: the file or name by which errors and answers call it, unique in the project.

    `target`: the table or view that a tool builds from its last query (dbt's models are queries without one), as the database spells it;
    None: the text says itself what it writes. `view`: what the target is if it is no table; an ephemeral one is a name for its query.
    `columns`: the columns of a target that has no query, as a seed's; `rows`: a digest of what it holds, "" if it is not known; `values`: one of each
    column, in the order of its rows, none if they are not known.
    `source`: a digest of what a tool made the text of, "" if it is the text itself. `keys`: sets of columns of the target, in lower case, that a tool
    proves unique whenever it builds it. `types`: of `columns`, as the tool gives them to a target without a query, "" where it is not known.
    `contract`: columns and types without which the tool refuses to build the target.
    `unordered`: a digest of the rows without their order, "" if it is not known. `proofs`: facts of the target that a tool proves on each build.
    """

    place: str
    text: str
    target: TableName | None = None
    view: Literal["", "view", "materialized", "ephemeral"] = ""
    columns: tuple[str, ...] = ()
    rows: str = ""
    source: str = ""
    keys: tuple[tuple[str, ...], ...] = ()
    types: tuple[str, ...] = ()
    contract: tuple[tuple[str, str], ...] = ()
    values: tuple[str, ...] = ()
    unordered: str = ""
    proofs: TableProofs = TableProofs()


class AnalysedText(msgspec.Struct, frozen=True):
    """A text with its statements, in the text's order."""

    text: Text
    statements: tuple[Statement, ...]


class _Parsed(msgspec.Struct):
    """A text as it was analysed alone. `creates`, `reads`: names of permanent tables; `reads` has those it inserts into, too."""

    text: Text
    statements: list[Statement]
    creates: list[TableName]
    reads: list[TableName]


class Project:
    """Analyses texts together, and again when some of them changed: only these are parsed then.

    `session` makes the session of one text: it holds the defaults for names and the conventions.
    """

    def __init__(
        self, dialect: str = "", catalog: Catalog | None = None, session: Callable[[], Session] = Session
    ) -> None:
        self.dialect = dialect
        self.catalog = catalog or Catalog(dialect=dialect)
        self.session = session
        self.cycles: list[tuple[str, ...]] = []
        """Places of texts of which each reads what another creates; they were read in the order given. Of the last analysis."""
        self._parsed: dict[str, _Parsed] = {}
        self._of_another: dict[tuple[object, ...], _Parsed] = {}

    def share_parsed(self, other: "Project") -> None:
        """Take the texts that another project has parsed, wherever they lie. Both must have the same dialect, catalog and sessions."""
        self._of_another = {_built(one.text): one for one in other._parsed.values()}

    def analyse(self, texts: Sequence[Text], advance: Callable[[], None] = lambda: None) -> Iterator[AnalysedText]:
        """Yield every text, each after those that create what it reads. `advance` is called for each text that was parsed.

        Raises ValueError for an unknown dialect, and for two texts of one place.
        """
        parsed: dict[str, _Parsed] = {}
        for text in texts:
            if text.place in parsed:
                raise ValueError(f"two texts are called {text.place}")
            before = self._parsed.get(text.place)
            if before is None or before.text != text:
                shared = self._of_another.get(_built(text))
                before = msgspec.structs.replace(shared, text=text) if shared is not None else self._parse(text)
            parsed[text.place] = before
            advance()
        self._parsed = parsed
        every = list(parsed.values())
        order, cycles = _ordered(_needs(every))
        self.cycles = [tuple(every[place].text.place for place in cycle) for cycle in cycles]
        catalog = GrowingCatalog(self.catalog.of(self.dialect))
        views = self.session().views
        for each in (every[place] for place in order):
            own = each.text.target is not None and table_key(each.text.target) in map(table_key, each.reads)
            for _ in range(
                2 if own else 1
            ):  # What reads its own target, as an incremental model does, sees the columns it makes.
                session = self.session()
                session.views.update(views)
                statements = tuple(resolve(one, catalog, session) for one in each.statements)
                _share(session, catalog, each.text.place, statements)
            if each.text.target is not None and each.text.columns:
                catalog.record(each.text.target, each.text.columns)
            views = session.views
            yield AnalysedText(each.text, statements)

    def _parse(self, text: Text) -> _Parsed:
        session = self.session()
        statements = analyse(text.text, self.dialect, self.catalog, session)
        if text.target is not None:
            statements = _put_target(statements, text, text.target)
        creates: dict[TableName, None] = {text.target: None} if text.target else {}
        reads: dict[TableName, None] = {}
        for one in statements:
            reads.update(dict.fromkeys(one.reads))
            reads.update(dict.fromkeys(name for name in one.writes if name != text.target))
            creates.update((change.table, None) for change in one.changes if change.action in _CREATES)
            creates.update((change.other, None) for change in one.changes if change.action == "RENAME" and change.other)
        temporary = {change.table for one in statements for change in one.changes if change.temporary}
        own = {table_key(name) for name in temporary}
        return _Parsed(
            text,
            statements,
            [name for name in creates if table_key(name) not in own],
            [name for name in reads if table_key(name) not in own],
        )


def _built(text: Text) -> tuple[object, ...]:
    """Return all of a text that its statements are made of."""
    return text.text, text.target, text.view


def _put_target(statements: list[Statement], text: Text, target: TableName) -> list[Statement]:
    """Return the statements with the last query made one that creates `target`."""
    for place in range(len(statements) - 1, -1, -1):
        lowered = statements[place].form
        if isinstance(lowered, form.Lowered) and isinstance(lowered.form, form.QueryForm):
            rule = rules(lowered.dialect)
            keys = tuple(part if rule.tables_sensitive else fold(part, True, rule) for part in target)
            spelling = {key: part for key, part in zip(keys, target, strict=True) if key != part}
            written = form.WriteForm(form.Target(keys), "CREATE", lowered.form.query, creates=True, view=text.view)
            kind = "CREATE VIEW" if text.view else "CREATE TABLE"
            changed = msgspec.structs.replace(lowered, form=written, kind=kind, spelling=lowered.spelling | spelling)
            made = msgspec.structs.replace(statements[place], form=changed, kind=kind)
            return [*statements[:place], made, *statements[place + 1 :]]
    return statements


def _share(session: Session, catalog: GrowingCatalog, place: str, statements: Sequence[Statement]) -> None:
    """Put into the catalog what a text made of permanent tables."""
    guessed = {
        table_key(flow.target): f"{place}:{one.line} makes it and is understood in part"
        for one in statements
        if one.level != Level.FULL
        for flow in one.flows
        if flow.target is not None
    }
    for name in (*session.dropped, *session.forgotten):
        catalog.forget(name)
    for name, schema in session.tables.items():
        if name not in session.temporary:
            catalog.record(schema.name, schema.columns, schema.own, guessed.get(table_key(name), ""), schema.fields)


def _needs(parsed: Sequence[_Parsed]) -> list[set[int]]:
    """Return for each text the places of those that create what it reads.

    Names match by their last parts, as schemas do (`catalog.Catalog.find`); of several that may be meant each comes before.
    """
    creators: dict[str, list[tuple[TableName, int]]] = {}
    for place, one in enumerate(parsed):
        for name in one.creates:
            creators.setdefault(name[-1].lower(), []).append((table_key(name), place))
    needs: list[set[int]] = []
    for place, one in enumerate(parsed):
        found: set[int] = set()
        for name in one.reads:
            key = table_key(name)
            for other, creator in creators.get(key[-1], ()):
                shorter = min(len(key), len(other))
                if key[-shorter:] == other[-shorter:]:
                    found.add(creator)
        needs.append(found - {place})
    return needs


def _ordered(needs: Sequence[set[int]]) -> tuple[list[int], list[list[int]]]:
    """Return an order in which each follows what it needs, else the order given, and the cycles that had to be broken for it."""
    followers: list[list[int]] = [[] for _ in needs]
    for place, before in enumerate(needs):
        for other in before:
            followers[other].append(place)
    missing = [len(before) for before in needs]
    ready = [place for place, count in enumerate(missing) if not count]
    order: list[int] = []
    done = [False] * len(needs)
    cycles: list[list[int]] = []
    while len(order) < len(needs):
        if not ready:
            cycles.append(_cycle(needs, done))
            ready = [cycles[-1][0]]
        place = heapq.heappop(ready)
        done[place] = True
        order.append(place)
        for follower in followers[place]:
            missing[follower] -= 1
            if missing[follower] == 0 and not done[follower]:
                heapq.heappush(ready, follower)
    return order, cycles


def _cycle(needs: Sequence[set[int]], done: Sequence[bool]) -> list[int]:
    """Return one cycle among texts that are not done, from its first text on. There must be one."""
    at = done.index(False)
    path: dict[int, None] = {}
    while at not in path:
        path[at] = None
        at = min(other for other in needs[at] if not done[other])
    walked = list(path)
    cycle = walked[walked.index(at) :]
    first = cycle.index(min(cycle))
    return cycle[first:] + cycle[:first]
