r"""The values that differ from one run to the next: taken out of the marks before Python sees them, and made into the run's id.

A dbt comment names the invocation, an Airflow tag the run and the try, a Looker comment the history slug. Left in, nearly every query of a
log would be a new input; taken out, an input is a model, a task, a user of a dashboard: some thousands in ten million rows. So the values are
masked and picked by regular expressions that mean the same to Java (in Spark) and to Python, and the ids are computed in the JVM; the
functions of the same names below do it in Python, for one text.

Airflow's OpenLineage provider derives a task instance's run id from namespace, dag, task, try, map index and logical date
(providers/openlineage, plugins/adapter.py) with the client's static UUID (openlineage.client.uuid): 48 bits of milliseconds, then the SHA-1
of the date's ISO form and the name. Without a try and a date the id is not known, and none is given.
"""

import datetime as dt
import functools
import hashlib
import json
import operator
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING
from urllib.parse import unquote

import msgspec

from headwater.pipeline.query_log.who.evidence import LONGEST_TEXT

if TYPE_CHECKING:
    from pyspark.sql import Column

# One character that may stand in JSON as a string and as a number.
MASK = "0"
UUID = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"

_ALONE = r"(?<![A-Za-z0-9_-])"
_START = rf"(?i){_ALONE}"
_AIRFLOW = r"(?:airflow[_.-]ctx[_.-]|airflow[_.-])?"
# The end of a key, quoted in any depth of JSON or not at all, and what parts it from its value.
_IS = r"\\{0,3}[\"']?\s?[:=]\s?"
_OPEN = r"\\{0,3}[\"']"
_QUOTE = rf"(?:{_OPEN})?"

# name → the value is the first group
PARTS = {
    "invocation": rf"(?:{_ALONE}(?:dbt_)?invocation_id{_IS}{_QUOTE}|opaque_id\[\[\[[^\]:]{{1,250}}:)({UUID})",
    "airflow_run": rf"{_START}{_AIRFLOW}(?:dag_)?run_id{_IS}{_QUOTE}([^\"'\\,;\s}}*&]{{1,250}})",
    "try_number": rf"{_START}{_AIRFLOW}try_number{_IS}{_QUOTE}(\d{{1,6}})",
    "map_index": rf"{_START}{_AIRFLOW}map_index{_IS}{_QUOTE}(-?\d{{1,6}})",
    "logical_date": rf"{_START}{_AIRFLOW}(?:logical_date|execution_date){_IS}{_QUOTE}(\d{{4}}-\d\d-\d\d[T ]\d\d[0-9:.%A-Fa-fZ+-]{{0,40}})",
    "parent": rf"{_START}(?:openlineage[_.-]parent(?:[_.-]id)?|lineage_parent_id){_IS}{_QUOTE}[^\"'\\;}}*]{{1,800}}/({UUID})",
}


def _key(*keys: str, start: str = _START) -> str:
    """A key and what parts it from its value (two groups), then the value, after its opening quote (the third) if it has one."""
    return rf"{start}({'|'.join(keys)})({_IS})(?:({_OPEN})[^\"'\\]{{1,500}}|[^\"'\\,;\s}}*&]{{1,300}})"


_KEPT = f"$1$2$3{MASK}"


class Mask(msgspec.Struct, frozen=True):
    """One thing that varies. `needles`: one of these stands in every text in which it may (a plain search is cheap, the expression is not);
    `put`: what takes its place, groups written as Java writes them."""

    needles: tuple[str, ...]
    pattern: str
    put: str


_DBT = Mask(
    ("dbt",),
    _key(
        *(
            "(?:dbt_)?invocation_id",
            "dbt_cloud_run_id",
            "run_started_at",
            "raw_code_hash",
            "thread_id",
            "invocation_command",
        ),
        start=_ALONE,
    ),
    _KEPT,
)
_OPAQUE = Mask(("dbt_v1_opaque_id",), rf"(opaque_id\[\[\[[^\]:]{{1,250}}:){UUID}", f"$1{MASK}")
_TASK = Mask(
    ("dag_id", "DAG_ID", "airflow"),
    _key(
        rf"{_AIRFLOW}(?:(?:dag_)?run_id|try_number|map_index|logical_date|execution_date|data_interval_(?:start|end))"
    ),
    _KEPT,
)
_LOOKER = Mask(("ooker",), _key("(?:looker-context-)?history[_-](?:slug|id)", start=_ALONE), _KEPT)
_TIME = Mask((":",), r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?[0-9.:+Z]{0,20}", MASK)
# In the order in which it is done.
MASKS = (
    _DBT,
    _OPAQUE,
    _TASK,
    _LOOKER,
    Mask(
        ("tableau", "etabase", "igma", "ex query", "uery", "_uuid"),
        _key(
            *("lqctx-root-activity-id", "lqctx-batch-query-id", "query[_ ]?hash", "request-id", "trace_id"),
            *("query_uuid", "job id", "task id", "optional_account_id"),
        ),
        _KEPT,
    ),
    Mask(("filter_values",), r"(\\{0,3}\"filter_values\\{0,3}\"\s?:\s?)\{[^{}]{0,4000}\}", "$1{}"),
    Mask(
        (
            "trace",
            "ransaction",
            "run_id",
            "update_id",
            "load_id",
            "ctivity",
            "SQLMESH",
            "orrelation",
            "ession",
            "equest",
        ),
        _key(
            *(
                "traceparent",
                "tracestate",
                "trace_token",
                "trace_?id",
                "transaction_id",
                "(?:job_|task_|job_task_)run_id",
            ),
            *(
                "pipeline_update_id",
                "load_id",
                "(?:root_?)?activity_?id",
                "sqlmesh_plan",
                "correlation_?id",
                "session_?id",
                "request_?id",
            ),
        ),
        _KEPT,
    ),
    Mask(("lineage",), rf"/{UUID}(?=[\\\"'\s*]|$)", f"/{MASK}"),
    Mask(("/runs/",), r"/runs/[0-9a-f]{6,40}", f"/runs/{MASK}"),
    _TIME,
)
# Most commented queries of a log need few of them: the first of these marks in a text says which.
SHORTER = (
    ("dbt", (_DBT, _OPAQUE, _TASK, _TIME)),
    ("Looker Query Context", (_LOOKER,)),
    ("looker-context-", (_LOOKER,)),
)
# Names of applications: numbers of processes and sessions.
NAME_MASKS = (Mask(("-",), UUID, MASK), Mask((), r"\d{5,}", MASK))

_JAVA_GROUP = re.compile(r"\$(\d)")
_PARTS = {name: re.compile(pattern) for name, pattern in PARTS.items()}
# A time with its zone: one without has no meaning.
_INSTANT = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:Z|[+-]\d\d:\d\d)"
_RUN_TIME = rf"^[A-Za-z_]{{1,40}}?__({_INSTANT})(?:_[A-Za-z0-9]{{1,20}})?$"


class Parts(msgspec.Struct, frozen=True):
    """The values of one text; "" is what it does not say."""

    invocation: str = ""
    airflow_run: str = ""
    try_number: str = ""
    map_index: str = ""
    logical_date: str = ""
    parent: str = ""


def written(tags: Mapping[str, str | None] | None) -> str:
    """Tags as JSON; "" where there are none, and where they are unreasonably long."""
    told = {key: value for key, value in (tags or {}).items() if value is not None}
    made = json.dumps(told, ensure_ascii=False, separators=(",", ":")) if told else ""
    return made if len(made) <= LONGEST_TEXT else ""


def text(comments: str, tags: str, application: str | None) -> str:
    """Everything in which a value may stand: the comments, the tags as `written`, the application if it is JSON."""
    named = (application or "")[:LONGEST_TEXT]
    return "\n".join((comments, tags, named if "{" in named else ""))


def parts(text: str) -> Parts:
    """The values in one text that differ from run to run."""
    found = {name: match[1] for name, pattern in _PARTS.items() if (match := pattern.search(text))}
    return Parts(**{name: unquote(value) if "%" in value else value for name, value in found.items()})


def masked(text: str) -> str:
    """The text without it."""
    for mask in next((masks for needle, masks in SHORTER if needle in text), MASKS):
        if any(needle in text for needle in mask.needles):
            text = re.sub(mask.pattern, _JAVA_GROUP.sub(r"\\g<\1>", mask.put), text)
    return text


def run_id(rule: str, seed: str, told: Parts, *, run_id_is_logical_date: bool) -> str | None:
    """The id of the run a query belongs to, by the rule its tool's module names; None when it cannot be known."""
    if rule == "invocation":
        return told.invocation.lower() or None
    if rule == "parent":
        return told.parent.lower() or None
    if rule != "airflow" or not told.try_number:
        return None
    date = told.logical_date
    if not date and run_id_is_logical_date and (match := re.match(_RUN_TIME, told.airflow_run)):
        date = match[1]
    if not re.fullmatch(_INSTANT, date):
        return None
    try:
        instant = dt.datetime.fromisoformat(date)
    except ValueError:
        return None
    return task_run_id(seed, int(told.try_number), int(told.map_index or -1), instant)


def task_run_id(seed: str, try_number: int, map_index: int, logical_date: dt.datetime) -> str:
    """The run id of an Airflow task instance as its OpenLineage provider derives it; `seed` is `namespace.dag.task.`."""
    instant = logical_date.astimezone(dt.UTC)
    milliseconds = int(instant.timestamp() * 1000)
    digest = hashlib.sha1(
        f"{instant.isoformat()}{seed}{try_number}.{map_index}".encode(), usedforsecurity=False
    ).hexdigest()
    time = f"{milliseconds & 0xFFFFFFFFFFFF:012x}"
    variant = f"{int(digest[3], 16) & 3 | 8:x}"
    return f"{time[:8]}-{time[8:]}-7{digest[:3]}-{variant}{digest[4:7]}-{digest[7:19]}"


def _let(value: "Column", body: "Callable[[Column], Column]") -> "Column":
    """`body` of a value that is computed once. Written out in place, or in a projection that the optimizer takes apart again, each step of a
    long expression would be computed as often as the next one uses it, and the steps multiply."""
    from pyspark.sql import functions as F  # noqa: N812

    return F.transform(F.array(value), body)[0]


def masked_column(text: "Column") -> "Column":
    """`masked`, in the JVM."""
    from pyspark.sql import functions as F  # noqa: N812

    shorter = F.when(text == "", text)
    for needle, masks in SHORTER:
        shorter = shorter.when(F.contains(text, F.lit(needle)), without(text, masks))
    return shorter.otherwise(without(text, MASKS))


def without(text: "Column", masks: tuple[Mask, ...]) -> "Column":
    """The text after these masks, in the JVM."""
    from pyspark.sql import functions as F  # noqa: N812

    def done(mask: Mask) -> "Callable[[Column], Column]":
        def body(value: "Column") -> "Column":
            replaced = F.regexp_replace(value, mask.pattern, mask.put)
            found = [F.contains(value, F.lit(needle)) for needle in mask.needles]
            return F.when(functools.reduce(operator.or_, found), replaced).otherwise(value) if found else replaced

        return body

    for mask in masks:
        text = _let(text, done(mask))
    return text


def run_id_column(rule: "Column", seed: "Column", text: "Column", *, run_id_is_logical_date: bool) -> "Column":
    """`run_id` for `parts(text)`, in the JVM: the same id, bit for bit."""
    from pyspark.sql import functions as F  # noqa: N812

    def part(name: str) -> "Column":
        def decoded(value: "Column") -> "Column":
            plain = F.try_url_decode(F.replace(value, F.lit("+"), F.lit("%2B")))
            return F.when(value == "", F.lit(None)).when(F.contains(value, F.lit("%")), plain).otherwise(value)

        return _let(F.regexp_extract(text, PARTS[name], 1), decoded)

    date = part("logical_date")
    if run_id_is_logical_date:
        date = F.coalesce(date, F.regexp_extract(part("airflow_run"), _RUN_TIME, 1))

    def moment(told: "Column") -> "Column":
        known = F.regexp_like(told, F.lit(f"^{_INSTANT}$"))
        return F.when(known, F.unix_micros(F.try_to_timestamp(F.replace(told, F.lit(" "), F.lit("T")))))

    # By arithmetic: what a session prints depends on its time zone.
    def iso(micros: "Column") -> "Column":
        return _let(
            F.pmod(micros, F.lit(86_400_000_000)), lambda of_day: F.concat(_day(micros, of_day), _clock(of_day))
        )

    def _day(micros: "Column", of_day: "Column") -> "Column":
        return F.date_from_unix_date(((micros - of_day) / 86_400_000_000).cast("int")).cast("string")

    def _clock(of_day: "Column") -> "Column":
        second, fraction = F.floor(of_day / 1_000_000), of_day % 1_000_000
        return F.concat(
            F.format_string("T%02d:%02d:%02d", F.floor(second / 3600), F.floor(second / 60) % 60, second % 60),
            F.when(fraction == 0, F.lit("")).otherwise(F.format_string(".%06d", fraction)),
            F.lit("+00:00"),
        )

    def task(micros: "Column") -> "Column":
        number = part("try_number").try_cast("int").cast("string")
        index = F.coalesce(part("map_index"), F.lit("-1")).try_cast("int").cast("string")
        digest = F.sha1(F.concat(iso(micros), seed, number, F.lit("."), index))
        # In floating point, as the client computes it.
        milliseconds = (micros.cast("double") / 1_000_000 * 1000).cast("bigint")
        time = F.lpad(F.lower(F.hex(milliseconds)), 12, "0")
        return _let(F.concat(time, digest), written)

    def written(both: "Column") -> "Column":
        variant = F.translate(F.substring(both, 16, 1), "0123456789abcdef", "89ab89ab89ab89ab")
        fields = (F.substring(both, 1, 8), F.substring(both, 9, 4), F.concat(F.lit("7"), F.substring(both, 13, 3)))
        rest = (F.concat(variant, F.substring(both, 17, 3)), F.substring(both, 20, 12))
        return F.when(both.isNotNull(), F.concat_ws("-", *fields, *rest))

    return (
        F.when(rule == "airflow", _let(_let(date, moment), task))
        .when(rule == "invocation", F.lower(part("invocation")))
        .when(rule == "parent", F.lower(part("parent")))
    )
