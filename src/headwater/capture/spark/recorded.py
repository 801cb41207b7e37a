"""Objects of the JVM with answers that came along with them, read by `QueryFacts.java`: code that asks the JVM gets them without a crossing.

A `Recorded` stands for a JVM object. A method whose answer came along returns it; any other is asked of the JVM, which keeps the object until
Python releases it. So a reader is written once, for objects with answers and for those of py4j.
"""

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from headwater.capture.spark.plan import Node
from headwater.capture.spark.plan import read as read_plan

_decode = msgspec.json.Decoder().decode
TEXTS = 8
"""The texts of an event, as `QueryFacts.take` describes them."""


class AbsentMethod(Exception):
    """The JVM object has no method of this name."""


class Handle:
    """An object that the JVM keeps for Python. `asked`: whether it was needed. When Python drops the handle, its number goes to `released`."""

    def __init__(self, number: str, java: Any, released: deque[str]) -> None:
        self._number = number
        self._java = java
        self._released = released
        self.asked = False
        self.ids: list[int] = []  # the ExprIds of its plan, in the order of the plan

    def real(self) -> Any:
        """Return the JVM object."""
        self.asked = True
        return self._java.object(self._number)

    def __del__(self) -> None:
        self._released.append(self._number)


class Recorded:
    """A JVM object whose `answers` are known by the names of methods. `handle`: of the object that it was reached from, through `path`."""

    __slots__ = ("_answers", "_handle", "_path", "facts")

    def __init__(self, answers: dict[str, Any], handle: Handle, path: tuple[str | int, ...] = ()) -> None:
        self._answers = answers
        self._handle = handle
        self._path = path
        self.facts: QueryFacts | None = None

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in self._answers:
            return getattr(self.real(), name)  # type: ignore[no-any-return]
        answer = self._answers[name]
        return lambda *_: self._value(name, answer)

    def _value(self, name: str, answer: Any) -> Any:
        if isinstance(answer, dict):
            if "#" in answer:
                return [Recorded(one, self._handle, (*self._path, name, i)) for i, one in enumerate(answer["#"])]
            if "=" in answer:
                return answer["="]
            if "@" in answer:
                return answer["@"]
            return Recorded(answer, self._handle, (*self._path, name))
        if answer == []:
            raise AbsentMethod(name)
        return answer

    @property
    def first_id(self) -> str:
        """Return the ExprId of the first column of a plan's leaf, or empty."""
        number = self._answers["first"]
        return str(self._handle.ids[number]) if number >= 0 else ""

    def real(self) -> Any:
        """Return the JVM object, reached from the one that the JVM keeps."""
        found = self._handle.real()
        for step in self._path:
            found = found.apply(step) if isinstance(step, int) else getattr(found, step)()
        return found

    def _get_object_id(self) -> Any:
        """Pass the JVM object as an argument; py4j asks for this."""
        return self.real()._get_object_id()


class QueryFacts:
    """The facts of one query's plan. `kind`: the class of its root; `body`: the plan without its ExprIds, which `ids` are; `answers`: JSON."""

    __slots__ = ("answers", "body", "executed", "ids", "kind")

    def __init__(self, kind: str, body: str, ids: str, answers: str, executed: str) -> None:
        self.kind = kind
        self.body = body
        self.ids = ids
        self.answers = answers
        self.executed = executed

    @property
    def is_whole(self) -> bool:
        return self.body.startswith("{")

    def tree(self) -> Node:
        """Return the plan's tree."""
        return read_plan(_decode(self.body), self.numbers())

    def numbers(self) -> list[int]:
        """Return the ExprIds in the order of the plan."""
        return [int(one) for one in self.ids.split()]


def events(text: str, java: Any, released: deque[str]) -> Iterator[tuple[str, Any]]:
    """Yield (class, event) or ("", token) of what `QueryFacts.take` returned."""
    found = list(texts(text))
    for place in range(0, len(found), TEXTS):
        kind, numbers, answers, *plan = found[place : place + TEXTS]
        if not kind:
            yield "", numbers
            continue
        kind = kind.rpartition("$")[2]  # Spark's events of streams are classes inside another
        own, _, planned = numbers.partition(" ")
        event = Recorded(_decode(answers) if answers else {}, Handle(own, java, released))
        facts = QueryFacts(*plan)
        if planned:
            event._answers["planned"] = {"@": _query(facts, Handle(planned, java, released), ())}
        elif kind.endswith("Start"):
            event._answers["planned"] = None
        elif facts.kind:
            event._answers["qe"] = {"@": _query(facts, event._handle, ("qe",))}
        yield kind, event


def _query(facts: QueryFacts, handle: Handle, path: tuple[str | int, ...]) -> Recorded:
    """Return a QueryExecution. Its plan's answers are decoded when they are asked for: a plan that was read before needs none."""
    query = Recorded({}, handle, path)
    query.facts = facts
    return query


def analyzed(query: Any) -> Any:
    """Return the analyzed plan of a QueryExecution, with its answers if they came along."""
    facts = facts_of(query)
    if facts is None or not facts.answers:
        return query.analyzed()
    query._handle.ids = facts.numbers()
    return Recorded(_decode(facts.answers), query._handle, (*query._path, "analyzed"))


def facts_of(query: Any) -> QueryFacts | None:
    """Return the facts that came along with a QueryExecution."""
    return query.facts if isinstance(query, Recorded) else None


def is_asked(query: Any) -> bool:
    """Return whether the JVM was asked about a query, so that its facts alone do not say what was found out."""
    return not isinstance(query, Recorded) or query._handle.asked


def texts(facts: str) -> Iterator[str]:
    """Yield texts, each of which comes behind its length and a colon."""
    place = 0
    while place < len(facts):
        begin = facts.index(":", place) + 1
        end = begin + int(facts[place : begin - 1])
        yield facts[begin:end]
        place = end
