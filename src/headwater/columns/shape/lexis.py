"""The tokens of a dialect's texts (strings, quoted names, comments, parameters and numbers) as two patterns.

It knows where such a thing begins and ends and nothing else, so that `fingerprint` needs no parser. The table agrees with the tokenizers
of the parser, except where a name could be a string (`"x"` in T-SQL): then it is a name, which is kept.
"""

import functools
import re
from typing import NamedTuple


class Rules(NamedTuple):
    strings: str = "'"
    names: str = '"'
    backslash: bool = False
    """A backslash escapes in plain strings."""
    name_backslash: bool = False
    raw: str = ""
    """`r'…'`: "kept" if a backslash still keeps the string open before a quote, "plain" if it is a character like any other."""
    triple: bool = False
    dollar: str = ""
    """`$$…$$`: "tag" if a tag may stand between the dollars, "bare" if not."""
    line: str = ""
    """Comments to the end of the line beside `--`: "#" or "/"."""
    nested: bool = True
    digit_names: bool = False
    """Names may begin with a digit: `1_000` is one."""
    suffixes: bool = False
    """Numbers may end in a type's letter: `1L`."""
    bracketed: bool = False
    """`q'[…]'` with any pair of brackets or one character."""
    at: bool = False
    """`@x` is a parameter or a variable."""
    binds: str = ""
    """After `$`: what makes it a parameter, as a pattern."""
    constants: bool = False
    """The warehouse's own fingerprint takes `true`, `false`, `null` and a number's minus sign for parts of literals."""


_TELLING = ("as", "by", "cube", "do", "on", "rollup", "sets")

_SPARK = Rules("'\"", "`", True, raw="plain", digit_names=True, suffixes=True)
_MYSQL = Rules("'\"", "`", True, line="#", nested=False, digit_names=True, at=True)
_POSTGRES = Rules(dollar="tag", binds="[0-9]++")
_TRINO = Rules(nested=False)
_TSQL = Rules(names='["', at=True)
RULES: dict[str, Rules] = {
    "": Rules(binds="[0-9]++"),
    "athena": Rules(names='"`', nested=False),
    "bigquery": Rules("'\"", "`", True, True, "kept", True, line="#", nested=False, at=True),
    "clickhouse": Rules("'", '"`', True, True, dollar="tag", line="#", digit_names=True),
    "databricks": _SPARK,
    "dax": Rules('"', "'[", line="/"),
    "doris": _MYSQL,
    "dremio": Rules(line="/"),
    "drill": Rules(names='`"'),
    "druid": Rules(),
    "duckdb": Rules(dollar="tag", binds=r"\w++"),
    "dune": _TRINO,
    "exasol": Rules(names='"['),
    "fabric": _TSQL,
    "hive": _SPARK._replace(raw=""),
    "materialize": _POSTGRES,
    "mysql": _MYSQL,
    "oracle": Rules(nested=False, bracketed=True),
    "postgres": _POSTGRES._replace(constants=True),
    "presto": _TRINO,
    "prql": Rules("'\"", "`"),
    "redshift": _POSTGRES._replace(backslash=True),
    "risingwave": _POSTGRES,
    "singlestore": _MYSQL,
    "snowflake": Rules(backslash=True, dollar="bare", line="/", nested=False),
    "solr": Rules(names='`"'),
    "spark": _SPARK,
    "spark2": _SPARK._replace(raw=""),
    "sqlite": Rules(names='"[`', nested=False, binds=r"\w++"),
    "starrocks": _MYSQL,
    "tableau": Rules("'\"", "["),
    "teradata": Rules(),
    "trino": _TRINO,
    "tsql": _TSQL,
}


class Lexis(NamedTuple):
    """`split`: what a plain text is cut at, all of it one group; `seen`: by its first character what stands for it, none for quoted names.

    `scan`: every token of any text with the blanks after it, its kind the name of the group. "words": some that tell nothing, with commas;
    "word": one of `_TELLING`, or one before a quote; "open": a comment begins that holds others; "mark": anything else.
    `parameter`: parameters, in a text whose strings and names are out of the way; `signs`: characters of which one stands in each of them.
    `odd`: what a text may hold that `split` does not see, beside quotes of three.
    """

    rules: Rules
    split: re.Pattern[str]
    scan: re.Pattern[str]
    parameter: re.Pattern[str]
    signs: str
    odd: re.Pattern[str] | None
    seen: dict[str, str]


_OPERAND = r"[\w)\]}\"'`?$@#:%.]"
"""After one of these a sign is an operator or part of a name, not the beginning of a parameter or of `.5`."""


def _quoted(quote: str, backslash: bool) -> str:
    """Return a pattern of the text after an opening quote, to its end or that of the text. A doubled quote is a character; possessive,
    so linear."""
    end = re.escape("]" if quote == "[" else quote)
    plain = f"[^{end}\\\\]*+" if backslash else f"[^{end}]*+"
    escape = rf"\\(?:[\s\S]|\Z)|{end}{end}" if backslash else f"{end}{end}"
    return rf"{plain}(?:(?:{escape}){plain})*+(?:{end}|\Z)"


def _number(rules: Rules) -> str:
    """Return a pattern of the text after the first digit of a number."""
    groups = "" if rules.digit_names else "(?:_[0-9]++)*+"
    suffix = "(?:[lLsSyYdDfF]|[bB][dD])?" if rules.suffixes else ""
    plain = rf"[0-9]*+{groups}(?:\.[0-9]*+{groups})?(?:[eE][+-]?[0-9]++)?{suffix}"
    return rf"(?:(?<=0)(?:[xX][0-9a-fA-F]++|[bB][01]++)|{plain})(?!\w)"


def _comments(rules: Rules) -> tuple[str, str]:
    """Comments, of lines and blocks that hold no other, after their first character; and the characters they begin with."""
    block = (
        r"[^*/]*+(?:(?:\*(?!/)|/(?!\*))[^*/]*+)*+(?:\*/|\Z)" if rules.nested else r"[^*]*+(?:\*(?!/)[^*]*+)*+(?:\*/|\Z)"
    )
    found = rf"(?<=-)-[^\r\n]*+|(?<=/)\*{block}"
    if rules.line:
        found += r"|(?<=#)[^\r\n]*+" if rules.line == "#" else r"|(?<=/)/[^\r\n]*+"
    return found, "-/" + ("#" if rules.line == "#" else "")


def _strings(rules: Rules) -> str:
    """Every string with its prefix, dollars included."""
    found = []
    if rules.dollar:
        tag = r"(?:[^\W\d]\w*+)?" if rules.dollar == "tag" else ""
        found.append(rf"(?<!{_OPERAND})\$(?P<tag>{tag})\$[\s\S]*?(?:\$(?P=tag)\$[\w$]*+|\Z)")
    if rules.bracketed:
        pairs = "|".join(rf"{re.escape(a)}[\s\S]*?(?:{re.escape(b)}'|\Z)" for a, b in ("[]", "()", "{}", "<>"))
        found.append(rf"[nN]?[qQ]'(?:{pairs}|(?P<end>[^\s'])[\s\S]*?(?:(?P=end)'|\Z))")
    if rules.triple:
        for quote in ("'''", '"""'):
            found.append(rf"(?:[rR][bB]?|[bB][rR]?)?{quote}(?:\\[\s\S]|(?!{quote})[^\\])*+(?:{quote}|\\?\Z)")
    for quote in rules.strings:
        if rules.raw == "plain":
            found.append(rf"[rR]{quote}[^{quote}]*+(?:{quote}|\Z)")
        elif quote == "'":
            found.append(f"[eE]'{_quoted(quote, True)}")
        found.append(rf"(?:[rR][bB]|[bB][rR]|[uU]&|[nNxXbBeErRuU])?{quote}{_quoted(quote, rules.backslash)}")
    return f"(?=[{rules.strings}$nNqQxXbBeErRuU])(?:{'|'.join(found)})"


def _signs(rules: Rules) -> str:
    return ":%" + "@" * rules.at + "$" * bool(rules.binds)


def _parameter(rules: Rules) -> str:
    """Begins with a set of characters, which is found fast."""
    found = [r"(?<=:)\w++", r"(?<=%)(?:\(\w++\))?s(?!\w)"]
    if rules.at:
        found.append(r"(?<=@)\w++(?!@)")
    if rules.binds:
        found.append(rf"(?<=\$){rules.binds}")
    signs = f"[{_signs(rules)}]"
    return f"{signs}(?<!{_OPERAND}{signs})(?:{'|'.join(found)})"


@functools.cache
def lexis(dialect: str) -> Lexis:
    """The patterns of a dialect by the parser's name for it; those of plain SQL for a name that is not known."""
    rules = RULES.get(dialect.partition(",")[0].strip().lower(), RULES[""])
    number, (comments, starts), parameter = _number(rules), _comments(rules), _parameter(rules)
    texts = "|".join(f"(?<={quote}){_quoted(quote, rules.backslash)}" for quote in rules.strings)
    after = "|".join(f"(?<={re.escape(q)}){_quoted(q, rules.name_backslash)}" for q in rules.names)
    first = "".join(re.escape(char) for char in rules.strings + rules.names + starts)
    split = rf"([0-9{first}](?:(?<=\b[0-9])(?<![$@#\x01][0-9]){number}|{texts}|{after}|{comments}))"
    seen = dict.fromkeys("0123456789" + rules.strings, "?") | dict.fromkeys(starts, " ")
    names = "|".join(f"{re.escape(q)}{_quoted(q, rules.name_backslash)}" for q in rules.names)
    telling = "|".join("".join(f"[{char}{char.upper()}]" for char in word) for word in _TELLING)
    word = rf"(?!(?:{telling})\b)[^\W0-9]\w*+(?!&?[{rules.strings}])"
    scan = (
        rf"(?P<words>(?:{word}\s*+(?:[.,=]\s*+(?=[^\W0-9]))?)++)|(?:(?P<space>[\s\ufeff]++)|(?P<comment>[{starts}](?:{comments}))|(?P<open>/\*)|(?P<text>{_strings(rules)})"
        rf"|(?P<name>{names})|(?P<parameter>{parameter})|(?P<word>[^\W0-9]\w*+)"
        rf"|(?P<number>(?<![\w$@#.\x01])[0-9]{number}|(?<!{_OPERAND})\.[0-9]{number})|(?P<mark>\w++|[\s\S]))\s*+"
    )
    odd = re.compile(r"\$(?:[^\W\d]\w*+)?\$") if rules.dollar else None
    return Lexis(rules, re.compile(split), re.compile(scan), re.compile(parameter), _signs(rules), odd, seen)
