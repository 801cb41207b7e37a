"""Statements that hold a statement: EXPLAIN, UNLOAD, CREATE TASK, INSERT into files. The inner statement is read, and the outer one made of it."""

from collections.abc import Callable
from typing import Any

import msgspec
from sqlglot.tokenizer_core import TokenType

from headwater.columns import form
from headwater.columns.recovery.phrase import Phrase
from headwater.columns.recovery.rewriting import trailing

_STARTERS = frozenset(
    "WITH SELECT INSERT UPDATE DELETE MERGE CREATE FROM VALUES REPLACE SEL INS COPY UNLOAD UPSERT".split()
)


class Held(msgspec.Struct):
    """Statements inside another: their tokens or their text, the kind of the whole, what is made of their forms."""

    kind: str
    inner: list[list[Any] | str]
    build: Callable[[list[form.Form]], form.Form | None]


def _together(forms: list[form.Form]) -> form.Form | None:
    return None if not forms else forms[0] if len(forms) == 1 else form.SeveralForm(forms)


def _read_only(forms: list[form.Form]) -> form.Form | None:
    """Return an explained statement as reads only: it is not run, so its query is read and nothing is written."""
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


def _exported(path: str, action: str = "EXPORT") -> Callable[[list[form.Form]], form.Form | None]:
    def build(forms: list[form.Form]) -> form.Form | None:
        queries = [one.query for one in forms if isinstance(one, form.QueryForm)]
        return form.WriteForm(form.Target((path,), is_path=True), action, queries[0]) if queries else None

    return build


def held(phrase: Phrase) -> Held | None:
    """The statement inside this one, if that is what it is for."""
    first, second = phrase.word(0), phrase.word(1)
    if first in {"EXPLAIN", "DESCRIBE", "DESC", "PROFILE"}:
        place = _starter(phrase, 1)
        if place < 0:
            return None
        runs = first == "PROFILE" or bool({"ANALYZE", "ANALYSE"} & set(phrase.words[:place]))
        return Held(
            first if first != "DESC" else "DESCRIBE", [phrase.tokens[place:]], _together if runs else _read_only
        )
    if first == "UNLOAD" or (first == "EXPORT" and (second == "(" or phrase.after(0, "EXPORT", "TO") > 0)):
        return _unload(phrase)
    if first == "INSERT":
        return _insert_elsewhere(phrase)
    if first == "SUBSCRIBE":
        return Held(first, [phrase.tokens[2 if second == "TO" else 1 :]], _together)
    if first in {"EXECUTE", "EXEC"} and second == "IMMEDIATE" and (text := phrase.text(2)) is not None:
        return Held("EXECUTE", [text], _together)
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
        place = phrase.after(0, "INSERT", "INTO|OVERWRITE", "FILES|FUNCTION", "(|S3|FILE|URL|HDFS|GCS|AZUREBLOBSTORAGE")
        if place > 0 and phrase.word(2) == "FUNCTION":
            start, path = _starter(phrase, phrase.skipped(place)), phrase.first_text(place)
            return Held("INSERT", [phrase.tokens[start:]], _exported(path)) if start > 0 and path is not None else None
        place = max(place - 1, -1)
    if place > 0:
        start = _starter(phrase, place)
        path = phrase.text(place) or _option(phrase, place, start)
        kind, action = ("INSERT OVERWRITE", "OVERWRITE") if phrase.word(1) == "OVERWRITE" else ("INSERT", "EXPORT")
        return Held(kind, [phrase.tokens[start:]], _exported(path, action)) if start > 0 and path is not None else None
    place = phrase.find("EXEC", "EXECUTE")
    if place > 0:
        name, at = phrase.name(2 if phrase.word(1) == "INTO" else 1)
        columns = phrase.tokens[at + 1 : phrase.closing(at)] if phrase.word(at) == "(" and at < place else []
        listed = [
            phrase.context.fold(one.text, one.token_type is TokenType.IDENTIFIER) for one in columns if one.text != ","
        ]
        text = phrase.text(place + 2) if phrase.word(place + 1) == "(" else None

        def build(forms: list[form.Form]) -> form.Form | None:
            for one in forms:
                if isinstance(one, form.QueryForm):
                    return form.WriteForm(form.Target(name, listed), "APPEND", one.query)
            return form.WriteForm(form.Target(name, listed), "APPEND", form.Values([]), by_name=True)

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
            return Held(
                kind, [phrase.tokens[place + 1 : trailing(phrase, place + 1, sink=True)]], _exported(".".join(name))
            )
        return Held(kind, [phrase.tokens[place + 1 :]], _together)
    if what == "TYPE" and (place := phrase.find("(")) > 0 and phrase.starts_query(place + 1):
        return Held(kind, [phrase.tokens[place + 1 : phrase.closing(place)]], _together)
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
