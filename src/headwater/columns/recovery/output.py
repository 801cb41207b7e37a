"""T-SQL's OUTPUT … INTO: rows that a statement changes go into another table, too. The clause is read apart from its statement, as a query of
`inserted` and `deleted`: the parser takes its table for a function, loses it in MERGE, and knows it before none of WHERE and VALUES."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlglot.tokenizer_core import TokenType

from headwater.columns import form
from headwater.columns.kinds import AS_IS
from headwater.columns.recovery.phrase import Phrase, inserted_token

PARSERS = frozenset({"tsql", "fabric"})
_CHANGING = frozenset({"INSERT", "UPDATE", "DELETE", "MERGE", "WITH"})
_ROWS = frozenset({"INSERTED", "DELETED", "$ACTION"})
_ENDS = frozenset({"VALUES", "SELECT", "EXEC", "EXECUTE", "DEFAULT", "FROM", "WHERE", "OPTION", "OUTPUT", "WITH", ";"})


class Clause(NamedTuple):
    """One OUTPUT: the tokens of a query of its list, and the table it goes into; none, where the caller gets the rows."""

    query: list[Any]
    target: form.Target


def may_hold(tokens: Sequence[Any]) -> bool:
    return tokens[0].text.upper() in _CHANGING and any(one.text.upper() == "OUTPUT" for one in tokens)


def cut(phrase: Phrase) -> tuple[list[Any], list[Clause]]:
    """The statement's tokens without its OUTPUT clauses, and these."""
    left: list[Any] = []
    clauses: list[Clause] = []
    place = 0
    while place < phrase.size:
        end = _end(phrase, place) if phrase.words[place] == "OUTPUT" and phrase.depths[place] == 0 else -1
        if end < 0 or not _ROWS & {*phrase.words[place:end], *(f"${one}" for one in phrase.words[place:end])}:
            left.append(phrase.tokens[place])
            place += 1
            continue
        clauses.append(_clause(phrase, place + 1, end))
        place = end
    return left, clauses


def _end(phrase: Phrase, start: int) -> int:
    into = -1
    for place in range(start + 1, phrase.size):
        if phrase.depths[place]:
            continue
        word = phrase.words[place]
        if word == "INTO" and into < 0:
            into = place
        elif word in _ENDS or (word == "(" and phrase.starts_query(place + 1) and into > 0):
            return place
    return phrase.size


def _clause(phrase: Phrase, start: int, end: int) -> Clause:
    into = phrase.find("INTO", start=start, end=end)
    like = phrase.tokens[start - 1]
    query = [inserted_token(TokenType.SELECT, "SELECT", like), *phrase.tokens[start : end if into < 0 else into]]
    if into < 0:
        return Clause(query, form.Target(()))
    name, at = _name(phrase, into + 1)
    columns = [phrase.name(first)[0][-1] for first, _ in phrase.entries(at + 1, phrase.closing(at))] if phrase.word(at) == "(" else []  # fmt: skip
    return Clause(query, form.Target(name, columns))


def _name(phrase: Phrase, place: int) -> tuple[form.Parts, int]:
    """A table, or a table variable, of which the mark is a word of its own."""
    if phrase.word(place) == "@":
        name, at = phrase.name(place + 1)
        return ("@" + name[0],), at
    return phrase.name(place)


def logged(changed: form.Form, clause: Clause, listed: form.Select) -> form.Form | None:
    """The rows that go into the clause's table; None, if the statement changes none. `listed`: the clause's list, read as a query."""
    for one in listed.projections:
        one.value.references = [found for found in one.value.references if found[0][-1].lower() != "$action"]
    if isinstance(changed, form.WriteForm):
        listed.items = _incoming(changed, listed)
    elif isinstance(changed, form.UpdateForm) and not any(one.by_position or one.star for one in changed.clauses):
        others = [form.Item(one.source, one.alias, one.columns, lateral=one.lateral) for one in changed.items]
        listed.items = [_row("inserted", changed), _row("deleted", changed), *others]
        listed.ctes = list(changed.ctes)
    else:
        return None
    return form.WriteForm(clause.target, "APPEND", listed)


def _incoming(changed: form.WriteForm, listed: form.Select) -> list[form.Item]:
    """The rows of an INSERT, which are no rows of the table yet. A column that they lack has its value from the table: a number, a default."""
    columns = changed.target.columns
    if not columns:
        return [form.Item(form.TableSource(changed.target.name), "inserted")]
    for one in listed.projections:
        one.value.references = [
            found for found in one.value.references if found[0][:1] != ("inserted",) or found[0][-1] in {*columns, "*"}
        ]
    return [form.Item(form.Derived(changed.query), "inserted", list(columns))]


def _row(alias: str, changed: form.UpdateForm) -> form.Item:
    """The rows of the table that change: as they were, or with the values they get."""
    itself = changed.target_item
    values: dict[str, list[form.Expression]] = {}
    if alias == "inserted":
        for clause in changed.clauses:
            for name, value in clause.assignments:
                values.setdefault(name, []).append(value)
        for name, found in values.items():
            if any(_keeps(clause, name) for clause in changed.clauses):
                found.append(form.Expression([((itself.alias, name), AS_IS, "")]))
    projections = [form.Projection(name, _any_of(found)) for name, found in values.items()]
    star = form.Star((itself.alias,), [(name,) for name in values], [], [], "")
    query = form.Select(
        [*projections, form.Projection("*", form.Expression(), star)],
        [itself, *changed.items],
        where=list(changed.where),
    )
    query.where += [condition for clause in changed.clauses for condition in clause.deciding]
    if changed.on is not None:
        query.where.append(changed.on)
    return form.Item(form.Derived(query), alias)


def _keeps(clause: form.SetClause, name: str) -> bool:
    """Return whether rows that a branch changes keep their value of a column."""
    return clause.sees != "source" and bool(clause.assignments) and name not in dict(clause.assignments)


def _any_of(values: list[form.Expression]) -> form.Expression:
    """A value that one of several branches gives."""
    if len(values) == 1:
        return values[0]
    return form.Expression(
        [found for value in values for found in value.references],
        [found for value in values for found in value.subqueries],
        tuple(found for value in values for found in value.taken),
    )
