"""YAML as parts that know where they stand, so that a mistake is answered with file, line and column.

Nothing is constructed: a scalar is the text that was written, and what it means is for the reader of it to say. So `no` may be a name and
`2019-01-07` stays a text until a date is expected. The parser's events are read one by one, without recursion, and what people do not need and
attackers do is refused: aliases, tags, nesting deeper than 20, texts of more than 32 MiB.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeAlias

import yaml

LARGEST = 32 * 1024 * 1024
_DEEPEST = 20
_NULL = {"", "~", "null", "Null", "NULL"}
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Place(NamedTuple):
    """The place of a part in its text; line and column from 1. Line 0: it comes from no text."""

    file: str = ""
    line: int = 0
    column: int = 0


class Problem(NamedTuple):
    """A mistake in a text, with its place."""

    file: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.message}" if self.line else self.message


Value: TypeAlias = "dict[str, Part] | list[Part] | str | None"


class Part(NamedTuple):
    """A mapping, a list, a text, or nothing. `keys`: where the keys of a mapping stand."""

    value: Value
    place: Place = Place()
    keys: Mapping[str, Place] = {}


class _Unreadable(Exception):
    """The rest of the text says nothing."""

    def __init__(self, message: str, line: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.message, self.line, self.column = message, line, column


class _Open:
    """A mapping or list that is not over. `key`: what the next value of a mapping is called, and where; None if a key comes next."""

    __slots__ = ("key", "keys", "part")

    def __init__(self, part: Part, keys: dict[str, Place]) -> None:
        self.part, self.keys = part, keys
        self.key: tuple[str, Place] | None = None


def parts(text: str | bytes, file: str, problems: list[Problem]) -> Iterator[Part]:
    """The documents of a text one by one, those that are empty left out. What is wrong is added to `problems`; after a mistake of YAML itself
    nothing more of the text is read, what stands before it is. Of a key that is there twice the first is kept.
    """
    try:
        for part in _documents(_decoded(text), file, problems):
            if part.value is not None:
                yield part
    except _Unreadable as wrong:
        problems.append(Problem(file, wrong.line, wrong.column, wrong.message))


def of_json(value: object, depth: int = 0) -> Part:
    """Return a JSON value as if it had been written as YAML. ValueError if it is nested too deeply or is no JSON."""
    if depth > _DEEPEST:
        raise ValueError("it is nested too deeply")
    if value is None or isinstance(value, str):
        return Part(value)
    if isinstance(value, bool):
        return Part("true" if value else "false")
    if isinstance(value, int | float):
        return Part(str(value))
    if isinstance(value, Mapping):
        return Part({str(key): of_json(each, depth + 1) for key, each in value.items()})
    if isinstance(value, list | tuple):
        return Part([of_json(each, depth + 1) for each in value])
    raise ValueError(f"{type(value).__name__} is no JSON")


def _decoded(text: str | bytes) -> str:
    if len(text) > LARGEST:
        raise _Unreadable(f"the file has more than {LARGEST // 1024 // 1024} MiB; declare entities in several files")
    if isinstance(text, str):
        return text.removeprefix("\ufeff")
    try:
        return text.decode("utf-8-sig")
    except UnicodeDecodeError as wrong:
        before = text[: wrong.start].decode("utf-8")
        raise _Unreadable(
            f"not UTF-8: byte 0x{text[wrong.start]:02x}; save the file as UTF-8", *_end(before)
        ) from wrong


def _end(before: str) -> tuple[int, int]:
    """Return the line and column after a text."""
    return before.count("\n") + 1, len(before) - before.rfind("\n")


def _events(text: str) -> Iterator[yaml.Event]:
    try:
        yield from yaml.parse(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as wrong:
        mark = wrong.problem_mark or wrong.context_mark
        said = ", ".join(each for each in (wrong.problem, wrong.context) if each)
        if "\\t" in said or _tab(text, mark):
            said = "a tab cannot indent YAML; write spaces"
        raise _Unreadable(f"not YAML: {said}", *((mark.line + 1, mark.column + 1) if mark else ())) from wrong
    except yaml.reader.ReaderError as wrong:
        # The C parser counts bytes, the other characters.
        place = next((at for at, char in enumerate(text) if ord(char) == wrong.character), 0)
        raise _Unreadable(f"not YAML: {wrong.reason} (0x{wrong.character:02x})", *_end(text[:place])) from wrong
    except UnicodeEncodeError as wrong:
        raise _Unreadable("not Unicode: half of a surrogate pair", *_end(text[: wrong.start])) from wrong


def _tab(text: str, mark: yaml.Mark | None) -> bool:
    """Return whether the line at fault begins with a tab; the C parser does not say so."""
    lines = text.splitlines()
    if mark is None or mark.line >= len(lines):
        return False
    line = lines[mark.line]
    return "\t" in line[: len(line) - len(line.lstrip())]


def _documents(text: str, file: str, problems: list[Problem]) -> Iterator[Part]:
    stack: list[_Open] = []
    for event in _events(text):
        if isinstance(event, yaml.ScalarEvent):
            place = _place(event, file)
            if event.tag is not None:
                raise _Unreadable(f"the tag {event.tag} is not read; leave it out", *place[1:])
            if stack and isinstance(stack[-1].part.value, dict) and stack[-1].key is None:
                stack[-1].key = (event.value, place)
                continue
            plain = event.implicit[0] and event.value in _NULL
            part = Part(None if plain else event.value, place)
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            _open(stack, event, file)
            continue
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            part = stack.pop().part
        elif isinstance(event, yaml.AliasEvent):
            wrong = f"aliases are not read; write what *{event.anchor} stands for"
            raise _Unreadable(wrong, *_place(event, file)[1:])
        else:
            continue
        if stack:
            _put(stack[-1], part, problems)
        else:
            yield part


def _place(event: yaml.Event, file: str) -> Place:
    mark = event.start_mark
    return Place(file, mark.line + 1, mark.column + 1) if mark is not None else Place(file, 1, 1)


def _open(stack: list[_Open], event: yaml.MappingStartEvent | yaml.SequenceStartEvent, file: str) -> None:
    place = _place(event, file)
    if event.tag is not None:
        raise _Unreadable(f"the tag {event.tag} is not read; leave it out", *place[1:])
    if len(stack) >= _DEEPEST:
        raise _Unreadable(f"nested deeper than {_DEEPEST}", *place[1:])
    if stack and isinstance(stack[-1].part.value, dict) and stack[-1].key is None:
        raise _Unreadable("a key is a name, not a mapping or a list", *place[1:])
    keys: dict[str, Place] = {}
    stack.append(_Open(Part({} if isinstance(event, yaml.MappingStartEvent) else [], place, keys), keys))


def _put(inside: _Open, part: Part, problems: list[Problem]) -> None:
    value = inside.part.value
    if isinstance(value, list):
        value.append(part)
    elif isinstance(value, dict) and inside.key is not None:
        (name, place), inside.key = inside.key, None
        if name in value:
            first = inside.keys[name].line
            problems.append(Problem(*place, f"{name!r} is given twice, here and in line {first}; remove one"))
        else:
            value[name], inside.keys[name] = part, place
