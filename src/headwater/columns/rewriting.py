"""A statement's tokens to ones the parser reads: hints and options that say nothing about columns left out, old words put in new ones.

Also statements that hold a statement: EXPLAIN, UNLOAD, CREATE TASK. What is inside is read, and something made of it.
"""

from collections.abc import Callable
from typing import Any

import msgspec
from sqlglot.tokenizer_core import TokenType

from headwater.columns import creation, form
from headwater.columns.phrase import Phrase, made, words_of

_SHORT = {"SEL": (TokenType.SELECT, "SELECT"), "INS": (TokenType.INSERT, "INSERT"), "UPD": (TokenType.UPDATE, "UPDATE"),
          "DEL": (TokenType.DELETE, "DELETE"), "UPSERT": (TokenType.INSERT, "INSERT")}  # fmt: skip
_HINTS = frozenset({"LOW_PRIORITY", "HIGH_PRIORITY", "DELAYED", "QUICK", "IGNORE"})
_STARTERS = frozenset(
    "SELECT WITH INSERT UPDATE DELETE MERGE CREATE FROM VALUES REPLACE SEL INS COPY UNLOAD UPSERT".split()
)
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


def misread(tokens: list[Any], dialect: str) -> bool:
    """Whether the parser would take this for something else without a word: it is better not asked."""
    first = tokens[0].text.upper()
    if first not in {"DELETE", "ALTER", "COPY", "INSERT", "CREATE"}:
        return False
    words = words_of(tokens[1:16])
    second = words[0] if words else ""
    if first == "DELETE":
        return second in _HINTS or second == "TOP"
    if first == "ALTER":
        return bool({"SWITCH", "EXCHANGE", "MOVE", "REPLACE", "ATTACH", "DELETE"} & set(words[2:]))
    if first == "COPY":
        return bool({"LOCAL", "PROGRAM", "DATABASE", "STDIN"} & set(words)) or (
            second == "FILES" and words[1:2] == ["INTO"]
        )
    if first == "CREATE":
        return "SINK" in words[:3] or ("OF" in words and "PARTITION" in words[:6])
    if "INFILE" in words or "FUNCTION" in words[:3]:
        return True
    return dialect in {"oracle", "mysql"} and "PARTITION" in words[:8]


def _cleaned(phrase: Phrase, end: int) -> list[Any]:
    dropped: set[int] = set()
    replaced: dict[int, list[Any]] = {}
    parser = phrase.context.rule.parser
    first, second = phrase.word(0), phrase.word(1)
    if first == "REPLACE" and second not in {"(", ""}:
        into = [] if second == "INTO" else [made(TokenType.INTO, "INTO", phrase.tokens[0])]
        replaced[0] = [made(TokenType.INSERT, "INSERT", phrase.tokens[0]), *into]
    if first == "ALTER":
        replaced |= _mutation(phrase)
    elif first == "UPDATE" and parser == "teradata":
        return _from_before_set(phrase, end)
    elif first == "ASSERT":
        replaced[0] = [made(TokenType.SELECT, "SELECT", phrase.tokens[0])]
    elif first in {"PIVOT", "UNPIVOT"}:
        like = phrase.tokens[0]
        opening = [made(TokenType.SELECT, "SELECT", like), made(TokenType.STAR, "*", like),
                   made(TokenType.FROM, "FROM", like), made(TokenType.L_PAREN, "(", like)]  # fmt: skip
        return [*opening, *phrase.tokens[:end], made(TokenType.R_PAREN, ")", like)]
    elif first == "MERGE":
        end = _merge_ends(phrase, end, replaced)
    _head_hints(phrase, dropped)
    fold_short = parser in {"teradata", "hive", ""}
    streams = parser == "databricks"
    for place in range(end):
        word = phrase.words[place]
        if word == "LOCKING":
            stop = phrase.find("ACCESS", "READ", "WRITE", "EXCLUSIVE", "SHARE", start=place, end=end, depth=None)
            dropped.update(range(place, stop + 1 if phrase.word(stop + 1) != "NOWAIT" else stop + 2))
        elif word == "OVERRIDING" and (at := phrase.after(place, "OVERRIDING", "SYSTEM|USER", "VALUE")) > 0:
            dropped.update(range(place, at))
        elif (
            streams
            and word == "STREAM"
            and phrase.word(place - 1) in {"FROM", "JOIN", ","}
            and phrase.is_name(place + 1)
        ):
            dropped.add(place)
        elif fold_short and word in _SHORT and (place == 0 or phrase.word(place - 1) in {"AS", "(", "ALL", "UNION"}):
            replaced[place] = [made(*_SHORT[word], phrase.tokens[place])]
        elif word == "WITH" and (at := phrase.after(place, "WITH", "DIFFERENTIAL_PRIVACY", "OPTIONS")) > 0:
            dropped.update(range(place, phrase.skipped(at)))
        elif word == "IF" and first == "INSERT" and (at := phrase.after(place, "IF", "NOT", "EXISTS")) > 0:
            dropped.update(range(place, at))
        elif (
            word == "PARTITION"
            and first == "INSERT"
            and parser in {"oracle", "mysql"}
            and place < 9
            and not phrase.depths[place]
        ):
            dropped.update(range(place, phrase.skipped(place + 1)))
        elif word == "WHERE" and (at := phrase.after(place, "WHERE", "CURRENT", "OF")) > 0:
            dropped.update(range(place, at + 1))
        elif word == "[" and phrase.word(place - 1) == "JOIN":
            dropped.update(range(place, phrase.closing(place) + 1))
        elif word == "STRAIGHT_JOIN" and phrase.word(place - 1) == "SELECT":
            dropped.add(place)
        elif parser == "teradata" and word == "(" and phrase.word(place + 1) in {"FORMAT", "TITLE", "NAMED"}:
            _phrase_of_teradata(phrase, place, dropped, replaced)
        elif word == "OPENROWSET" and phrase.word(place + 2) == "BULK" and (path := phrase.text(place + 3)) is not None:
            after = phrase.skipped(place + 1)
            columns = (
                phrase.skipped(after + 1) if phrase.word(after) == "WITH" and phrase.word(after + 1) == "(" else after
            )
            dropped.update(range(place + 1, columns))
            like = phrase.tokens[place]
            replaced[place] = [made(TokenType.VAR, "read_files", like), made(TokenType.L_PAREN, "(", like),
                               made(TokenType.STRING, path, like), made(TokenType.R_PAREN, ")", like)]  # fmt: skip
        elif word == "WITH" and first == "INSERT" and (at := phrase.after(place, "WITH", "LABEL")) > 0:
            dropped.update(range(place, at + 1))
    result: list[Any] = []
    for place in range(end):
        if place not in dropped:
            result += replaced.get(place, phrase.tokens[place : place + 1])
    return result


def _phrase_of_teradata(phrase: Phrase, place: int, dropped: set[int], replaced: dict[int, list[Any]]) -> None:
    """`a (NAMED b)` is `a AS b`; FORMAT and TITLE are for the eye."""
    end = phrase.closing(place)
    dropped.update(range(place, min(end + 1, phrase.size)))
    if phrase.word(place + 1) == "NAMED" and phrase.is_name(place + 2):
        dropped.discard(place)
        replaced[place] = [made(TokenType.ALIAS, "AS", phrase.tokens[place]), phrase.tokens[place + 2]]


def _from_before_set(phrase: Phrase, end: int) -> list[Any]:
    """Teradata writes UPDATE t FROM s SET …: without an alias SET would be taken for one."""
    source, assigned = phrase.find("FROM", end=end), phrase.find("SET", end=end)
    if not 0 < source < assigned:
        return phrase.tokens[:end]
    tokens = phrase.tokens
    alias: list[Any] = []
    if phrase.is_name(assigned - 1) and phrase.word(assigned - 2) in {"FROM", ".", ","}:
        alias = [made(TokenType.ALIAS, "AS", tokens[assigned]), tokens[assigned - 1]]
    return [*tokens[:assigned], *alias, *tokens[assigned:end]]


def _merge_ends(phrase: Phrase, end: int, replaced: dict[int, list[Any]]) -> int:
    """Oracle's DELETE WHERE after an update is a branch of its own; Redshift's REMOVE DUPLICATES stands for two."""
    like = phrase.tokens[-1]

    def words(*pairs: tuple[TokenType, str]) -> list[Any]:
        return [made(kind, text, like) for kind, text in pairs]

    matched = [(TokenType.VAR, "WHEN"), (TokenType.VAR, "MATCHED"), (TokenType.THEN, "THEN")]
    if phrase.after(end, "REMOVE", "DUPLICATES") > 0:
        matched[0] = (TokenType.WHEN, "WHEN")
        missed = [matched[0], (TokenType.NOT, "NOT"), *matched[1:]]
        star = (TokenType.STAR, "*")
        replaced[end - 1] = [
            phrase.tokens[end - 1],
            *words(*matched, (TokenType.UPDATE, "UPDATE"), (TokenType.SET, "SET"), star),
            *words(*missed, (TokenType.INSERT, "INSERT"), star),
        ]
        return end
    place = phrase.find("DELETE", end=end)
    if place > 0 and phrase.word(place + 1) == "WHERE" and phrase.word(place - 1) != "THEN":
        stop = phrase.find("WHEN", start=place, end=end)
        stop = end if stop < 0 else stop
        condition = phrase.tokens[place + 2 : stop]
        replaced[place] = [
            *words(
                (TokenType.WHEN, "WHEN"), (TokenType.VAR, "MATCHED"), (TokenType.AND, "AND"), (TokenType.L_PAREN, "(")
            ),
            *condition,
            *words((TokenType.R_PAREN, ")"), (TokenType.THEN, "THEN"), (TokenType.DELETE, "DELETE")),
        ]
        for at in range(place + 1, stop):
            replaced[at] = []
    return end


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
