"""A statement's tokens to ones the parser reads: hints and options that say nothing about columns left out, old words put in new ones.

Also statements that hold a statement: EXPLAIN, UNLOAD, CREATE TASK. What is inside is read, and something made of it.
"""

from collections.abc import Callable
from typing import Any

import msgspec
from sqlglot.tokenizer_core import TokenType

from headwater.columns import creation, form
from headwater.columns.phrase import Phrase, made

_SHORT = {"SEL": (TokenType.SELECT, "SELECT"), "INS": (TokenType.INSERT, "INSERT"), "UPD": (TokenType.UPDATE, "UPDATE"),
          "DEL": (TokenType.DELETE, "DELETE"), "UPSERT": (TokenType.INSERT, "INSERT")}  # fmt: skip
_HINTS = frozenset({"LOW_PRIORITY", "HIGH_PRIORITY", "DELAYED", "QUICK", "IGNORE"})
_STARTERS = frozenset("SELECT WITH INSERT UPDATE DELETE MERGE CREATE FROM VALUES REPLACE SEL INS COPY UNLOAD UPSERT".split())
_CHAINS = frozenset("UNION EXCEPT INTERSECT MINUS ORDER LIMIT ORDER_BY OFFSET FETCH".split()) | {"ORDER BY"}

_TRAILING = (
    ("WITH", "UR|CS|RS|RR"),
    ("WITH", "DATA"),
    ("WITH", "NO", "DATA|SCHEMA"),
    ("WITH", "READ", "ONLY"),
    ("WITH", "CHECK"),
    ("WITH", "LOCAL|CASCADED", "CHECK"),
    ("OPTIMIZE", "FOR"),
    ("LOG|LOGGING", "ERRORS|ALL"),
    ("EMIT", "ON|CHANGES|FINAL"),
    ("DISTRIBUTED", "BY|RANDOMLY|REPLICATED"),
    ("SEGMENTED", "BY"),
    ("UNSEGMENTED", "ALL|NODE"),
    ("OPTION", "("),
    ("FOR", "JSON|XML|BROWSE|UPDATE|SHARE|READ|FETCH|NO|KEY"),
    ("LOCK", "IN"),
    ("SETTINGS",),
    ("PROCEDURE", "ANALYSE"),
    ("UNIQUE?", "PRIMARY", "INDEX"),
    ("NO", "PRIMARY", "INDEX"),
    ("ON", "COMMIT"),
    ("AND", "STATS|STATISTICS"),
    ("KSAFE",),
    ("REJECT", "LIMIT"),
    ("AS", "OF"),
    ("ENABLE|DISABLE", "TRIGGERS|QUERY"),
    ("REMOVE", "DUPLICATES"),
)


class Held(msgspec.Struct):
    """Statements inside another: their tokens or their text, the kind of the whole, what is made of their forms."""

    kind: str
    inner: list[list[Any] | str]
    build: Callable[[list[form.Form]], form.Form | None]


def _together(forms: list[form.Form]) -> form.Form | None:
    return None if not forms else forms[0] if len(forms) == 1 else form.SeveralForm(forms)


def _read_only(forms: list[form.Form]) -> form.Form | None:
    """What is explained is not run: its query is read, nothing is written."""
    found: list[form.Form] = []
    for one in forms:
        if isinstance(one, form.WriteForm):
            found.append(form.QueryForm(one.query))
        elif isinstance(one, form.UpdateForm):
            items = [one.target_item, *one.items]
            found.append(form.QueryForm(form.Select([], items, one.ctes, list(one.where))))
        elif isinstance(one, form.QueryForm):
            found.append(one)
    return _together(found)


def _exported(path: str) -> Callable[[list[form.Form]], form.Form | None]:
    def build(forms: list[form.Form]) -> form.Form | None:
        queries = [one.query for one in forms if isinstance(one, form.QueryForm)]
        return form.WriteForm(form.Target((path,), is_path=True), "EXPORT", queries[0]) if queries else None

    return build


def held(phrase: Phrase) -> Held | None:
    """The statement inside this one, if that is what it is for."""
    first, second = phrase.word(0), phrase.word(1)
    if first in {"EXPLAIN", "DESCRIBE", "DESC", "PROFILE"}:
        place = _starter(phrase, 1)
        if place < 0:
            return None
        runs = first == "PROFILE" or bool({"ANALYZE", "ANALYSE"} & set(phrase.words[:place]))
        return Held(first if first != "DESC" else "DESCRIBE", [phrase.tokens[place:]], _together if runs else _read_only)
    if first == "UNLOAD" or (first == "EXPORT" and (second == "(" or phrase.after(0, "EXPORT", "TO") > 0)):
        return _unload(phrase)
    if first == "INSERT":
        return _insert_elsewhere(phrase)
    if first in {"SELECT", "WITH"} and (place := phrase.find("INTO")) > 0:
        if phrase.word(place + 1) in {"OUTFILE", "DUMPFILE"} and (path := phrase.text(place + 2)) is not None:
            rest = phrase.find("FROM", start=place)
            return Held("SELECT", [phrase.tokens[:place] + (phrase.tokens[rest:] if rest > 0 else [])], _exported(path))
        return None
    if first in {"CREATE", "SUBMIT", "PREPARE", "DECLARE"}:
        return _wrapped(phrase)
    return None


def _starter(phrase: Phrase, start: int) -> int:
    for place in range(start, phrase.size):
        if phrase.depths[place] == 0 and (
            phrase.words[place] in _STARTERS or (phrase.words[place] == "(" and phrase.starts_query(place))
        ):
            return place
    return -1


def _unload(phrase: Phrase) -> Held | None:
    if phrase.word(0) == "EXPORT" and phrase.word(1) == "TO":
        place, path = phrase.find("AS"), phrase.first_text()
        return Held("EXPORT", [phrase.tokens[place + 1 :]], _exported(path)) if place > 0 and path is not None else None
    end = phrase.closing(1) if phrase.word(1) == "(" else phrase.size
    way = phrase.find("TO", "INTO", start=end)
    path = phrase.first_text(way) if way > 0 else None
    if path is None:
        return None
    text = phrase.text(2)
    inner: list[Any] | str = text if text is not None and end == 3 else phrase.tokens[2:end]
    return Held(phrase.word(0), [inner], _exported(path))


def _insert_elsewhere(phrase: Phrase) -> Held | None:
    """INSERT into a directory or files, and INSERT of what a procedure gives."""
    place = phrase.after(0, "INSERT", "OVERWRITE", "LOCAL?", "DIRECTORY")
    if place < 0:
        place = phrase.after(0, "INSERT", "INTO|OVERWRITE", "FILES", "(") - 1
    if place > 0:
        start = _starter(phrase, place)
        path = phrase.text(place) or _option(phrase, place, start)
        kind = "INSERT OVERWRITE" if phrase.word(1) == "OVERWRITE" else "INSERT"
        return Held(kind, [phrase.tokens[start:]], _exported(path)) if start > 0 and path is not None else None
    place = phrase.find("EXEC", "EXECUTE")
    if place > 0:
        name, at = phrase.name(2 if phrase.word(1) == "INTO" else 1)
        columns = phrase.tokens[at + 1 : phrase.closing(at)] if phrase.word(at) == "(" and at < place else []
        listed = [phrase.context.fold(one.text, one.token_type is TokenType.IDENTIFIER) for one in columns if one.text != ","]
        text = phrase.text(place + 2) if phrase.word(place + 1) == "(" else None

        def build(forms: list[form.Form]) -> form.Form | None:
            query = next((one.query for one in forms if isinstance(one, form.QueryForm)), form.Values([]))
            return form.WriteForm(form.Target(name, listed), "APPEND", query)

        if text is None:
            phrase.context.warn(f"what {phrase.words[place]} gives is not known here")
        return Held("INSERT", [text] if text is not None else [], build) if name else None
    return None


def _option(phrase: Phrase, start: int, end: int) -> str | None:
    """The value of the option called path."""
    for place in range(start, end - 1):
        if (phrase.text(place) or phrase.words[place]).lower() == "path":
            return phrase.first_text(place + 1, end)
    return None


def _wrapped(phrase: Phrase) -> Held | None:
    """CREATE TASK, PIPE, ALERT, EVENT, JOB, FLOW; SUBMIT TASK; PREPARE; DECLARE … CURSOR."""
    first = phrase.word(0)
    if first == "PREPARE":
        place = phrase.find("AS", "FROM")
        return Held("PREPARE", [phrase.tokens[place + 1 :]], _read_only) if place > 0 else None
    if first == "DECLARE":
        place = phrase.find("FOR") if "CURSOR" in phrase.words[:8] else -1
        return Held("DECLARE", [phrase.tokens[place + 1 :]], _read_only) if place > 0 else None
    place = 1
    while phrase.word(place) in {"OR", "REPLACE", "ALTER"}:
        place += 1
    what = phrase.word(place)
    kind = f"{first} {what}"
    if what in {"TASK", "PIPE", "FLOW", "SINK"}:
        place = phrase.find("AS", start=place)
        if place < 0 or phrase.word(place + 1) == "AUTO":
            return None
        if what == "SINK":
            name, _ = phrase.name(2)
            return Held(kind, [phrase.tokens[place + 1 : trailing(phrase, place + 1, sink=True)]], _exported(".".join(name)))
        return Held(kind, [phrase.tokens[place + 1 :]], _together)
    if what in {"EVENT", "JOB"}:
        place = phrase.find("DO", start=place)
        return Held(kind, [phrase.tokens[place + 1 :]], _together) if place > 0 else None
    if what == "ALERT":
        then, exists = phrase.find("THEN", start=place), phrase.find("EXISTS", start=place, depth=None)
        if then < 0:
            return None
        condition = [phrase.tokens[exists + 2 : phrase.closing(exists + 1)]] if 0 < exists < then else []
        return Held(kind, [*condition, phrase.tokens[then + 1 :]], _together)
    return None


def trailing(phrase: Phrase, start: int, *, sink: bool = False) -> int:
    """Where a query ends: before a clause that says nothing about columns, or behind its closing bracket."""
    if phrase.word(start) == "(" and phrase.depths[start] == 0:
        end = phrase.closing(start) + 1
        if phrase.word(end) not in _CHAINS:
            return min(end, phrase.size)
    patterns = (*_TRAILING, ("WITH", "(")) if sink else _TRAILING
    clickhouse = phrase.context.rule.parser == "clickhouse"
    for place in range(start + 1, phrase.size):
        if phrase.depths[place] == 0 and phrase.words[place]:
            if any(phrase.after(place, *pattern) > 0 for pattern in patterns if phrase.words[place] in pattern[0]):
                return place
            if clickhouse and phrase.words[place] == "FORMAT" and phrase.is_name(place + 1):
                return place
    return phrase.size


def simplified(phrase: Phrase) -> tuple[list[Any], str]:
    """The tokens without what only stands in the way, and the statement's kind where they no longer tell it."""
    created = creation.head(phrase)
    if created is not None:
        place = creation.query_place(phrase, created.after_name)
        if place < 0:
            return phrase.tokens, created.kind
        tokens = creation.plain(phrase, created, place, trailing(phrase, place))
        return _cleaned(Phrase(tokens, phrase.context), len(tokens)), created.kind
    return _cleaned(phrase, trailing(phrase, 0) if phrase.word(0) not in {"CREATE", "ALTER"} else phrase.size), ""


def _cleaned(phrase: Phrase, end: int) -> list[Any]:
    dropped: set[int] = set()
    replaced: dict[int, list[Any]] = {}
    first, second = phrase.word(0), phrase.word(1)
    if first == "REPLACE" and second not in {"(", ""}:
        into = [] if second == "INTO" else [made(TokenType.INTO, "INTO", phrase.tokens[0])]
        replaced[0] = [made(TokenType.INSERT, "INSERT", phrase.tokens[0]), *into]
    if first == "ALTER":
        replaced |= _mutation(phrase)
    _head_hints(phrase, dropped)
    fold_short = phrase.context.rule.parser in {"teradata", "hive", ""}
    streams = phrase.context.rule.parser == "databricks"
    for place in range(end):
        word = phrase.words[place]
        if word == "LOCKING":
            stop = phrase.find("ACCESS", "READ", "WRITE", "EXCLUSIVE", "SHARE", start=place, end=end, depth=None)
            dropped.update(range(place, stop + 1 if phrase.word(stop + 1) != "NOWAIT" else stop + 2))
        elif word == "OVERRIDING" and (at := phrase.after(place, "OVERRIDING", "SYSTEM|USER", "VALUE")) > 0:
            dropped.update(range(place, at))
        elif streams and word == "STREAM" and phrase.word(place - 1) in {"FROM", "JOIN", ","} and phrase.is_name(place + 1):
            dropped.add(place)
        elif fold_short and word in _SHORT and (place == 0 or phrase.word(place - 1) in {"AS", "(", "ALL", "UNION"}):
            replaced[place] = [made(*_SHORT[word], phrase.tokens[place])]
        elif word == "WITH" and (at := phrase.after(place, "WITH", "DIFFERENTIAL_PRIVACY", "OPTIONS")) > 0:
            dropped.update(range(place, phrase.skipped(at)))
        elif word == "IF" and first == "INSERT" and (at := phrase.after(place, "IF", "NOT", "EXISTS")) > 0:
            dropped.update(range(place, at))
        elif word == "WITH" and first == "INSERT" and (at := phrase.after(place, "WITH", "LABEL")) > 0:
            dropped.update(range(place, at + 1))
    result: list[Any] = []
    for place in range(end):
        if place not in dropped:
            result += replaced.get(place, phrase.tokens[place : place + 1])
    return result


def _mutation(phrase: Phrase) -> dict[int, list[Any]]:
    """ClickHouse: ALTER TABLE t UPDATE … WHERE, ALTER TABLE t DELETE WHERE."""
    _, place = phrase.name(2)
    if (at := phrase.after(place, "ON", "CLUSTER")) > 0:
        place = at + 1
    word, first = phrase.word(place), phrase.tokens[0]
    name = phrase.tokens[2:place]
    if phrase.word(1) != "TABLE" or word not in {"UPDATE", "DELETE"}:
        return {}
    found: dict[int, list[Any]] = {at: [] for at in range(place + 1)}
    if word == "UPDATE":
        found[0] = [made(TokenType.UPDATE, "UPDATE", first), *name, made(TokenType.SET, "SET", first)]
    else:
        found[0] = [made(TokenType.DELETE, "DELETE", first), made(TokenType.FROM, "FROM", first), *name]
    return found


def _head_hints(phrase: Phrase, dropped: set[int]) -> None:
    """Words between INSERT, UPDATE, DELETE, MERGE and what they change."""
    if phrase.word(0) not in {"INSERT", "UPDATE", "DELETE", "MERGE", "REPLACE"}:
        return
    place = 1
    while place < phrase.size:
        word = phrase.word(place)
        if (at := phrase.after(place, "WITH", "SCHEMA", "EVOLUTION")) > 0:
            dropped.update(range(place, at))
        elif word in _HINTS:
            at = place + 1
            dropped.add(place)
        elif word == "TOP":
            at = phrase.skipped(place + 1) if phrase.word(place + 1) == "(" else place + 2
            at = phrase.after(at, "PERCENT?")
            dropped.update(range(place, at))
        elif word == "OR" and phrase.word(0) == "UPDATE":
            at = place + 2
            dropped.update(range(place, at))
        else:
            return
        place = at
