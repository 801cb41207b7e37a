"""Read a `custom` table: what the instances in it need, or which they affect, in place of the rule for the others.

    custom:
      needs:                                # of the downstream's instances, each row in place of `dates`
        2024-12-24: 2023-12-24
        2024-W14: [2023-W15, 2023-W17..2023-W18]
        2024-02-29: []                      # nothing
      affects:                              # of the upstream's instances, the same relation seen from there
        2023-12-24: [2024-12-24]

For what no window can say: a feast that moves compared with that of the year before, a restated period, a day that was loaded with a later one. One
table is enough: its other direction is derived. Who writes both has them compared.

Only texts are read here, and no code is: what a row names, calendars say (`custom_tables.py`).
"""

from collections.abc import Mapping
from typing import NamedTuple, NoReturn

from headwater.errors import InvalidDates

NEEDS, AFFECTS = DIRECTIONS = "needs", "affects"

Rows = tuple[tuple[str, tuple[str, ...]], ...]

MOST = 20_000
"""The most periods that a table may name; more need a rule."""

_LONGEST = 200


class Custom(NamedTuple):
    """Rows of each table, sorted, and what each names, sorted: periods, ranges and longer units, as `ranges.py` has them. Empty: not written."""

    needs: Rows = ()
    affects: Rows = ()

    @classmethod
    def of(cls, said: object) -> "Custom":
        """Read a mapping as in the example. InvalidDates says what is wrong; its `row` is the table and row that it is about."""
        if isinstance(said, Custom):
            return said
        if not isinstance(said, Mapping) or not said:
            _refuse(f"custom {said!r} lists nothing; write {{needs: {{PERIOD: [PERIODS OF THE OTHER]}}}}, or affects")
        for word in said:
            if word not in DIRECTIONS:
                _refuse(f"custom has no {word!r}; it has needs and affects", str(word))
        return cls(*(_rows(word, said[word]) if word in said else () for word in DIRECTIONS))

    def rows(self, direction: str) -> Rows:
        """Return the rows of one table."""
        return self.needs if direction == NEEDS else self.affects


def _rows(word: str, said: object) -> Rows:
    if not isinstance(said, Mapping) or not said:
        _refuse(f"custom, {word} {said!r} lists nothing; write {{PERIOD: [PERIODS OF THE OTHER]}}", word)
    if (count := sum(1 + (len(named) if isinstance(named, list | tuple) else 1) for named in said.values())) > MOST:
        _refuse(f"custom, {word} names {count} periods, and may name {MOST}; write ranges, or a rule in dates", word)
    found = []
    for key, named in said.items():
        if named is None:
            _refuse(f"custom, {word} says nothing of {key!r}; write [] where it {word} nothing", word, spaced(key))
        texts = [named] if isinstance(named, str) else named
        if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in (key, *texts)):
            _refuse(f"custom, {word} of {key!r}: {named!r} is no period and no list of periods", word, spaced(str(key)))
        for text in (key, *texts):
            if len(text) > _LONGEST or not text.strip():
                _refuse(f"custom, {word} of {key[:_LONGEST]!r}: {text[:_LONGEST]!r} is no period", word, spaced(key))
        found.append((spaced(key), tuple(sorted({spaced(text) for text in texts}))))
    return tuple(sorted(found))


def spaced(text: str) -> str:
    """Return the text without spaces around it, and around its dots."""
    return "..".join(each.strip() for each in text.split(".."))


def _refuse(why: str, *row: str) -> NoReturn:
    raise InvalidDates(why, field="custom", row=list(row))
