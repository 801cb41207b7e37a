"""The last resort for a statement that does not parse: the tables its words name, those it reads apart from those it writes. No columns."""

import msgspec

from headwater.columns import form
from headwater.columns.recovery import creation
from headwater.columns.recovery.phrase import Phrase

_ENDS_FROM = frozenset(
    "WHERE SELECT HAVING LIMIT UNION EXCEPT INTERSECT SET QUALIFY WINDOW VALUES WHEN RETURNING CONNECT START QUALIFY".split()
) | {"GROUP BY", "ORDER BY", "CLUSTER BY", "SORT BY", "DISTRIBUTE BY", "PARTITION BY"}
_NO_NAME = frozenset(
    (
        "WITH SELECT VALUES SET WHERE LATERAL UNNEST JSON_TABLE XMLTABLE OUTFILE DUMPFILE STDIN STDOUT DIRECTORY FUNCTION FILES AS ON "
        "EXISTS NOT NULL DEFAULT FROM JOIN INTO GROUP ORDER USING UPDATE DELETE INSERT AND OR CASE WHEN THEN END INTERVAL DATE"
    ).split()
)
_SKIPPED = frozenset(
    {"ONLY", "TABLE", "IF", "EXISTS", "NOT", "VIEW", "(", "TEMPORARY", "TEMP", "IGNORE", "LOW_PRIORITY", "STREAM"}
) | {"UNIQUEJOIN", "PRESERVE"}
_FROM_INSIDE = frozenset(
    {"EXTRACT", "TRIM", "SUBSTRING", "SUBSTR", "OVERLAY", "POSITION", "LTRIM", "RTRIM", "NORMALIZE", "CEIL", "FLOOR"}
)
_ACTIONS = {
    "INSERT": "APPEND",
    "COPY": "APPEND",
    "LOAD": "APPEND",
    "MERGE": "MERGE",
    "UPDATE": "UPDATE",
    "DELETE": "DELETE",
}
_KNOWN = frozenset(
    "INSERT UPDATE DELETE MERGE COPY LOAD EXPORT UNLOAD TRUNCATE DROP ALTER CREATE EXPLAIN CALL GRANT SET USE".split()
)


_INSERTS_WITHOUT_INTO = frozenset({"", "mysql", "doris", "starrocks", "tsql", "bigquery", "teradata", "spark", "hive"})


class Sighted(msgspec.Struct):
    reads: dict[form.Parts, None] = {}
    writes: dict[form.Parts, None] = {}


def kind(phrase: Phrase) -> str:
    """Return the kind of statement that the words show."""
    first = phrase.word(0)
    created = creation.head(phrase)
    if created is not None:
        return created.kind
    if first == "WITH":
        place = phrase.find("INSERT", "UPDATE", "DELETE", "MERGE")
        return phrase.words[place] if place > 0 else "SELECT"
    if first in {"SELECT", "FROM", "VALUES", "("} or (first == "TABLE" and phrase.size > 1):
        return "SELECT" if first != "(" or phrase.starts_query(0) else "UNKNOWN"
    if first == "INSERT" and phrase.word(1) == "OVERWRITE":
        return "INSERT OVERWRITE"
    if first in {"CREATE", "DROP", "ALTER"} and phrase.word(1).isalpha():
        return f"{first} {phrase.word(1)}"
    return first if first in _KNOWN else "UNKNOWN"


def common_names(phrase: Phrase) -> set[form.Parts]:
    """The names of common table expressions: what stands before `AS (` where a query follows."""
    found: set[form.Parts] = set()
    if "WITH" not in phrase.words:
        return found
    for place in range(1, phrase.size - 1):
        if phrase.words[place] != "AS" or not (opened := _opened(phrase, place)) or not phrase.starts_query(opened):
            continue
        before = place - 1
        if phrase.words[before] == ")":
            depth = phrase.depths[before]
            while before > 0 and not (phrase.words[before] == "(" and phrase.depths[before] == depth):
                before -= 1
            before -= 1
        if phrase.is_name(before) and phrase.word(before - 1) in {"WITH", "RECURSIVE", ","}:
            found.add(phrase.name(before)[0][:1])
    return found


def _opened(phrase: Phrase, place: int) -> int:
    at = phrase.after(place + 1, "NOT?", "MATERIALIZED?")
    return at if phrase.word(at) == "(" else 0


def sighted(phrase: Phrase, start: int = 0, end: int | None = None, ctes: set[form.Parts] | None = None) -> Sighted:
    """The tables named between two places. `ctes`: names that are none, by default those the statement defines."""
    found = Sighted()
    hidden = common_names(phrase) if ctes is None else ctes
    listing: set[int] = set()
    groups: list[bool] = []  # For each open bracket: whether FROM in it means something else.
    end = phrase.size if end is None else end
    for place in range(start, end):
        word, depth = phrase.words[place], phrase.depths[place]
        if word == "(":
            groups.append(phrase.word(place - 1) in _FROM_INSIDE)
        elif word == ")":
            listing.discard(depth + 1)
            if groups:
                groups.pop()
        elif word in _ENDS_FROM:
            listing.discard(depth)
        if not word:
            continue
        into = _writes(phrase, place)
        if into:
            _add(phrase, place + 1, found.writes, hidden, target=True)
        elif word == "FROM" and not (groups and groups[-1]) and phrase.word(place - 1) != "DISTINCT":
            listing.add(depth)
            _add(phrase, place + 1, found.reads, hidden)
        elif (word == "," and depth in listing) or _reads(phrase, place):
            _add(phrase, place + 1, found.reads, hidden)
    return found


def _reads(phrase: Phrase, place: int) -> bool:
    word, before = phrase.words[place], phrase.word(place - 1)
    if word in {"STRAIGHT_JOIN", "APPLY"}:
        return before != "SELECT"
    if word == "USING":
        return phrase.words[0] in {"MERGE", "DELETE", "WITH"} and phrase.word(place + 1) != "("
    if word == "ON" and before == "(":  # Hive: a function over partitions of a table.
        return phrase.context.rule.parser == "hive"
    return word == "JOIN" or (word == "TABLE" and phrase.depths[place] > 0 and before in {"(", ","})


def _writes(phrase: Phrase, place: int) -> bool:
    word, before, after = phrase.words[place], phrase.word(place - 1), phrase.word(place + 1)
    if word == "INTO":
        return True
    if word == "OVERWRITE":
        return after not in {"INTO", "="}
    if word == "UPDATE":
        return before not in {"FOR", "KEY", "THEN", "DO", "ON", "NO", "OR"} and after != "SET"
    if word == "FROM":
        return before == "DELETE"
    if word in {"TABLE", "VIEW"}:
        return phrase.depths[place] == 0 and place < 10 and phrase.words[0] in {"CREATE", "ALTER", "DROP", "TRUNCATE"}
    if word == "INSERT" and place == 0 and phrase.context.rule.parser not in _INSERTS_WITHOUT_INTO:
        return False
    return word in {"INSERT", "MERGE"} and place == 0 and after not in {"INTO", "OVERWRITE", "ALL", "FIRST", "OR"}


def _add(
    phrase: Phrase, place: int, found: dict[form.Parts, None], hidden: set[form.Parts], *, target: bool = False
) -> None:
    while phrase.word(place) in _SKIPPED:
        if phrase.word(place) == "TABLE" and phrase.word(place + 1) == "(":
            return
        place += 1
    if phrase.word(place) in _NO_NAME:
        return
    name, after = phrase.name(place)
    if name and (target or (phrase.word(after) != "(" and name not in hidden)):
        found[name] = None


def lowered(phrase: Phrase) -> form.Form | None:
    """Return a form of tables alone; None when no table is named."""
    found = sighted(phrase)
    if not found.reads and not found.writes:
        return None
    items = [form.Item(form.TableSource(name), name[-1]) for name in found.reads]
    if not found.writes:
        return form.QueryForm(form.Select([], items))
    first = phrase.word(0)
    word = first if first != "WITH" else kind(phrase)
    if word in {"DROP", "ALTER", "TRUNCATE"} or creation.head(phrase) is not None:
        change = form.ChangeForm(
            [(word if word in {"DROP", "ALTER", "TRUNCATE"} else "CREATE", name, ()) for name in found.writes]
        )
        return form.SeveralForm([change, form.QueryForm(form.Select([], items))]) if items else change
    action = "OVERWRITE" if "OVERWRITE" in phrase.words[:3] else _ACTIONS.get(word, "APPEND")
    return form.SeveralForm(
        [form.WriteForm(form.Target(name), action, form.Select([], items), by_name=True) for name in found.writes]
    )
