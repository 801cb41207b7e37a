"""The evidence of one query besides its text, and the form in which a tool's module reports what it makes of it.

Nothing here raises on hostile input: texts are cut, JSON that does not parse is read pair by pair, and every regular expression is bounded.
"""

import functools
import json
import re
from collections.abc import Iterator, Mapping
from urllib.parse import unquote

import msgspec

from headwater.pipeline.query_log.who.config import Kind

LONGEST_TEXT = 16_384
LONGEST_VALUE = 300
EMPTY = {"", "null", "none", "n/a", "undefined", "nil"}

# A tool that says who it is, in a form its documentation gives.
TOLD = 1.0
# The same, but the form loses something (labels are lower-cased, dots become dashes).
LOSSY = 0.9
# The name under which a client connects.
CONNECTED_AS = 0.7
# The name of a database user.
NAMED = 0.5

# sqlcommenter: key='value', values are URL-encoded (https://google.github.io/sqlcommenter/spec/).
_COMMENTER = re.compile(r"(?<![\w.%-])([\w.%-]{1,64})\s?=\s?'((?:[^'\\]|\\.){0,500})'")
_BROKEN_JSON = re.compile(
    r'"([\w@.-]{1,64})"\s{0,3}:\s{0,3}(?:"((?:[^"\\]|\\.){0,1000})"|(-?\d{1,20})(?![\w.])|(true|false)\b)', re.DOTALL
)
_PAIRS = re.compile(
    r"(?:^|(?<=[,;\s{(]))([A-Za-z@_][\w.@-]{0,60})\s?[:=]\s?(\"[^\"\n]{0,300}\"|'[^'\n]{0,300}'|[^\s,;'\"]{1,300})"
)
_DECODER = json.JSONDecoder()

Values = dict[str, object]


class Attached(msgspec.Struct, frozen=True):
    """One thing attached to a query. `where`: comment, tag (the text of one tag), tags (all of them as they are) or application.
    `before`: what stands before the JSON object, if there is one. `values`: its fields."""

    where: str
    text: str
    before: str
    values: Values


class Evidence(msgspec.Struct, frozen=True):
    """Everything besides the statement. Strings are never None; `tags` is what the source gave as labels or query tags; `source` is the
    query log it stood in (bigquery, snowflake, …)."""

    source: str = ""
    application: str = ""
    user: str = ""
    role: str = ""
    tags: dict[str, str] = {}
    attached: tuple[Attached, ...] = ()


class Attribution(msgspec.Struct, frozen=True, kw_only=True):
    """The attribution that the module of a tool derives from the evidence; None: unknown.

    `actor` is the person or account behind the tool, `tool_asset` a path of kinds and ids (`dashboard/12/card/7`). `run` says how the run's
    id is made: `invocation`, `airflow` (with `run_seed`: namespace.dag.task.), `parent`, or "" when it cannot be known.
    """

    tool: str
    kind: Kind
    confidence: float
    actor: str | None = None
    asset: str | None = None
    asset_name: str | None = None
    job_namespace: str | None = None
    job_name: str | None = None
    run: str = ""
    run_seed: str = ""


def evidence(
    source: str | None = None,
    application: str | None = None,
    user: str | None = None,
    role: str | None = None,
    tags: Mapping[str, str | None] | None = None,
    comments: tuple[str, ...] = (),
) -> Evidence:
    """Reads what was attached: each comment, each tag that holds more than a word, all tags together, an application that is JSON."""
    told = {str(key): str(value)[:LONGEST_TEXT] for key, value in (tags or {}).items() if value is not None}
    attached = [read("comment", text) for text in comments]
    attached += [read("tag", value) for value in told.values() if len(value) > 3]
    if told:
        attached.append(Attached("tags", "", "", dict(told)))
    named = (application or "")[:LONGEST_TEXT]
    if "{" in named:
        attached.append(read("application", named))
    return Evidence(source or "", named, (user or "")[:1000], (role or "")[:1000], told, tuple(attached))


def read(where: str, text: str) -> Attached:
    """The fields of a comment or tag: a JSON object, else sqlcommenter's pairs, else `key: value` and `key=value`."""
    text = text[:LONGEST_TEXT]
    at = text.find("{")
    if at >= 0:
        try:
            found, _ = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            found = dict(_broken(text))
        if isinstance(found, dict) and found:
            return Attached(where, text, text[:at], found)
    values: Values = {}
    if "='" in text or "= '" in text:
        values = {unquote(key): unquote(value.replace("\\'", "'")) for key, value in _COMMENTER.findall(text)}
    if not values and (":" in text or "=" in text):
        values = {key: value.strip("\"'") for key, value in _PAIRS.findall(text)}
    return Attached(where, text, text, values)


def _broken(text: str) -> Iterator[tuple[str, object]]:
    for key, written, number, truth in _BROKEN_JSON.findall(text):
        yield key, (truth == "true") if truth else (number or written.replace('\\"', '"'))


def word(value: object) -> str | None:
    """A value as a short string; None when it has no text (null, empty, a list, an object)."""
    if isinstance(value, bool) or value is None or not isinstance(value, (str, int, float)):
        return None
    said = str(value).strip()[:LONGEST_VALUE]
    return None if said.lower() in EMPTY else said


def first(values: Mapping[str, object], *keys: str) -> str | None:
    """The first of these fields that says something."""
    for key in keys:
        if (said := word(values.get(key))) is not None:
            return said
    return None


def asset(*steps: tuple[str, str | None]) -> str | None:
    """`dashboard/12/card/7`: the steps that are known. A slash in an id is kept out of the way as `%2F`."""
    known = [f"{kind}/{name.replace('%', '%25').replace('/', '%2F')}" for kind, name in steps if name]
    return "/".join(known) or None


class Application(msgspec.Struct, frozen=True):
    """One name under which clients connect: a regular expression, searched without letter case, and who that is."""

    pattern: str
    tool: str
    kind: Kind


@functools.cache
def _expression(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def connected_as(evidence: Evidence, rules: tuple[Application, ...]) -> Attribution | None:
    """The first rule that fits the name under which the client connected."""
    name = evidence.application[:LONGEST_VALUE]
    if not name:
        return None
    for rule in rules:
        if _expression(rule.pattern).search(name):
            return Attribution(tool=rule.tool, kind=rule.kind, confidence=CONNECTED_AS)
    return None
