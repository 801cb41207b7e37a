"""The meaning of a database user's name: a service account, a tool's account, a person, or nothing.

Names are cut into words; a word is looked up, never a part of one (`dbt_prod` is dbt's, `sdbtx` is no tool's). A setting beats every guess
here. A name that no rule fits stays unknown: a bare `alice` may be a person or the name of a server.
"""

import functools
import re
from fnmatch import translate

from headwater.pipeline.query_log.who.config import Config, Kind
from headwater.pipeline.query_log.who.evidence import NAMED, Attribution, Evidence

TOOL = "user"
MARKS: tuple[str, ...] = ()

# A word that is the name of one tool and of nothing else.
TOOLS: dict[str, tuple[str, Kind]] = {
    **dict.fromkeys(("airflow", "composer", "mwaa", "astronomer"), ("airflow", "pipeline")),
    **{
        name: (name, "pipeline")
        for name in ("dbt", "dagster", "prefect", "fivetran", "airbyte", "matillion", "informatica", "talend")
    },
    **{
        name: (name, "pipeline")
        for name in ("dataform", "sqlmesh", "meltano", "rivery", "hevo", "debezium", "snowpipe")
    },
    **{
        name: (name, "bi")
        for name in ("looker", "tableau", "metabase", "superset", "powerbi", "redash", "lightdash", "thoughtspot")
    },
    **{
        name: (name, "bi")
        for name in ("quicksight", "gooddata", "microstrategy", "sisense", "grafana", "qlik", "domo", "holistics")
    },
    **{
        name: (name, "service")
        for name in ("hightouch", "datadog", "montecarlo", "datahub", "openmetadata", "collibra", "alation", "atlan")
    },
}
# These are words or names of people too: they count when the account's other words say that it is one.
SHARED: dict[str, tuple[str, Kind]] = {
    **{name: (name, "bi") for name in ("mode", "hex", "sigma", "omni", "preset", "count", "cube", "streamlit")},
    **{name: (name, "pipeline") for name in ("stitch", "luigi", "mage", "kestra", "glue", "dlt", "coalesce")},
    **{name: (name, "service") for name in ("census", "segment", "soda", "retool", "elementary")},
}
ACCOUNT = {
    "svc",
    "srv",
    "service",
    "serviceaccount",
    "user",
    "usr",
    "bot",
    "ro",
    "rw",
    "reader",
    "readonly",
    "writer",
    "account",
    "role",
    "prod",
}
PIPELINES = {
    "etl",
    "elt",
    "loader",
    "ingest",
    "ingestion",
    "pipeline",
    "pipelines",
    "scheduler",
    "cron",
    "batch",
    "replication",
}
SERVICES = {
    *("svc", "srv", "service", "serviceaccount", "bot", "robot", "automation", "daemon", "monitoring", "monitor"),
    *(
        "backend",
        "api",
        "app",
        "ci",
        "cicd",
        "terraform",
        "backup",
        "exporter",
        "replicator",
        "pgbouncer",
        "rdsadmin",
        "rdsdb",
    ),
}

# A mailbox or account of unknown owner.
NO_PERSON = ACCOUNT | {
    *(
        "noreply",
        "reply",
        "admin",
        "data",
        "analytics",
        "analyst",
        "team",
        "it",
        "dev",
        "ops",
        "test",
        "stage",
        "staging",
        "reporting",
    ),
    *("warehouse", "db", "sql", "public", "root", "support", "info", "postgres"),
}

_WORDS = re.compile(r"[a-z]+")
_GOOGLE = re.compile(r"gserviceaccount\.com$")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_EMAIL = re.compile(r"[\w.+'-]{1,100}@[\w-]{1,100}(?:\.[\w-]{1,60}){1,5}")
_FULL_NAME = re.compile(r"[a-z]{2,30}\.[a-z]{2,40}")


@functools.lru_cache(maxsize=4096)
def _setting(pattern: str) -> re.Pattern[str]:
    return re.compile(translate(pattern.lower()))


def configured_kind(user: str, config: Config) -> Kind | None:
    """The kind the settings give this user."""
    name = user.lower()
    return next((kind for pattern, kind in config.users.items() if _setting(pattern).match(name)), None)


def recognise(evidence: Evidence, config: Config) -> Attribution | None:
    name = evidence.user.lower().strip()[:200]
    if not name:
        return None
    local, _, domain = name.partition("@")
    words = _WORDS.findall(local)
    for said in words:
        if tool := TOOLS.get(said):
            return Attribution(tool=tool[0], kind=tool[1], confidence=NAMED)
    alone = len(words) == 1 and not domain
    for said in words:
        if (tool := SHARED.get(said)) and (alone or ACCOUNT & set(words)):
            return Attribution(tool=tool[0], kind=tool[1], confidence=NAMED)
    if (kind := _kind(name, local, domain, set(words))) is None:
        return None
    return Attribution(tool="", kind=kind, confidence=NAMED)


def _kind(name: str, local: str, domain: str, words: set[str]) -> Kind | None:
    if words & PIPELINES:
        return "pipeline"
    if (
        _GOOGLE.search(domain)
        or words & SERVICES
        or local.startswith(("sa_", "sa-"))
        or _UUID.fullmatch(name)
        or name == "system"
    ):
        return "service"
    if words & NO_PERSON:
        return None
    if _EMAIL.fullmatch(name) or _FULL_NAME.fullmatch(local):
        return "person"
    return None
