"""A YAML file as nodes with their places, and every problem in it.

It reports all mistakes in a dk.yaml at once, each with line and column. Builds no Python objects from YAML (it only composes
the safe tags), and refuses files over a megabyte and aliases that multiply.
"""

import difflib
from pathlib import Path

import msgspec
import yaml

_MAX_BYTES = 1_000_000
_MAX_NODES = 20_000
_STRING = "tag:yaml.org,2002:str"
_NULL = "tag:yaml.org,2002:null"


class Problem(msgspec.Struct, frozen=True):
    """One mistake: its place (line and column from 1; 0 without a line), its field, and what to do."""

    file: str
    line: int
    column: int
    field: str
    message: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        return f"{place}: {self.field}: {self.message}" if self.field else f"{place}: {self.message}"


class Entry(msgspec.Struct, frozen=True):
    """A value in a mapping, with its key's node for messages about the key."""

    key: yaml.Node
    value: yaml.Node


class _Unreadable(Exception):
    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.message, self.line, self.column = message, line, column


class Document:
    """A reader of values from nodes that notes problems instead of raising. `problems` is in the order of discovery."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.problems: list[Problem] = []

    def read(self) -> yaml.Node | None:
        """Return the root node; None with a noted problem if the file is not YAML."""
        try:
            root = self._compose(self._text())
            if root is None:
                raise _Unreadable("is empty")
        except _Unreadable as error:
            self.problems.append(Problem(str(self.file), error.line, error.column, "", error.message))
            return None
        return root if self._expands_little(root) else None

    def _text(self) -> str:
        try:
            data = self.file.read_bytes()
        except FileNotFoundError:
            raise _Unreadable("no such file") from None
        except OSError as error:
            raise _Unreadable(f"cannot be read: {error.strerror}") from error
        if len(data) > _MAX_BYTES:
            raise _Unreadable(f"is {len(data)} bytes; a manifest may have {_MAX_BYTES}")
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            before = data[: error.start].decode("utf-8")
            raise _Unreadable(f"is not UTF-8: byte 0x{data[error.start]:02x}", *_place(before)) from error

    def _compose(self, text: str) -> yaml.Node | None:
        try:
            return yaml.compose(text, Loader=yaml.SafeLoader)  # nodes only: no objects are constructed
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            said = " ".join(part for part in (error.problem, error.context) if part)
            place = (mark.line + 1, mark.column + 1) if mark else (0, 0)
            raise _Unreadable(f"is not YAML: {said}", *place) from error
        except yaml.reader.ReaderError as error:
            raise _Unreadable(f"is not YAML: {error.reason}", *_place(text[: error.position])) from error
        except RecursionError:
            raise _Unreadable("is nested too deeply") from None

    def note(self, node: yaml.Node | None, field: str, message: str) -> None:
        """Add a problem at a node."""
        line, column = (node.start_mark.line + 1, node.start_mark.column + 1) if node is not None else (0, 0)
        self.problems.append(Problem(str(self.file), line, column, field, message))

    def mapping(self, node: yaml.Node, field: str, known: tuple[str, ...] | None = None) -> dict[str, Entry]:
        """Return the entries of a mapping. Duplicate keys, keys that are not text and, with `known`, unknown keys are problems."""
        if not isinstance(node, yaml.MappingNode):
            self.note(node, field, f"expected a mapping, got {kind(node)}")
            return {}
        entries: dict[str, Entry] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self.note(key, field, f"expected a name, got {kind(key)}")
                continue
            name = key.value
            place = f"{field}.{name}" if field else name
            if name in entries:
                first = entries[name].key.start_mark.line + 1
                self.note(key, place, f"is defined twice; the first is in line {first}")
            elif known is not None and name not in known:
                self.note(key, place, f"is not a field here{suggestion(name, known)}")
            else:
                entries[name] = Entry(key, value)
        return entries

    def items(self, node: yaml.Node, field: str) -> list[yaml.Node]:
        """Return the items of a list."""
        if not isinstance(node, yaml.SequenceNode):
            self.note(node, field, f"expected a list, got {kind(node)}")
            return []
        return list(node.value)

    def text(self, entries: dict[str, Entry], name: str, field: str, *, owner: yaml.Node | None = None) -> str | None:
        """Return the text of `name` as written (2013 and 2013-01-01 are not converted). With `owner`, its absence is a problem there."""
        entry = entries.get(name)
        place = f"{field}.{name}" if field else name
        if entry is None:
            if owner is not None:
                self.note(owner, place, "is required")
            return None
        value = self.scalar(entry.value, place)
        if value is not None and not value.strip():
            self.note(entry.value, place, "is empty")
            return None
        if value is None and owner is not None and is_null(entry.value):
            self.note(entry.value, place, "is required")
        return value

    def scalar(self, node: yaml.Node, field: str) -> str | None:
        """Return a single value as written; None for null. A list or a mapping is a problem."""
        if not isinstance(node, yaml.ScalarNode):
            self.note(node, field, f"expected text, got {kind(node)}")
            return None
        return None if is_null(node) else str(node.value)

    def _expands_little(self, root: yaml.Node) -> bool:
        """Return whether the document stays small with every alias expanded. A billion-laughs document stops at the limit."""
        stack: list[tuple[yaml.Node, int]] = [(root, 0)]
        seen = 0
        while stack:
            node, depth = stack.pop()
            seen += 1
            if seen > _MAX_NODES or depth > 50:
                self.note(node, "", "is too large: aliases that repeat each other, or thousands of values")
                return False
            if isinstance(node, yaml.MappingNode):
                stack.extend((part, depth + 1) for pair in node.value for part in pair)
            elif isinstance(node, yaml.SequenceNode):
                stack.extend((part, depth + 1) for part in node.value)
        return True


def is_null(node: yaml.Node) -> bool:
    return bool(node.tag == _NULL)


def kind(node: yaml.Node) -> str:
    """Describe a node for a message."""
    if isinstance(node, yaml.MappingNode):
        return "a mapping"
    if isinstance(node, yaml.SequenceNode):
        return "a list"
    return "nothing" if is_null(node) else f"{node.value!r}"


def suggestion(name: str, known: tuple[str, ...] | list[str]) -> str:
    """Return `; did you mean …?` or the list of known names."""
    if near := difflib.get_close_matches(name, known, 1, 0.6):
        return f"; did you mean {near[0]!r}?"
    return f"; known: {', '.join(known)}" if known else ""


def _place(before: str) -> tuple[int, int]:
    """Return the line and column, from 1, of what follows `before`."""
    return before.count("\n") + 1, len(before) - before.rfind("\n")
