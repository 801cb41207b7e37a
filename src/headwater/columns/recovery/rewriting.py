"""A statement's tokens to ones the parser reads: hints and options that say nothing about columns left out, old words put in new ones."""

from typing import Any

from sqlglot.tokenizer_core import TokenType

from headwater.columns.dialect import HIVES
from headwater.columns.recovery import creation
from headwater.columns.recovery.phrase import Phrase, inserted_token, words_of

_SHORT = {"SEL": (TokenType.SELECT, "SELECT"), "INS": (TokenType.INSERT, "INSERT"), "UPD": (TokenType.UPDATE, "UPDATE"),
          "DEL": (TokenType.DELETE, "DELETE"), "UPSERT": (TokenType.INSERT, "INSERT")}  # fmt: skip
_HINTS = frozenset({"LOW_PRIORITY", "HIGH_PRIORITY", "DELAYED", "QUICK", "IGNORE"})
_EVOLUTION = ("WITH", "SCHEMA", "EVOLUTION")
_PIPED = {
    "SET": (TokenType.REPLACE, "REPLACE"),
    "DROP": (TokenType.EXCEPT, "EXCEPT"),
    "RENAME": (TokenType.RENAME, "RENAME"),
}
_LEARNED = ("PREDICTION", "CLUSTER_", "FEATURE_", "ORA_DM_")
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


def trailing(phrase: Phrase, start: int, *, sink: bool = False) -> int:
    """Return the place where a query ends: before a clause that says nothing about columns, or behind its closing bracket."""
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
    """The tokens without irrelevant clauses, and the statement's kind if they no longer show it."""
    created = creation.head(phrase)
    if created is not None:
        place = creation.query_place(phrase, created.after_name)
        if place < 0:
            return phrase.tokens, created.kind
        tokens = creation.plain(phrase, created, place, _cut(phrase, place))
        return _cleaned(Phrase(tokens, phrase.context), len(tokens)), created.kind
    return _cleaned(phrase, _cut(phrase, 0) if phrase.word(0) not in {"CREATE", "ALTER"} else phrase.size), ""


def evolves(phrase: Phrase) -> bool:
    """Return whether a statement gives its target the columns that it has not yet."""
    return phrase.word(0) in {"INSERT", "MERGE"} and phrase.after(1, *_EVOLUTION) > 0


def _cut(phrase: Phrase, place: int) -> int:
    """Return the place where the query ends; if the cut also removes a query behind it, warn."""
    end = trailing(phrase, place)
    if {"SELECT", "JOIN", "UNION", "INSERT", "MERGE"} & set(phrase.words[end:]):
        phrase.context.warn(f"what follows {phrase.word(end)} is not read")
    return end


def misread(tokens: list[Any], dialect: str) -> bool:
    """Return whether the parser would silently take this for something else, so that it must not be asked."""
    first = tokens[0].text.upper()
    if first not in {"DELETE", "ALTER", "COPY", "INSERT", "CREATE"}:
        return False
    words = words_of(tokens[1:16])
    second = words[0] if words else ""
    if first == "DELETE":
        return second in _HINTS or second == "TOP"
    if first == "ALTER":
        return "TABLE" in words[:3] or bool(
            {"SWITCH", "EXCHANGE", "MOVE", "REPLACE", "ATTACH", "DELETE", "REBUILD"} & set(words[2:])
        )
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
    parser, first = phrase.context.rule.parser, phrase.word(0)
    dropped: set[int] = set()
    replaced: dict[int, list[Any]] = {}
    like = phrase.tokens[0]
    if first == "REPLACE" and phrase.word(1) not in {"(", ""}:
        into = [] if phrase.word(1) == "INTO" else [inserted_token(TokenType.INTO, "INTO", like)]
        replaced[0] = [inserted_token(TokenType.INSERT, "INSERT", like), *into]
    elif first == "ALTER":
        replaced |= _mutation(phrase)
    elif first == "UPDATE" and parser == "teradata":
        return _from_before_set(phrase, end)
    elif first == "ASSERT":
        replaced[0] = [inserted_token(TokenType.SELECT, "SELECT", like)]
    elif (place := _turned(phrase, end)) >= 0:
        opening = [
            (TokenType.SELECT, "SELECT"),
            (TokenType.STAR, "*"),
            (TokenType.FROM, "FROM"),
            (TokenType.L_PAREN, "("),
        ]
        return [
            *phrase.tokens[:place],
            *(inserted_token(*one, like) for one in opening),
            *phrase.tokens[place:end],
            inserted_token(TokenType.R_PAREN, ")", like),
        ]
    elif first == "MERGE":
        end = _merge_ends(phrase, end, replaced)
    _head_hints(phrase, dropped)
    for place in range(end):
        word = phrase.words[place]
        if word:
            _clean(phrase, place, end, dropped, replaced)
    result: list[Any] = []
    for place in range(end):
        if place not in dropped:
            result += replaced.get(place, phrase.tokens[place : place + 1])
    return result


def _turned(phrase: Phrase, end: int) -> int:
    """Return the place of DuckDB's PIVOT or UNPIVOT of a table where it is all of the query, -1 if it is not."""
    if phrase.word(0) not in {"PIVOT", "UNPIVOT"} and phrase.context.rule.parser != "duckdb":
        return -1
    for place in range(end):
        if phrase.words[place] in {"PIVOT", "UNPIVOT", "PIVOT_WIDER", "PIVOT_LONGER"} and not phrase.depths[place]:
            return place
        if phrase.words[place] in {"SELECT", "FROM", "WITH"}:
            break
    return -1


def _clean(phrase: Phrase, place: int, end: int, dropped: set[int], replaced: dict[int, list[Any]]) -> None:
    """Leaves out or puts in other words what stands at one place."""
    parser, first, word = phrase.context.rule.parser, phrase.words[0], phrase.words[place]
    before, after = phrase.word(place - 1), phrase.word(place + 1)
    if (stop := _meaningless(phrase, place, end)) > 0:
        dropped.update(range(place, stop))
    elif (
        word in _SHORT and parser in {"teradata", "hive", ""} and (place == 0 or before in {"AS", "(", "ALL", "UNION"})
    ):
        replaced[place] = [inserted_token(*_SHORT[word], phrase.tokens[place])]
    elif word == "|>" and after in _PIPED:
        _piped(phrase, place, end, dropped, replaced)
    elif word == "USING" and parser == "oracle":
        _learned(phrase, place, dropped)
    elif word == "WINDOW" and before == "GROUP BY" and after == "(" and parser in HIVES:
        replaced[place] = [inserted_token(TokenType.VAR, phrase.tokens[place].text, phrase.tokens[place])]
    elif word == "MATCH" and parser == "tsql" and after == "(":
        _graph(phrase, place, dropped, replaced)
    elif word == "::" and parser == "tsql" and before in {"FROM", "JOIN", ",", "APPLY"}:
        dropped.add(place)
    elif word == "::" and parser == "redshift" and phrase.after(place + 2, "[", "]") > 0:
        dropped.update(range(place, place + 4))
    elif word == "PARTITION" and first == "INSERT" and parser in {"oracle", "mysql"} and place < 9:
        dropped.update(range(place, phrase.skipped(place + 1)))
    elif word == "(" and parser == "teradata" and after in {"FORMAT", "TITLE", "NAMED"}:
        _phrase_of_teradata(phrase, place, dropped, replaced)
    elif word == "OPENROWSET" and phrase.word(place + 2) == "BULK" and (path := phrase.text(place + 3)) is not None:
        stop = phrase.skipped(place + 1)
        if phrase.word(stop) == "WITH" and phrase.word(stop + 1) == "(":
            stop = phrase.skipped(stop + 1)
        dropped.update(range(place + 1, stop))
        call = [
            (TokenType.VAR, "read_files"),
            (TokenType.L_PAREN, "("),
            (TokenType.STRING, path),
            (TokenType.R_PAREN, ")"),
        ]
        replaced[place] = [inserted_token(*one, phrase.tokens[place]) for one in call]


def _piped(phrase: Phrase, place: int, end: int, dropped: set[int], replaced: dict[int, list[Any]]) -> None:
    """Pipe operators that change some columns, as a SELECT of all columns that does so."""
    like, depth, operator = phrase.tokens[place + 1], phrase.depths[place], phrase.word(place + 1)
    stop = place + 2
    while stop < end and not (
        (phrase.words[stop] in {"|>", ";"} and phrase.depths[stop] == depth) or phrase.depths[stop] < depth
    ):
        stop += 1
    body: list[Any] = []
    if operator == "SET":
        at = place + 2
        while at < stop:
            comma = phrase.find(",", start=at, end=stop, depth=depth)
            comma = stop if comma < 0 else comma
            if phrase.word(at + 1) != "=" or not phrase.is_name(at):
                return
            body += [inserted_token(TokenType.COMMA, ",", like)] if body else []
            body += [*phrase.tokens[at + 2 : comma], inserted_token(TokenType.ALIAS, "AS", like), phrase.tokens[at]]
            at = comma + 1
    else:
        body = phrase.tokens[place + 2 : stop]
    if not body:
        return
    dropped.update(range(place + 2, stop))
    replaced[place + 1] = [
        inserted_token(TokenType.SELECT, "SELECT", like),
        inserted_token(TokenType.STAR, "*", like),
        inserted_token(*_PIPED[operator], like),
        inserted_token(TokenType.L_PAREN, "(", like),
        *body,
        inserted_token(TokenType.R_PAREN, ")", like),
    ]


def _learned(phrase: Phrase, place: int, dropped: set[int]) -> None:
    """Oracle's functions of a model: what stands after USING is what they are functions of."""
    depth = phrase.depths[place]
    opened = place - 1
    while opened > 0 and phrase.depths[opened] >= depth:
        opened -= 1
    if phrase.word(opened) != "(" or not phrase.word(opened - 1).startswith(_LEARNED):
        return
    end = phrase.closing(opened)
    dropped.update(range(opened + 1, place + 1))
    for at in range(place + 1, min(end, phrase.size)):
        if phrase.words[at] == "AS" and phrase.depths[at] == depth:
            dropped.update({at, at + 1})


def _graph(phrase: Phrase, place: int, dropped: set[int], replaced: dict[int, list[Any]]) -> None:
    """T-SQL's MATCH(a-(b)->c): the tables meet by the columns that every node and edge has."""
    end, like = phrase.closing(place + 1), phrase.tokens[place]
    if end >= phrase.size or not any(phrase.words[at] in {"-", "->", "<"} for at in range(place + 2, end)):
        return
    body: list[Any] = []
    for at in range(place + 2, end):
        if phrase.is_name(at) and phrase.words[at] not in {"AND", "SHORTEST_PATH", "LAST_NODE"}:
            edge = phrase.word(at - 1) == "(" and phrase.word(at + 1) == ")"
            column = "$edge_id" if edge else "$node_id"
            body += [inserted_token(TokenType.COMMA, ",", like)] if body else []
            body += [
                phrase.tokens[at],
                inserted_token(TokenType.DOT, ".", like),
                inserted_token(TokenType.VAR, column, like),
            ]
    dropped.update(range(place + 1, end + 1))
    replaced[place] = [
        inserted_token(TokenType.VAR, "MATCHES", like),
        inserted_token(TokenType.L_PAREN, "(", like),
        *body,
        inserted_token(TokenType.R_PAREN, ")", like),
        inserted_token(TokenType.EQ, "=", like),
        inserted_token(TokenType.NUMBER, "1", like),
    ]


def _meaningless(phrase: Phrase, place: int, end: int) -> int:
    """Return the place where the words here that say nothing about columns end; -1 when there are none."""
    word, first = phrase.words[place], phrase.words[0]
    before = phrase.word(place - 1)
    if word == "LOCKING":
        stop = phrase.find(
            "ACCESS", "READ", "WRITE", "EXCLUSIVE", "SHARE", start=place, end=min(end, place + 12), depth=None
        )
        return phrase.after(stop + 1, "NOWAIT?") if stop > 0 else -1
    if word == "OVERRIDING":
        return phrase.after(place, "OVERRIDING", "SYSTEM|USER", "VALUE")
    if word == "STREAM" and phrase.context.rule.parser == "databricks":
        return place + 1 if before in {"FROM", "JOIN", ","} and phrase.is_name(place + 1) else -1
    if word == "WHERE":
        at = phrase.after(place, "WHERE", "CURRENT", "OF")
        return at + 1 if at > 0 else -1
    if word == "[" and before == "JOIN":
        return phrase.closing(place) + 1
    if word == "STRAIGHT_JOIN" and before == "SELECT":
        return place + 1
    if word == "IF" and first == "INSERT":
        return phrase.after(place, "IF", "NOT", "EXISTS")
    if word == "WITH":
        if (at := phrase.after(place, "WITH", "DIFFERENTIAL_PRIVACY", "OPTIONS")) > 0:
            return phrase.skipped(at)
        if first == "INSERT" and (at := phrase.after(place, "WITH", "LABEL")) > 0:
            return at + 1
    return -1


def _phrase_of_teradata(phrase: Phrase, place: int, dropped: set[int], replaced: dict[int, list[Any]]) -> None:
    """`a (NAMED b)` is `a AS b`; FORMAT and TITLE are for the eye."""
    end = phrase.closing(place)
    dropped.update(range(place, min(end + 1, phrase.size)))
    if phrase.word(place + 1) == "NAMED" and phrase.is_name(place + 2):
        dropped.discard(place)
        replaced[place] = [inserted_token(TokenType.ALIAS, "AS", phrase.tokens[place]), phrase.tokens[place + 2]]


def _from_before_set(phrase: Phrase, end: int) -> list[Any]:
    """Teradata writes UPDATE t FROM s SET …: without an alias SET would be taken for one."""
    source, assigned = phrase.find("FROM", end=end), phrase.find("SET", end=end)
    if not 0 < source < assigned:
        return phrase.tokens[:end]
    tokens = phrase.tokens
    alias: list[Any] = []
    if phrase.is_name(assigned - 1) and phrase.word(assigned - 2) in {"FROM", ".", ","}:
        alias = [inserted_token(TokenType.ALIAS, "AS", tokens[assigned]), tokens[assigned - 1]]
    return [*tokens[:assigned], *alias, *tokens[assigned:end]]


def _merge_ends(phrase: Phrase, end: int, replaced: dict[int, list[Any]]) -> int:
    """Oracle's DELETE WHERE after an update is a branch of its own; Redshift's REMOVE DUPLICATES stands for two."""
    like = phrase.tokens[-1]

    def words(*pairs: tuple[TokenType, str]) -> list[Any]:
        return [inserted_token(kind, text, like) for kind, text in pairs]

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
        found[0] = [
            inserted_token(TokenType.UPDATE, "UPDATE", first),
            *name,
            inserted_token(TokenType.SET, "SET", first),
        ]
    else:
        found[0] = [
            inserted_token(TokenType.DELETE, "DELETE", first),
            inserted_token(TokenType.FROM, "FROM", first),
            *name,
        ]
    return found


def _head_hints(phrase: Phrase, dropped: set[int]) -> None:
    """Words between INSERT, UPDATE, DELETE, MERGE and what they change."""
    if phrase.word(0) not in {"INSERT", "UPDATE", "DELETE", "MERGE", "REPLACE"}:
        return
    place = 1
    while place < phrase.size:
        word = phrase.word(place)
        if (at := phrase.after(place, *_EVOLUTION)) > 0:
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
