r"""The texts that say the same with other values: a key of a text, for a hundred thousand rows a second.

A **skeleton** is a text without its values. One pattern makes it, which RE2 runs over a whole Arrow batch: in C++, in time linear in the text, with
no object of Python for a row. Anything but a plain value stays as it stands: names, parameters, ordinals, strings that may be a path, comments
between words; between marks, so it need not be found again (here ‹ and ›):

    select "A b", x from t where d > '2026-01-01' and n in (1, 2)
    select ‹"A b"›, x from t where d > ‹'› and n in (‹(›)

A **verdict** says, once for each skeleton, whether all its texts have one fingerprint and one lineage. It is found on one text made of the skeleton,
with a value of its own in each place: `columns.shape` says which literals of that text matter, and none of ours may. Where one may, or where the two
do not agree on where a literal begins and ends, texts of the skeleton are their own keys, without the comments around them.

Texts of one key (in one dialect) have one fingerprint and one lineage; texts of several keys may. The facts about a key are found from
`canonical`, which has the same values whatever text of the key came first.
"""

import re
from collections.abc import Callable
from enum import Enum
from functools import cache, partial
from hashlib import md5
from typing import TYPE_CHECKING, Final, NamedTuple

from headwater.columns.dialect import rules
from headwater.columns.shape.key import cut, digest, plan
from headwater.columns.shape.lexis import RULES, Rules, lexis
from headwater.columns.shape.mattering import ALL_WORDS, TELLING_WORDS, Matter

if TYPE_CHECKING:
    import pyarrow as pa

_BLANKS: Final = " \t\n\x0b\f\r"
_B: Final = r"[ \t\n\x0b\f\r]"
_AFTER: Final = 4
"""Comments after a text that are looked for at most: each is looked at from every one before it."""
_SIGNS: Final = "\x01\x02\x03"
_OPEN, _CLOSE = "\x02", "\x01"
_LISTED, _POINT = "(", "."
_SHOWN: Final = {"": "1", _LISTED: "1", _POINT: "1.5", "'": "'1'", '"': '"1"'}
_MARK: Final = re.compile(f"{_OPEN}([^{_CLOSE}]*){_CLOSE}")
_ONE: Final = rf"[-+]?{_B}*{_OPEN}['\".]?{_CLOSE}{_B}*"
_LIST: Final = rf"((?i:\bin){_B}*\(){_B}*{_ONE}(?:,{_B}*{_ONE})*\)"
_COMPARED: Final = rf"(?:[^-=<>!#@:]>=?|<>|<=?|!=|[^-=<>!#@:~]=){_B}*|(?i:\bbetween|\band){_B}+"
"""Before a string that something is compared with. `=>` and `->` are something else."""
_STAMPED: Final = "__dbt_tmp"
"""The mark before which dbt puts a time, in names of tables under way, which would make each run's statements texts of their own."""
_FIRST: Final = 7_000_001
"""The first of the values in a text of which a verdict is found: no text has them by chance."""
_TEMPLATE: Final = re.compile(r"\{[{%#]|[$%]\(|\$\{")
FIRST_WORD: Final = re.compile(r"[\s(;]*([A-Za-z_]+)")
_WRITING: Final = re.compile(r"\b(?:create|delete|insert|into|merge|overwrite|replace|update)\b", re.IGNORECASE)
_READS: Final = frozenset({"select", "with"})
_ODD: Final = re.compile(rf"['\"`{_SIGNS}\\]|/\*")
"""The characters that occur only in tokens, if no token is odd."""
_TOUCHING: Final = re.compile(rf"{_CLOSE}{_OPEN}['\"]|['\"]{_CLOSE}{_OPEN}")
"""Two strings without anything between them, which to some dialects are one."""
_NOT_READ: Final = frozenset({"tsql", "fabric", "oracle"})
"""Dialects in which a word may end a statement, even in a string for all a splitter knows; and in which a string may be in any brackets."""
_NOT_DOUBLED: Final = frozenset({"bigquery", "databricks", "hive", "spark", "spark2"})


class _Patterns(NamedTuple):
    """`before`: comments before a text; `after`: those after it, and in group 1 any other token. `tokens`: of which what is no value is kept.

    `compared`: the same, but of strings only days and times are values, where something is compared with them. After each what takes a token's place.
    """

    before: str
    ended: str
    after: str
    tokens: tuple[str, str]
    compared: tuple[str, str]


def _full(quote: str, backslash: bool) -> str:
    """A string or name to its closing quote."""
    end = re.escape("]" if quote == "[" else quote)
    inside = rf"[^{end}\\]|\\(?s:.)|{end}{end}" if backslash else f"[^{end}]|{end}{end}"
    return rf"{re.escape(quote)}(?:{inside})*{end}"


def _value(quote: str, doubled: bool, backslash: bool) -> str:
    """A string that says nothing but a value: on one line, no path, nothing that a terminal would replace or a splitter stop at."""
    more = f"|{quote}{quote}" * doubled + rf"|\\[^\r\n;&${{{_SIGNS}]" * backslash
    return rf"({quote})(?:[^{quote}\\\r\n;&${{{_SIGNS}]{more})*{quote}"


def _comment(rule: Rules) -> str:
    """A comment that is no hint and holds no other."""
    inside = r"(?:[^*/]|\*+[^*/]|/+[^*/])"
    block = rf"/\*(?:\*+/|(?:[^*/+!]|\*+[^*/]|/+[^*/]){inside}*\*+/)"
    line = {"#": r"|#[^\r\n]*", "/": r"|//[^\r\n]*"}.get(rule.line, "")
    # MySQL's begins with a blank after its dashes.
    dashes = r"--[ \t][^\r\n]*" if rule.line == "#" and rule.at and not rule.triple else r"--[^\r\n]*"
    return f"(?:{dashes}|{block}{line})"


@cache
def _patterns(parser: str) -> _Patterns:
    """Return the patterns that RE2 looks for: at one place the first that fits wins, to the end that its own order of preference gives."""
    rule = RULES.get(parser, RULES[""])
    comment, string = _comment(rule), "|".join(_full(quote, rule.backslash) for quote in rule.strings)
    item = rf"[0-9A-Za-z_.]+(?:{_B}+(?i:asc|desc)\b)?(?:{_B}+(?i:nulls){_B}+(?i:first|last)\b)?"
    values = [_value(quote, parser not in _NOT_DOUBLED, rule.backslash) for quote in rule.strings]
    kept = "|".join(
        [
            comment,
            # Aliases, parts of times, the places of columns.
            rf"(?i:\b(?:as|do|interval)){_B}*(?:{string})",
            rf"(?i:\bby){_B}+{item}(?:{_B}*,{_B}*{item})*",
            # E'…', parameters, parts of names, and numbers that are no plain ones.
            rf"[0-9A-Za-z_$@:#%&?.](?:{string})",
            r"[$@#:%&?.][0-9][0-9A-Za-z_$]*|[^\x00-\x7f][0-9A-Za-z_$]+",
            r"\b[0-9]+(?:\.[0-9]*)?[A-Za-z_][0-9A-Za-z_]*(?:[-+][0-9]+)?",
            string,
            *(_full(quote, rule.name_backslash) for quote in rule.names),
        ]
    )
    numbers = r"\b[0-9]+(?:(\.)[0-9]+)?\b"
    lines = "|".join(["--", *({"#": ["#"], "/": ["//"]}.get(rule.line, []))])
    tokens = f"{'|'.join(values)}|({kept})|{numbers}"
    compared = "|".join(rf"({_COMPARED})({quote})[0-9][0-9:.TZ +-]*{quote}" for quote in rule.strings)
    groups = [f"\\{number}" for number in range(1, 2 * len(values) + 3)]
    first = groups[: 2 * len(values) : 2]
    return _Patterns(
        before=rf"\A(?:[{_BLANKS};]*{comment})+[{_BLANKS};]*",
        ended=rf"(?:\*/|(?:{lines})[^\r\n]*)\z",
        after=rf"(?:[{_BLANKS};]*{comment}){{1,{_AFTER}}}[{_BLANKS};]*\z|({tokens})",
        tokens=(tokens, f"{_OPEN}{''.join(groups[: len(values) + 2])}{_CLOSE}"),
        compared=(
            f"{compared}|({kept})|{numbers}",
            f"{''.join(first)}{_OPEN}{''.join(one for one in groups if one not in first)}{_CLOSE}",
        ),
    )


def skeletons(texts: "pa.Array", parser: str, compared: bool = False) -> "pa.Array":
    """The skeletons of bare texts; null for one that has characters of our own. `compared`: all strings stay but days and times
    that something is compared with."""
    import pyarrow.compute as pc

    patterns = _patterns(parser)
    made = pc.replace_substring_regex(texts, *(patterns.compared if compared else patterns.tokens))
    made = pc.replace_substring_regex(made, _LIST, rf"\1{_OPEN}{_LISTED}{_CLOSE})")
    odd = pc.match_substring_regex(texts, f"[{_SIGNS}]")
    return pc.if_else(odd, None, made) if pc.any(odd).as_py() else made


def bare(texts: "pa.Array", parser: str | None) -> tuple["pa.Array", "pa.Array"]:
    """The texts without blanks and semicolons around them, comments before them, and the times in dbt's names; null for blanks alone.

    And the same without what looks like comments after them, which only a text that is surely read is to be without.
    """
    import pyarrow.compute as pc

    made = pc.ascii_trim(texts, characters=_BLANKS + ";")
    made = pc.if_else(pc.equal(pc.ascii_trim(texts, characters=_BLANKS), ""), None, made)
    if pc.any(pc.match_substring(made, _STAMPED, ignore_case=True)).as_py():
        made = pc.replace_substring_regex(made, f"(?i)({_STAMPED})[0-9]{{6,}}", r"\1")
    if parser is None:
        return made, made
    patterns = _patterns(parser)
    made = pc.replace_substring_regex(made, patterns.before, "")
    ended = pc.match_substring_regex(made, patterns.ended)
    if not pc.any(ended).as_py():
        return made, made
    short = pc.replace_substring_regex(made.filter(ended), patterns.after, r"\1")
    return made, pc.replace_with_mask(made, ended, pc.ascii_trim(short, characters=_BLANKS + ";"))


def keys(texts: "pa.Array", dialects: "pa.Array") -> "pa.Array":
    """The key of each text: 32 hex digits, null for no text and for one of blanks. `dialects`: names of `columns.dialect`, "" for standard SQL."""
    return _by_dialect(texts, dialects, lambda dialect: (partial(_key, dialect, "m"), partial(_key, dialect, "w")))


def canonicals(texts: "pa.Array", dialects: "pa.Array") -> "pa.Array":
    """The text that stands for all texts of its key, for each."""
    return _by_dialect(texts, dialects, lambda _: (_filled, str))


_Made = Callable[[str], str]


def _by_dialect(texts: "pa.Array", dialects: "pa.Array", made: Callable[[str], tuple[_Made, _Made]]) -> "pa.Array":
    """`made` of a dialect: what becomes of the skeleton of texts that are alike, and of any other text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    dialects = pc.fill_null(dialects, "")
    named = dialects.unique().to_pylist()
    if len(named) == 1:
        # Many a text comes again as it is.
        once = texts.dictionary_encode()
        return _resolved(once.dictionary, named[0], *made(named[0])).take(once.indices)
    rows = [pc.indices_nonzero(pc.equal(dialects, name)) for name in named]
    found = [_resolved(texts.take(one), name, *made(name)) for one, name in zip(rows, named, strict=True)]
    return pa.concat_arrays(found).take(pc.array_sort_indices(pa.concat_arrays(rows)))


def _resolved(texts: "pa.Array", dialect: str, alike: _Made, own: _Made) -> "pa.Array":
    import pyarrow as pa
    import pyarrow.compute as pc

    parser = _parser(dialect)
    whole, texts = bare(texts, parser)
    if parser is None:
        return _each(whole, own)
    made = pa.nulls(len(texts), pa.string())
    left = pc.is_valid(texts)
    for compared in (False, True):
        found = skeletons(texts.filter(left), parser, compared).dictionary_encode()
        shown = found.dictionary.to_pylist()
        said = [_known(one, parser, compared) for one in shown]
        told = [alike(one) if verdict is Verdict.ALIKE else None for one, verdict in zip(shown, said, strict=True)]
        made = pc.replace_with_mask(made, left, pa.array(told, pa.string()).take(found.indices))
        if not compared:
            odd = pa.array([verdict is Verdict.ODD for verdict in said], pa.bool_()).take(found.indices)
            rows = pc.replace_with_mask(pa.nulls(len(texts), pa.bool_()), left, pc.fill_null(odd, True))
            texts = pc.if_else(pc.fill_null(rows, False), whole, texts)
        left = pc.and_(pc.is_null(made), pc.is_valid(texts))
        if not pc.any(left).as_py():
            return made
    return pc.replace_with_mask(made, left, _each(texts.filter(left), own))


def _each(texts: "pa.Array", own: _Made) -> "pa.Array":
    import pyarrow as pa

    found = texts.dictionary_encode()
    return pa.array([own(one) for one in found.dictionary.to_pylist()], pa.string()).take(found.indices)


def _parser(dialect: str) -> str | None:
    """The parser's name for a dialect, if the patterns read its texts."""
    try:
        parser = rules(dialect).parser
    except ValueError:
        return None
    return None if parser in _NOT_READ else parser


def _key(dialect: str, sort: str, text: str) -> str:
    return md5(f"{dialect}\0{sort}{text}".encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()


class Verdict(Enum):
    """The verdict on a skeleton: its texts are all alike, may each be another, or do not show surely where their literals and comments
    are."""

    ALIKE = "alike"
    OWN = "own"
    ODD = "odd"


class _Verdicts:
    """The verdicts that a process reached, up to a bound."""

    AT_MOST: Final = 200_000

    def __init__(self) -> None:
        self._known: dict[bytes, Verdict] = {}

    def __call__(self, skeleton: str, parser: str, compared: bool) -> Verdict:
        told = f"{parser}\0{compared}{skeleton}".encode("utf-8", "surrogatepass")
        mark = md5(told, usedforsecurity=False).digest()
        found = self._known.get(mark)
        if found is None:
            if len(self._known) >= self.AT_MOST:
                self._known.clear()
            found = self._known[mark] = verdict(skeleton, parser, compared)
        return found


_known: Final = _Verdicts()


def verdict(skeleton: str, parser: str, compared: bool = False) -> Verdict:
    """Return whether all texts of a skeleton surely have one fingerprint and one lineage. `compared`: as for `skeletons`."""
    text, places = _numbered(skeleton)
    if _TOUCHING.search(skeleton) or _TEMPLATE.search(text) or _ODD.search(_MARK.sub("", skeleton)):
        return Verdict.ODD
    found = cut(text, lexis(parser), parser)
    ours = {place for place, literal in enumerate(found.literals) if literal in places} if found else set()
    if found is None or len(ours) != len(places):
        return Verdict.ODD
    # In a query values decide about names of columns only, which are not published.
    written = writes(text)
    words = ALL_WORDS if written and not compared else TELLING_WORDS
    planned = plan(found.shape, digest(found.shape, parser), parser, words)
    if planned.how is Matter.ALL or not ours.isdisjoint(planned.standing if written else planned.spelled):
        return Verdict.OWN
    strings = planned.how is Matter.STRINGS and written and not compared
    return Verdict.OWN if strings and any(found.literals[place][0] in "'\"" for place in ours) else Verdict.ALIKE


def writes(text: str) -> bool:
    """Return whether a text may be more than a query."""
    first = FIRST_WORD.match(text)
    return first is None or first[1].lower() not in _READS or _WRITING.search(text) is not None


def _numbered(skeleton: str) -> tuple[str, set[str]]:
    """A text of the skeleton with a value of its own in each place, and these values."""
    places: set[str] = set()

    def number_value(found: re.Match[str]) -> str:
        sign = found[1]
        if len(sign) > 1:
            return sign
        number = _FIRST + len(places)
        value = f"{number}.5" if sign == _POINT else f"{number}" if sign in ("", _LISTED) else f"{sign}v{number}{sign}"
        places.add(value)
        return value

    return _MARK.sub(number_value, skeleton), places


def _filled(skeleton: str) -> str:
    """The text of a skeleton with fixed values, independent of the original text."""
    return _MARK.sub(lambda found: _SHOWN.get(found[1], found[1]), skeleton)
