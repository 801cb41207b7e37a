"""A LookML project: how people call its dashboards and explores, and the tables its explores ask.

Models, views and explores are in LookML's own language (`*.lkml`): `key: value`, `key: name { … }`, `key: [a, b]`, `# comments`, and SQL up to `;;`.
Dashboards (`*.dashboard.lookml`, `*.dashboard.lkml`) are YAML. All files that are read are taken as one project. Every file is read once, in time
that grows with its size; nothing in it is run, and Liquid is not evaluated.

- A dashboard's id is `model::dashboard`. Its elements name its models; else it may be in any. An id that two titles claim gets none.
- An explore's id is `model::explore`. Its model is that of its file, or any if it stands in a file that models include.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from headwater.errors import UnreadableContent
from headwater.pipeline.query_log.who.evidence import asset, first, word

DEEPEST: Final = 50
LARGEST: Final = 4 << 20
"""Bytes of a file. A file written by hand has a thousandth of them."""

_MODEL = ".model.lkml"
_SPACE = re.compile(r"(?:[\s,]|#[^\n]*)*+")
_KEY = re.compile(r"([A-Za-z_]\w*)\s*+:")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*+)"', re.DOTALL)
_WORD = re.compile(r'(?:@\{\w*\}|[^\s{}\[\],"#])+')
_CONSTANT = re.compile(r"@\{(\w{1,200})\}")
# Keys whose value is any text up to `;;`.
_TEXTS = ("sql", "expression", "html")

# Liquid and comments without an end go to the end of the text: looking for an end again and again would take long.
_OUTPUT = re.compile(r"\{\{.*?(?:\}\}|\Z)|\{%-?\s*+parameter\b.*?(?:%\}|\Z)|@\{\w{1,200}\}", re.DOTALL)
_TAG = re.compile(r"\{%.*?(?:%\}|\Z)", re.DOTALL)
_COMMENT = re.compile(r"--[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_OTHER_VIEW = re.compile(r"\$\{\s{0,9}(\w{1,200})\.SQL_TABLE_NAME\s{0,9}\}")
_PART = r"(?:\"[^\"]{1,300}\"|`[^`]{1,300}`|\[[^\]]{1,300}\]|[\w$*-]{1,300})"
_NAME = re.compile(rf"{_PART}(?:\s{{0,9}}[.:]\s{{0,9}}{_PART}){{0,9}}")
_FROM = re.compile(r"\b(?:from|join)\s{1,99}", re.IGNORECASE)
# After a table: its other name, and the comma before the next one.
_AND = re.compile(rf"\s{{0,99}}(?:(?:as\s{{1,99}})?{_PART}\s{{0,99}})?,\s{{0,99}}", re.IGNORECASE)


class Block(msgspec.Struct):
    """`key: name { … }`. `values`: words and strings by key, of copies the last, and SQL, copies put together; `lists`: what stands
    between `[` and `]`."""

    key: str = ""
    name: str = ""
    values: dict[str, str] = {}
    lists: dict[str, list[str]] = {}
    blocks: list["Block"] = []

    def of(self, *keys: str) -> Iterator["Block"]:
        """The blocks right inside that have one of these keys."""
        return (block for block in self.blocks if block.key in keys)


class Dashboard(msgspec.Struct, frozen=True):
    """`models`: those that its elements ask."""

    name: str
    title: str | None
    models: frozenset[str] = frozenset()


class Project(msgspec.Struct):
    """`files`: what each file of LookML holds, with its model's name if it is a model's. `constants`: of the manifest."""

    files: list[tuple[str | None, Block]] = []
    dashboards: list[Dashboard] = []
    constants: dict[str, str] = {}

    def models(self) -> set[str]:
        return {model for model, _ in self.files if model is not None}

    def written(self, text: str) -> str:
        """The text with the constants it names; one that is not known stays as it is written."""
        return _CONSTANT.sub(lambda found: self.constants.get(found[1], found[0]), text)


def is_lookml(path: Path) -> bool:
    return path.name.endswith(".lkml") or _is_dashboard(path)


def _is_dashboard(path: Path) -> bool:
    return path.name.endswith((".dashboard.lookml", ".dashboard.lkml"))


def read(paths: Iterable[Path]) -> Project:
    """The project in these files; those that are no LookML are not opened. UnreadableContent, with file and line, for one that is damaged."""
    project = Project()
    for path in filter(is_lookml, paths):
        text = _text(path)
        if _is_dashboard(path):
            project.dashboards += dashboards(text, path)
            continue
        root = parsed(text, path)
        model = path.name.removesuffix(_MODEL)
        project.files.append((model if model != path.name else None, root))
        project.constants |= {one.name: one.values["value"] for one in root.of("constant") if "value" in one.values}
    return project


def asset_names(project: Project) -> dict[str, str]:
    """`dashboard/<model>::<dashboard>` → title, `explore/<model>::<explore>` → label, where there is one.

    A refinement's label beats that of what it refines.
    """
    every = project.models()
    # asset → how surely it is meant → names
    told: dict[str, dict[tuple[bool, bool], set[str]]] = {}

    def tell(kind: str, model: str, name: str, called: str | None, *, sure: bool, refined: bool = False) -> None:
        if called and (key := asset((kind, f"{model}::{name}"))):
            told.setdefault(key, {}).setdefault((refined, sure), set()).add(project.written(called))

    for dashboard in project.dashboards:
        for model in every | dashboard.models:
            tell("dashboard", model, dashboard.name, dashboard.title, sure=model in dashboard.models)
    for own, root in project.files:
        for explore in root.of("explore"):
            name, label = explore.name.removeprefix("+"), first(explore.values, "label")
            for model in every if own is None else {own}:
                tell("explore", model, name, label, sure=own is not None, refined=name != explore.name)
    best = {key: names[max(names)] for key, names in sorted(told.items())}
    return {key: min(names) for key, names in best.items() if len(names) == 1}


def tables(project: Project) -> set[str]:
    """The tables that the explores ask, as they are written but without quotes, so with more or fewer parts than the warehouse gives them.

    A view gives its `sql_table_name`, what its derived table reads, what it extends; without any of them, and of a view that is not in the files, its
    own name. Rather one too many than one too few: every branch of Liquid's `if` counts, and so does what a refinement replaces; `*` stands for what
    Liquid puts in. Of SQL, what follows FROM and JOIN. A name that is Liquid altogether is left out.
    """
    views: dict[str, list[Block]] = {}
    for _, root in project.files:
        for view in root.of("view"):
            views.setdefault(view.name.removeprefix("+"), []).append(view)
    found: set[str] = set()
    wanted: list[str] = []

    def ask(sql: str, *, is_name: bool = False) -> bool:
        wanted.extend(_OTHER_VIEW.findall(sql))
        plain = _TAG.sub("\n", _OUTPUT.sub("*", project.written(_OTHER_VIEW.sub("*", sql))))
        found.update(_names(plain) if is_name else _read_by(plain))
        return bool(sql)

    def own(block: Block) -> bool:
        told = [ask(block.values.get("sql_table_name", ""), is_name=True)]
        for derived in block.of("derived_table"):
            told += [True, ask(derived.values.get("sql", "")), ask(derived.values.get("sql_create", ""))]
            told += [ask(process.values.get("sql_step", "")) for process in derived.of("create_process")]
        return any(told)

    for _, root in project.files:
        for explore in root.of("explore"):
            told = first(explore.values, "from", "view_name")
            # A refinement that names no view asks what the explore asks that it refines.
            wanted += [told] if told else [] if explore.name.startswith("+") else [explore.name]
            wanted += [first(join.values, "from") or join.name for join in explore.of("join")]
            for block in (explore, *explore.of("join")):
                ask(block.values.get("sql_table_name", ""), is_name=True)
                ask(block.values.get("sql", ""))
    seen: set[str] = set()
    while wanted:
        name = wanted.pop()
        if name in seen:
            continue
        seen.add(name)
        # The view, and those it extends, near and far.
        line = [name]
        for each in line:
            line += {each for view in views.get(each, []) for each in view.lists.get("extends", [])}.difference(line)
        named = [own(view) for each in line for view in views.get(each, [])]
        if not any(named):
            found.add(name)
    return found


def _names(text: str) -> Iterator[str]:
    """Each line's name of a table; of a line that is SQL the tables it reads."""
    for line in text.splitlines():
        said = line.strip().lstrip(".")
        if _NAME.fullmatch(said):
            yield from _plain(said)
        else:
            yield from _read_by(said)


def _read_by(sql: str) -> Iterator[str]:
    text = _COMMENT.sub(" ", sql)
    begin = _FROM.search(text)
    while begin:
        # Text that was read as names is not looked at again.
        at = begin.end()
        found = _NAME.match(text, at)
        while found:
            yield from _plain(found[0])
            at = found.end()
            more = _AND.match(text, at)
            found = _NAME.match(text, more.end()) if more else None
        begin = _FROM.search(text, at)


def _plain(name: str) -> Iterator[str]:
    told = re.sub(r"\s*[.:]\s*", ".", re.sub(r"[\"`\[\]]", "", name)).strip(".")
    if re.search(r"[^\W_]", told):
        yield told


def dashboards(text: str, path: Path) -> list[Dashboard]:
    """The dashboards of a YAML file; what has no name of a dashboard is none."""
    try:
        # Texts, lists and mappings only: nothing else is made of what is written.
        told = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise _unreadable(path, mark.line + 1 if mark else 1, getattr(error, "problem", None) or str(error)) from error
    except RecursionError as error:
        raise _unreadable(path, 1, "it is nested too deep") from error
    found: list[Dashboard] = []
    for one in told if isinstance(told, list) else [told]:
        said: dict[str, Any] = one if isinstance(one, dict) else {}
        if name := word(said.get("dashboard")):
            elements = said.get("elements")
            asked = elements if isinstance(elements, list) else []
            models = {word(each.get("model")) for each in asked if isinstance(each, dict)}
            found.append(Dashboard(name, word(said.get("title")), frozenset(filter(None, models))))
    return found


def parsed(text: str, path: Path) -> Block:
    """Return the content of a file of LookML, as the blocks and values of one block without a name."""
    inside = [Block()]
    at = _after(_SPACE, text, 0)
    while at < len(text):
        block = inside[-1]
        if text[at] == "}" and len(inside) > 1:
            inside.pop()
            at = _after(_SPACE, text, at + 1)
            continue
        found = _KEY.match(text, at)
        if found is None:
            raise _unreadable(path, _line(text, at), f"a key and a colon are expected, not {text[at : at + 20]!r}")
        key, at = found[1], _after(_SPACE, text, found.end())
        if key.startswith(_TEXTS):
            # No space is left out here but at the two ends: what looks like a comment may belong to the text.
            end = text.find(";;", found.end())
            if end < 0:
                raise _unreadable(path, _line(text, found.start()), f"{key} has no ;; at its end")
            told = text[found.end() : end].strip()
            block.values[key] = f"{block.values[key]}\n{told}" if key in block.values else told
            at = _after(_SPACE, text, end + 2)
            continue
        if text.startswith("[", at):
            block.lists[key], at = _list(text, at + 1, path)
            continue
        value, after = _value(text, at)
        if text.startswith("{", after):
            if len(inside) > DEEPEST:
                raise _unreadable(path, _line(text, after), f"blocks are nested deeper than {DEEPEST}")
            inside.append(Block(key, value or ""))
            block.blocks.append(inside[-1])
            at = _after(_SPACE, text, after + 1)
        elif value is not None:
            block.values[key] = value
            at = after
        else:
            raise _unreadable(path, _line(text, found.start()), f"{key} has no value")
    if len(inside) > 1:
        last = f"{inside[-1].key} {inside[-1].name}".strip()
        raise _unreadable(path, _line(text, at), f"{last} has no }} at its end")
    return inside[0]


def _list(text: str, at: int, path: Path) -> tuple[list[str], int]:
    """Return the words up to `]`, and the place after it. `field: "value"` gives both, the first with its colon."""
    begin, found = at, list[str]()
    at = _after(_SPACE, text, at)
    while not text.startswith("]", at):
        value, after = _value(text, at)
        if value is None:
            raise _unreadable(path, _line(text, begin), "a list has no ] at its end")
        found.append(value)
        at = after
    return found, _after(_SPACE, text, at + 1)


def _value(text: str, at: int) -> tuple[str | None, int]:
    """The string or word that begins here and where the next thing begins; None, and here, if there is none."""
    if found := _STRING.match(text, at):
        return found[1].replace('\\"', '"'), _after(_SPACE, text, found.end())
    if found := _WORD.match(text, at):
        return found[0], _after(_SPACE, text, found.end())
    return None, at


def _after(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise _unreadable(path, 1, f"it is larger than {LARGEST} bytes")
        return content.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableContent(f"{path} is no LookML: {error}", path=str(path)) from error


def _unreadable(path: Path, line: int, words: str) -> UnreadableContent:
    return UnreadableContent(f"{path}:{line}: {words}", path=str(path), line=line)
