"""Values out of parts: texts, numbers, lengths, choices. An invalid value is noted with its place and reading goes on: a person sees all
mistakes at once. An invalid field counts as absent.
"""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from headwater.entities.declaration.document import Part, Place, Problem
from headwater.entities.time.durations import Length, length
from headwater.entities.time.zones import DAY

_LONGEST = 10_000
_TRUE, _FALSE = {"true", "yes", "on"}, {"false", "no", "off"}


class Fields:
    """Reads one entity. `who` begins every message: `entity 'reads'`."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        self.who = ""

    def note(self, place: Place, message: str) -> None:
        """Note one more problem."""
        self.problems.append(Problem(*place, f"{self.who}: {message}" if self.who else message))

    def mapping(
        self, part: Part, what: str, known: Sequence[str], others: Mapping[str, str] = MappingProxyType({})
    ) -> dict[str, Part]:
        """Return the fields of a mapping, without unknown words, each of which is noted. Words with nothing after them are left out too.

        `others`: words that people bring from other tools, with what is written here instead.
        """
        if not isinstance(part.value, dict):
            self.note(part.place, f"{what} {describe_part(part)} is no mapping; it has {', '.join(known)}")
            return {}
        for word in part.value:
            if word not in known:
                near = difflib.get_close_matches(word, known, 1)
                hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(known)}"
                hint = f"write {others[word]}" if word in others else hint
                self.note(part.keys.get(word, part.place), f"{what} has no {describe_part(Part(word))}; {hint}")
        return {word: each for word, each in part.value.items() if word in known and each.value is not None}

    def text(self, part: Part | None, what: str) -> str:
        """Return the text; "" if it is absent or wrong."""
        if part is None or part.value is None:
            return ""
        if not isinstance(part.value, str):
            self.note(part.place, f"{what} is {describe_part(part)}, not a text")
            return ""
        text = part.value.strip()
        if not text or len(text) > _LONGEST or not _printable(text):
            wrong = "is empty" if not text else "has more than 10000 characters" if len(text) > _LONGEST else ""
            self.note(part.place, f"{what} {wrong or 'has characters that cannot be printed'}")
            return ""
        return text

    def items(self, part: Part | None) -> list[Part]:
        """Return the items of a list; a part that is no list is a list of one."""
        if part is None or part.value is None:
            return []
        return part.value if isinstance(part.value, list) else [part]

    def texts(self, part: Part | None, what: str) -> tuple[str, ...]:
        """Return one text or several; each once, in the order declared."""
        found: dict[str, None] = {}
        for each in self.items(part):
            if each.value is None:
                self.note(each.place, f"{what} has an item with nothing in it")
            elif text := self.text(each, what):
                if text in found:
                    self.note(each.place, f"{what} says {text!r} twice")
                found[text] = None
        return tuple(found)

    def flag(self, part: Part | None, what: str) -> bool:
        """Return the truth value; False if it is absent."""
        if part is None:
            return False
        word = part.value.lower() if isinstance(part.value, str) else ""
        if word not in _TRUE | _FALSE:
            self.note(part.place, f"{what} is {describe_part(part)}; write true or false")
        return word in _TRUE

    def number(self, part: Part | None, what: str, least: int = 1) -> int | None:
        """A whole number from `least` to a million."""
        if part is None:
            return None
        text = part.value if isinstance(part.value, str) else ""
        if not (text.isascii() and text.isdecimal() and len(text) <= 7 and least <= int(text) <= 1_000_000):
            self.note(part.place, f"{what} is {describe_part(part)}; write a number from {least} to 1000000")
            return None
        return int(text)

    def choice(self, part: Part | None, what: str, options: Sequence[str]) -> str:
        """Return one of the options; the first if it is absent or wrong."""
        if part is None:
            return options[0]
        word = part.value.lower() if isinstance(part.value, str) else ""
        if word not in options:
            self.note(part.place, f"{what} is {describe_part(part)}; write {' or '.join(options)}")
            return options[0]
        return word

    def length(self, part: Part | None, what: str) -> Length | None:
        """Return a length; it must be more than nothing, with no negative part."""
        if part is None:
            return None
        text = part.value if isinstance(part.value, str) else ""
        found = length(text.lower())
        if found is None or not any(found) or min(found) < 0 or found.months > 2_400 or found.days > 73_000:
            self.note(part.place, f"{what} is {describe_part(part)}, which is no length; write such as 6h or 2 days")
            return None
        return found

    def seconds(self, part: Part | None, what: str) -> int | None:
        """A length as a stopwatch has it: a day is 24 hours, and a month is nothing."""
        found = self.length(part, what)
        if part is None or found is None:
            return None
        if found.months:
            self.note(part.place, f"{what} is {describe_part(part)}, and months are not always as long; write days")
            return None
        return found.days * DAY + found.seconds


def _printable(text: str) -> bool:
    return text.isprintable() or all(char.isprintable() or char in "\n\t" for char in text)


def describe_part(part: Part) -> str:
    """Return a short description of a part, for a message."""
    match part.value:
        case None:
            return "empty"
        case str(text):
            return repr(text if len(text) <= 60 else f"{text[:57]}...")
        case dict():
            return "a mapping"
        case _:
            return "a list"


def near(name: str, known: Iterable[str]) -> str:
    """Return a hint at the most similar known name; "" if none is similar."""
    found = difflib.get_close_matches(name, list(known), 1)
    return f"; did you mean {found[0]!r}?" if found else ""
