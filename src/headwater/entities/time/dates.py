"""The language of a dependency's `dates`: which of the upstream's instances a downstream period [t0, t1) needs. Parsing and meaning, no calendars.

| text | window |
|---|---|
| `same` | [t0, t1) |
| `all_day`, `all_week`, … | the whole days, weeks … that my period touches |
| `last 30 days`, `last 48 hours` | from so long before t1 to t1; `ending previous`: that of my period before |
| `month_to_date`, … | from the start of the month that my last instant is in, to t1 |
| `from -29d to 0d` | from t0 - 29 days to t1 + 0 |
| `-1w`, `same - 7 days`, `all_month - 1 month` | a window moved as a whole |
| `last monday` | that day of the week before the one t0 is in |
| `start of last month`, `end of last month` | the first, or last, day of the month before the one t0 is in |
| `fixed 2024-01-01..2024-02-01` | those dates, the second excluded |
| `everything` | from the upstream's first instance to t1 |
| `previous`, `previous 3`, `next 2` | so many upstream instances before those of [t0, t1), or after them |
| `last_available`, `last_available 2 within 45 days` | the newest that are there and over at t1: known only when asked, and then recorded |
| `static` | no date: the upstream has versions, not periods |
| `nothing` | no instance, but for those that a table says: `custom` |

Units are of the downstream's zone, week and business day. Needed is what *overlaps* the window; with `strict: within`, what lies in it.
No end of a window goes back as periods go on. What does is listed beside the text, instance by instance (`custom.py`): these need what is listed, all
others what the text says.
"""

import datetime as dt
import difflib
import re
from collections.abc import Mapping
from typing import Literal, NamedTuple, NoReturn

from headwater.entities.time.civil import WEEKDAYS
from headwater.entities.time.custom import Custom
from headwater.entities.time.durations import UNITS, Length, unit
from headwater.errors import InvalidDates


class Point(NamedTuple):
    """An end of a window: an end of my period, or of the whole unit that my first or last instant is in, moved by a length."""

    side: Literal["start", "end"]
    unit: str | None = None
    of: Literal["first", "last"] = "first"
    by: Length = Length()
    lag: int = 0  # so many periods of mine earlier
    weekday: int | None = None  # not the unit's start but this day of it; which place it has, the calendar's week says
    date: dt.date | None = None  # this date's start, regardless of the downstream period


class Meaning(NamedTuple):
    """The meaning of a text; texts that mean the same are equal.

    `start` None: since ever; `end` None: for ever. `steps`: so many upstream instances after mine, or before if
    negative; then no window. `newest`: only the newest so many of the window that are available. `over`: only what has
    ended at the window's end. `static`: no dates at all. `custom`: what is listed in place of the window.
    """

    start: Point | None = Point("start")
    end: Point | None = Point("end")
    steps: int = 0
    strict: bool = False
    newest: int = 0
    static: bool = False
    custom: Custom | None = None

    @property
    def nothing(self) -> bool:
        """True if the window of any period is empty."""
        return self.start is not None and self.start == self.end

    @property
    def over(self) -> bool:
        return self.strict or self.newest > 0


class Dates(NamedTuple):
    """`ignore_before_start`: instances before the upstream's first are not needed; otherwise an instance that needs them is never ready."""

    text: str
    meaning: Meaning
    ignore_before_start: bool = False

    def __str__(self) -> str:
        return f"{self.text}, custom" if self.meaning.custom is not None else self.text

    @classmethod
    def of(cls, said: str | Mapping[str, object] | None) -> "Dates":
        """Read the short form (a text), or the long one: `dates`, `strict: within`, `within: 45 days`, `as_of: period | now`,
        `before_start: require | ignore`, `custom: {needs: …, affects: …}`. None, and a long form without `dates`: `same`.

        InvalidDates says what is wrong, in which column of the text, and what would do. Other words of a dependency (`states`, `wait` …) are not
        dates; who reads the dependency takes them out.
        """
        if said is None or isinstance(said, str):
            said = {"dates": said or "same"}
        for word in said:
            if word not in _CHOICES and word not in {"dates", "within", "custom"}:
                _refuse(f"dates have no {word!r}; they have dates, within, custom, {', '.join(_CHOICES)}", field=word)
        text = said.get("dates", "same")
        if not isinstance(text, str):
            _refuse(f"dates {text!r} is no text", field="dates")
        meaning = parse(text)
        if "within" in said:
            if not meaning.newest:
                _refuse(
                    f"within goes with last_available, not with {text!r}; for a window write `last 45 days`",
                    field="within",
                )
            if meaning.start is not None:
                _refuse(f"within is given twice: {text!r} has it too; remove one", field="within")
            meaning = parse(f"{text} within {said['within']}")
        choice = {word: _choice(said, word) for word in _CHOICES}
        if choice["as_of"] == "now":
            if not meaning.newest or meaning.start is not None:
                _refuse("as_of: now goes with last_available alone, without within", field="as_of")
            meaning = meaning._replace(end=None)
        if choice["strict"] == "within":
            if meaning.steps or meaning.newest or meaning.static:
                _refuse(f"strict: within is about windows; {text!r} is none", field="strict")
            meaning = meaning._replace(strict=True)
        meaning = meaning._replace(custom=_custom(said, meaning))
        return cls(text, meaning, choice["before_start"] == "ignore")


_CHOICES = {"strict": ("overlap", "within"), "as_of": ("period", "now"), "before_start": ("require", "ignore")}


def _choice(said: Mapping[str, object], word: str) -> str:
    value = said.get(word, _CHOICES[word][0])
    if value not in _CHOICES[word]:
        _refuse(f"{word} {value!r} is not known; write {' or '.join(_CHOICES[word])}", field=word)
    return str(value)


def _custom(said: Mapping[str, object], meaning: Meaning) -> Custom | None:
    if "custom" not in said:
        if meaning.nothing:
            _refuse(
                "nothing goes with custom, which says what is needed; without, leave the dependency out", field="dates"
            )
        return None
    if meaning.newest or meaning.static:
        _refuse(f"custom lists which instances are needed, and {said['dates']!r} does not say which", field="custom")
    return Custom.of(said["custom"])


def parse(text: str) -> Meaning:
    """The meaning of a text; case and spaces do not matter. InvalidDates with `text` and `column` (from 1) where it has none."""
    return _Reader(text).whole()


_TOKEN = re.compile(r"\s*(\d{4}-\d\d-\d\d|\d+|[a-z_]+|\.\.|\S)")
_WORDS = {
    "same": Meaning(),
    **{f"all_{name}": Meaning(Point("start", name), Point("end", name, "last")) for name in UNITS},
    **{f"{name}_to_date": Meaning(Point("start", name, "last"), Point("end")) for name in UNITS},
    "everything": Meaning(start=None),
    "static": Meaning(static=True),
    "nothing": Meaning(Point("start"), Point("start")),
}


class _Reader:
    """Words of a text one after the other, each with its column."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = [(token[1], token.start(1) + 1) for token in _TOKEN.finditer(text.lower())]
        self._next = 0

    def whole(self) -> Meaning:
        meaning = self._window()
        if self._peek() in {"+", "-"}:
            fixed = meaning.start is None or meaning.start.date
            if meaning.steps or meaning.newest or meaning.static or meaning.nothing or fixed:
                self._fail("only a window of my own period can be moved")
            meaning = _moved(meaning, self._length())
        if self._peek():
            self._fail(f"nothing can follow here, but there is {self._peek()!r}")
        return meaning

    def _window(self) -> Meaning:
        word = self._peek()
        if word in {"+", "-"}:
            return Meaning()
        self._take()
        if word in _WORDS:
            return _WORDS[word]
        read = {
            "previous": lambda: Meaning(steps=-self._count()),
            "next": lambda: Meaning(steps=self._count()),
            "last": self._last,
            "from": self._from,
            "start": self._first_of_last,
            "end": self._last_of_last,
            "fixed": self._fixed,
            "last_available": self._available,
        }
        if word not in read:
            self._next -= bool(word)
            near = difflib.get_close_matches(word, [*_WORDS, *read], 1)
            hint = f"did you mean {near[0]!r}?" if near else f"write {', '.join([*_WORDS, *read])}, or -1w"
            self._fail(f"{word!r} begins no dates; {hint}")
        return read[word]()

    def _from(self) -> Meaning:
        start = self._length()
        self._expect("to")
        return Meaning(Point("start", by=start), Point("end", by=self._length()))

    def _last(self) -> Meaning:
        if (day := self._peek()) in WEEKDAYS:
            self._take()
            before = Point("start", "week", by=Length(days=-7), weekday=WEEKDAYS.index(day))
            return Meaning(before, before._replace(by=Length(days=-6)))
        if not self._peek().isdecimal():
            self._fail(
                "`last` needs how many of what, or a weekday: `last 30 days`, `last monday`; the month before is `all_month - 1 month`"
            )
        by = self._length(signed=False)
        lag = 0
        if self._peek() == "ending":
            self._take()
            self._expect("previous")
            lag = 1
        return Meaning(Point("end", by=-by, lag=lag), Point("end", lag=lag))

    def _first_of_last(self) -> Meaning:
        name = self._unit_of_last()
        months, days, _ = UNITS[name]
        by = Length(-months, -days)
        return Meaning(Point("start", name, by=by), Point("start", name, by=by._replace(days=1 - days)))

    def _last_of_last(self) -> Meaning:
        name = self._unit_of_last()
        return Meaning(Point("start", name, by=Length(days=-1)), Point("start", name))

    def _unit_of_last(self) -> str:
        self._expect("of")
        self._expect("last")
        if self._peek() not in {"week", "month", "quarter", "year"}:
            self._fail(f"{self._peek() or 'the end'!r} has no days; write week, month, quarter or year")
        return self._take()

    def _fixed(self) -> Meaning:
        start = self._date()
        self._expect("..")
        end = self._date()
        if end <= start:
            self._next -= 1
            self._fail(f"{end} is not after {start}; the second date is excluded")
        return Meaning(Point("start", date=start), Point("start", date=end))

    def _available(self) -> Meaning:
        newest = self._count()
        start = None
        if self._peek() == "within":
            self._take()
            start = Point("end", by=-self._length(signed=False))
        return Meaning(start, Point("end"), newest=newest)

    def _count(self) -> int:
        """Read a number; 1 if none is written."""
        if not self._peek().isdecimal():
            return 1
        count = int(self._peek())
        if not 1 <= count <= 1_000_000:
            self._fail(f"{count} is no count; write from 1 to 1000000")
        self._take()
        return count

    def _length(self, *, signed: bool = True) -> Length:
        """Numbers with their units. A sign holds until the next one; without signs the length ends at one, and is not nothing."""
        total, sign, some = Length(), 1, False
        while (signed and self._peek() in {"+", "-"}) or self._peek().isdecimal():
            if self._peek() in {"+", "-"}:
                sign = -1 if self._take() == "-" else 1
            if not self._peek().isdecimal() or len(self._peek()) > 6:
                self._fail("a number of at most six digits is needed here")
            count = sign * int(self._take())
            total = Length(*(was + count * each for was, each in zip(total, UNITS[self._unit()], strict=True)))
            some = True
        if not some or not (signed or any(total)):
            self._fail("a length is needed here, such as 30 days, -1w or 2 months")
        if abs(total.months) > 2_400 or abs(total.days) > 73_000 or abs(total.seconds) > 73_000 * 86_400:
            self._fail("this is longer than the calendar, which is 200 years")
        return total

    def _unit(self) -> str:
        name = unit(self._peek())
        if name is None:
            self._fail(f"{self._peek() or 'the end'!r} is no unit; write {', '.join(UNITS)}")
        self._take()
        return name

    def _date(self) -> dt.date:
        try:
            found = dt.date.fromisoformat(self._peek())
        except ValueError:
            self._fail(f"{self._peek() or 'the end'!r} is no date; write such as 2024-01-31")
        self._take()
        return found

    def _expect(self, word: str) -> None:
        if self._peek() != word:
            self._fail(f"{word!r} is needed here" + (f", not {self._peek()!r}" if self._peek() else ""))
        self._take()

    def _peek(self) -> str:
        return self._tokens[self._next][0] if self._next < len(self._tokens) else ""

    def _take(self) -> str:
        word = self._peek()
        self._next += bool(word)
        return word

    def _fail(self, why: str) -> NoReturn:
        column = self._tokens[self._next][1] if self._next < len(self._tokens) else len(self._text) + 1
        _refuse(f"dates {self._text!r}, column {column}: {why}", text=self._text, column=column)


def _moved(meaning: Meaning, by: Length) -> Meaning:
    def moved(point: Point | None) -> Point | None:
        return point and point._replace(by=Length(*(was + more for was, more in zip(point.by, by, strict=True))))

    return meaning._replace(start=moved(meaning.start), end=moved(meaning.end))


def _refuse(why: str, **detail: object) -> NoReturn:
    raise InvalidDates(why, **detail)
