"""The literals of a statement that may say something about its lineage: names, paths, bodies of code, fields of documents.

It looks at a masked text and knows no grammar, so it errs to one side: it may say that a literal matters that does not, never the other way
round. A literal that matters takes the statement out of its shape for `columns.key`, nothing else.
"""

import enum
import re


class Matter(enum.IntEnum):
    NOTHING = 0
    NAMES = 1
    """Literals in items of a select list that have no name of their own, and those that say where in a value to look."""
    STRINGS = 2
    """Those, and every string."""
    ALL = 3
    """The text as it is."""


FIRST_WORDS = frozenset(
    b"with select insert update delete merge create replace upsert explain from truncate drop values".split()
)
ALL_WORDS = frozenset(
    b"pivot unpivot execute exec immediate sp_executesql prepare copy load unload export import identifier procedure function trigger macro "
    b"openrowset openquery opendatasource external_query dblink remote remotesecure cluster clusterallreplicas file url s3cluster "
    b"azureblobstorage jdbc odbc mysql postgresql mongodb sqlite input executable query query_table stack inline columns output returning "
    b"directory location external options path external_location infer_schema match_recognize declare call begin language transform "
    b"script engine stage format file_format iceberg deltalake hudi glob generator result_scan".split()
)
TELLING_WORDS = frozenset(
    b"begin call cluster clusterallreplicas columns copy dblink declare directory exec execute export external external_query external_location "
    b"identifier immediate infer_schema load match_recognize opendatasource openquery openrowset pivot prepare procedure query_table remote "
    b"remotesecure result_scan sp_executesql transform trigger unload unpivot".split()
)
"""Words that may make any literal a name or a table. The others of `ALL_WORDS` do so with strings, or where something is declared."""
STRING_WORDS = frozenset(
    b"element_at get get_path getpath map map_from_arrays str_to_map named_struct row_to_json struct_pack struct_extract struct_insert tuple "
    b"tupleelement object_construct object_construct_keep_null object_pick object_delete object_insert object_agg as_object flatten "
    b"dictget dictgetordefault dictgetornull dicthas joinget joingetornull xpath xmltable xmlquery xmlget extractvalue xml from_csv "
    b"schema_of_csv parse_url nextval currval ilike try_element_at variant_get try_variant_get value nodes hstore extract_path_text".split()
)
ALL_PARTS = (
    *(b"read_", b"_scan", b"scan_", b"openjson"),
    *(word + sign for word in (b"s3", b"gcs", b"hdfs") for sign in (b"(", b"?", b"=")),
)
"""Some are the names of columns too: `s3` has no meaning without an argument."""
STRING_PARTS = (b"json", b"struct", b"dictget", b"{")
_AFTER = (
    *(
        b"from?",
        b"join?",
        b"into?",
        b"table?",
        b"overwrite?",
        b"update?",
        b"using?",
        b"attach?",
        b"clone?",
        b"describe?",
        b"=>?",
    ),
    *(b"from(?", b"join(?", b"into(?", b"table(?", b"using(?", b"like(?"),
)
_PATHS = (b"[?", b"->?", b">>?", b"#>?", b"[-?")

_CALL = r"[\s(]+[\w.\"]+\s?\((?!\s?\))"
_CALLS = tuple(
    (word, re.compile(word + _CALL)) for word in ("from", "join", "apply", "lateral", "table", "view", "outer")
)
_FROM_LIST = re.compile(r"from\b([\w.\s\",]*+)\(")
_LAST_CALL = re.compile(r",\s?[\w.\"]+\s?\Z")
_UNION = re.compile(r"(?<!\.)\sunion\s(?:all\s|distinct\s)?select\s(?:(?!\bfrom\b)[\w.\s\",])*+\Z")
"""A list after FROM came to its end, and what stands here is selected."""
_SELECT = re.compile(r"select\b(?<=\bselect)")
_FROM = re.compile(r"from\b(?<=\bfrom)(?<!\.from)(?<!distinct from)")
_EVENT = re.compile("[(),?\x02\x03]")
_NO_NAME = (
    r"end|null|isnull|notnull|desc|asc|years?|quarters?|months?|weeks?|days?|hours?|minutes?|seconds?|\w*seconds?"
)
_NO_ALIAS = (
    rf"{_NO_NAME}|union|except|intersect|minus|all|distinct|rows?|only|percent|else|then|when|go|as|is|and|or|not|in|like|between|on|using"
    r"|where|group|order|by|having|limit|offset|fetch|top|first|next|with|without|for|into|qualify|window|sample|at|collate|over|within|option"
    r"|update|delete|insert|merge|set|values|lateral|cross|inner|outer|left|right|full|natural|join|div|mod|escape|similar|rlike|regexp|ilike|glob"
)
_NAMED = re.compile(
    rf"(?:\bas\s?|(?:\)\s?|\bend\s)(?!(?:{_NO_ALIAS})\b))(?:\"x[0-9a-f]*\"|[^\W0-9]\w*)\s?\Z|\bas\s?\?\s?\Z"
)
_NAMED_AFTER = re.compile(rf"[*/]\s?\?\s(?!(?:{_NO_ALIAS})\b)(\"x[0-9a-f]*\"|[^\W0-9]\w*)\s?\Z")
"""`a * 100 share`."""
_NO_TERMS = re.compile(
    r"^\s?[*/+]|\b(?:interval|with|case)\b|[^\w\s.,()*/+?-]|\w\s[\w?(]|\w\?|[?)]\s?[\w?(]|[*/+-]\s?[*/+-]"
)
"""Signs that an item is more than names, literals, calls and arithmetic: above all, two words in a row."""
_PATH = re.compile(r"(?:\[|->|>>|#>)\s?-?\s?\?")
_PATH_STARTS = ("$", "lax", "strict")
_NAME_AT_MOST = 300


def matter(masked: str, code: bytes, words: list[bytes], telling: frozenset[bytes] = ALL_WORDS) -> Matter:
    """Return how much of the literals of a masked text to keep. `code`, `words`: its two sides, in lower case.

    `telling`: the words with which all of a text matters. TELLING_WORDS are enough where literals are only those that something is compared with.
    """
    if not words or words[0] not in FIRST_WORDS or not telling.isdisjoint(words) or b";" in code:
        return Matter.ALL
    if b"?" not in code:
        return Matter.NOTHING
    if (
        any(found in code for found in ALL_PARTS)
        or any(found in code for found in _AFTER)
        or (words[0] in (b"create", b"replace") and not -1 < code.find(b"select") < code.find(b"?"))
        or _calls_table(masked.lower())
    ):
        return Matter.ALL
    if not STRING_WORDS.isdisjoint(words) or any(part in code for part in STRING_PARTS):
        return Matter.STRINGS
    if any(found in code for found in _PATHS) or _may_name(masked.lower()):
        return Matter.NAMES
    return Matter.NOTHING


def _calls_table(lower: str) -> bool:
    """Return whether a function with arguments may stand where a table does."""
    if any(word in lower and call.search(lower) for word, call in _CALLS):
        return True
    return any(
        _LAST_CALL.search(listed) and not _UNION.search(listed)
        for found in _FROM_LIST.finditer(lower)
        for listed in (found[1][-_NAME_AT_MOST:],)
    )


def _may_name(lower: str) -> bool:
    """Return whether a literal may stand in a select list."""
    start = lower.find("select")
    while start >= 0:
        found = _FROM.search(lower, start)
        end = found.start() if found else len(lower)
        if lower.find("?", start, end) >= 0 or lower.count("(", start, end) != lower.count(")", start, end):
            return True
        start = lower.find("select", end)
    return False


def places(masked: str) -> set[int]:
    """Return the literals, counted from 0, that matter for where they stand."""
    found = _in_nameless(masked)
    if _PATH.search(masked):
        marks = {at: place for place, at in enumerate(match.start() for match in re.finditer(r"\?", masked))}
        found.update(marks[match.end() - 1] for match in _PATH.finditer(masked))
    return found


def mattering_literals(standing: set[int], literals: list[str], how: Matter) -> list[tuple[int, str]]:
    """The literals that may matter, with the place of each among all of them: `standing` (of `places`), and those that say so themselves."""
    return [
        (place, literal)
        for place, literal in enumerate(literals)
        if place in standing or (how is Matter.STRINGS and not literal[0].isdigit()) or _is_path(literal)
    ]


def _is_path(literal: str) -> bool:
    return literal.lstrip("nNrReE").lstrip("'\"").startswith(_PATH_STARTS)


def may_hold_path(text: str) -> bool:
    """Return whether a string of the text may be a path."""
    return any(start in text for start in _PATH_STARTS)


def _has_name(item: str) -> bool:
    """Return whether an item of a select list has a name."""
    if _NAMED.search(item[-_NAME_AT_MOST:]):
        return True
    named = _NAMED_AFTER.search(item[-_NAME_AT_MOST:])
    return (
        named is not None
        and _NO_TERMS.search(item[: len(item) - len(named[0]) + named.start(1) - named.start()].rstrip()) is None
    )


def _in_nameless(masked: str) -> set[int]:
    """Return the literals, counted from 0, that stand in an item of a select list without `AS name`."""
    places: set[int] = set()
    frames: list[tuple[int, int] | None] = [
        None
    ]  # for each open parenthesis: where its select item begins, and after how many literals
    count = 0

    def close(at: int) -> None:
        item = frames[-1]
        if item is not None and item[1] < count and not _has_name(text[item[0] : at]):
            places.update(range(item[1], count))

    text = _FROM.sub("\x03", _SELECT.sub("\x02", masked.lower()))
    for event in _EVENT.finditer(text):
        sign = event.group()
        if sign == "?":
            count += 1
        elif sign == "(":
            frames.append(None)
        elif sign == ")":
            close(event.start())
            if len(frames) > 1:
                frames.pop()
        elif sign == ",":
            if frames[-1] is not None:
                close(event.start())
                frames[-1] = (event.end(), count)
        elif sign == "\x02":
            close(event.start())
            frames[-1] = (event.end(), count)
        else:
            close(event.start())
            frames[-1] = None
    while frames:
        close(len(text))
        frames.pop()
    return places
