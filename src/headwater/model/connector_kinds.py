"""The kinds of systems that a connector reads: what each needs to be asked for. Values; the reading is in `headwater.connectors`."""

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from headwater.errors import InvalidQuestion

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
SHORTEST: Final = 60
LONGEST: Final = 7 * 86_400
_LONGEST_VALUE: Final = 20_000


class Option(msgspec.Struct, frozen=True):
    """One thing that a kind needs. `secret`: it is encrypted, and never shown. `default`: null if there is none; then it may be left out unless it is
    `required`."""

    name: str
    text: str
    required: bool = False
    secret: bool = False
    default: str | None = None


class ConnectorKind(msgspec.Struct, frozen=True):
    """A kind of system. `reads`: what comes from it. `extra`: the extra of Headwater that it needs beside `server`, if any."""

    name: str
    reads: str
    options: tuple[Option, ...]
    every_seconds: int = 3600
    extra: str | None = None


_NAMESPACE: Final = Option("namespace", "the namespace of its datasets")

WAREHOUSES: Final = frozenset({"snowflake", "bigquery", "redshift", "databricks", "trino"})
"""The kinds of which the query log is read, on Spark."""


def _warehouse(name: str, *options: Option, every_seconds: int = 3600) -> ConnectorKind:
    more = (_NAMESPACE, Option("api_key", "a key of this server with the role write, if it asks for keys", secret=True))
    return ConnectorKind(name, "the query log: lineage, usage and cost", (*options, *more), every_seconds, name)


KINDS: Final[Mapping[str, ConnectorKind]] = {
    kind.name: kind
    for kind in (
        ConnectorKind(
            "postgres",
            "tables, columns, views and their lineage; statements of pg_stat_statements with who ran them",
            (
                Option("host", "the server's name or address", required=True),
                Option("port", "its port", default="5432"),
                Option("database", "the database to read", required=True),
                Option("user", "the role to read as", required=True),
                Option("password", "the role's password", secret=True),
                Option("sslmode", "disable, prefer, require, verify-ca or verify-full", default="prefer"),
                Option("schemas", "read only these schemas, separated by commas"),
                _NAMESPACE,
            ),
        ),
        ConnectorKind(
            "dbt",
            "models, what they read, columns, runs and tests, from dbt's artifacts",
            (
                Option(
                    "artifacts", "a folder of the server's machine, or the address above manifest.json", required=True
                ),
                Option("namespace", "the namespace of its tables, such as postgres://db:5432", required=True),
                Option("job_namespace", "the namespace of its jobs", default="dbt"),
                Option("token", "the bearer token of the address", secret=True),
            ),
            every_seconds=900,
        ),
        ConnectorKind(
            "airflow",
            "DAGs, tasks, their runs, and the assets that they make and wait for",
            (
                Option("address", "Airflow's address; that of Airflow 2 ends with /api/v1", required=True),
                Option("user", "the user to read as"),
                Option("password", "the user's password", secret=True),
                Option("token", "an access token, instead of user and password", secret=True),
                Option("namespace", "the namespace of its jobs", default="airflow"),
            ),
            every_seconds=300,
        ),
        ConnectorKind(
            "metabase",
            "questions and dashboards, what they read, when a person last looked",
            (
                Option("address", "Metabase's address", required=True),
                Option("api_key", "an API key of the group Administrators", secret=True),
                Option("user", "the user to read as, without an API key"),
                Option("password", "the user's password", secret=True),
                Option("namespaces", "where databases are: NAME=postgres://HOST:5432, separated by commas"),
            ),
        ),
        ConnectorKind(
            "superset",
            "charts and dashboards, what they read, when a person last opened them",
            (
                Option("address", "Superset's address", required=True),
                Option("user", "the user to read as", required=True),
                Option("password", "the user's password", secret=True),
                Option("provider", "how the user signs in: db or ldap", default="db"),
                Option(
                    "namespaces", "where databases are: NAME=postgres://HOST:5432, separated by commas", required=True
                ),
            ),
        ),
        ConnectorKind(
            "looker",
            "dashboards and tiles, the columns that they read, owners, folders, when a person last looked",
            (
                Option("address", "Looker's address, with the port of its API", required=True),
                Option("client_id", "the id of an API key of the user to read as", required=True),
                Option("client_secret", "the secret of that API key", secret=True),
                Option(
                    "namespaces",
                    "where connections lead: NAME=postgres://HOST:5432, separated by commas",
                    required=True,
                ),
            ),
        ),
        ConnectorKind(
            "tableau",
            "dashboards and sheets, the columns that they read, owners, projects, how often people look",
            (
                Option("address", "Tableau's address", required=True),
                Option("site", "the site's name in addresses; without it, the site Default"),
                Option("token_name", "the name of a personal access token", required=True),
                Option("token", "the secret of that token", secret=True),
                Option(
                    "namespaces", "where databases are: NAME=postgres://HOST:5432, separated by commas", required=True
                ),
                Option("version", "the version of the REST API", default="3.21"),
            ),
        ),
        ConnectorKind(
            "powerbi",
            "dashboards, reports and semantic models, the columns behind their fields, owners, workspaces",
            (
                Option("tenant", "the tenant's id or domain", required=True),
                Option("client_id", "the id of the application to read as", required=True),
                Option("client_secret", "the secret of that application", secret=True),
                Option(
                    "namespaces", "where databases are: NAME=postgres://HOST:5432, separated by commas", required=True
                ),
                Option("address", "the address of the API", default="https://api.powerbi.com"),
                Option("login", "the address that gives tokens", default="https://login.microsoftonline.com"),
            ),
        ),
        ConnectorKind(
            "schema_registry",
            "versions of topics with their columns and compatibility, from a registry with Confluent's API",
            (
                Option("address", "the registry's address", required=True),
                Option("namespace", "the namespace of its topics, such as kafka://broker:9092", required=True),
                Option("user", "the user to read as, if it asks for one"),
                Option("password", "the user's password", secret=True),
            ),
            every_seconds=300,
        ),
        _warehouse(
            "snowflake",
            Option("account", "the account, such as myorg-myaccount", required=True),
            Option("user", "the user to read as", required=True),
            Option("password", "the user's password", secret=True),
            Option("token", "a token, with its authenticator", secret=True),
            Option("authenticator", "how the user signs in, if not by password"),
            Option("role", "the role to read as"),
            Option("warehouse", "the warehouse that runs the questions", required=True),
        ),
        _warehouse(
            "bigquery",
            Option("project", "the project to read", required=True),
            Option("region", "its region, such as eu or europe-west1", default="us"),
            Option("credentials", "the JSON key of a service account; without it, the server's own", secret=True),
        ),
        _warehouse(
            "redshift",
            Option("host", "the cluster's address", required=True),
            Option("port", "its port", default="5439"),
            Option("database", "the database to read", required=True),
            Option("user", "the user to read as", required=True),
            Option("password", "the user's password", secret=True),
        ),
        _warehouse(
            "databricks",
            Option("host", "the workspace's address", required=True),
            Option("http_path", "the path of a SQL warehouse", required=True),
            Option("token", "an access token", secret=True),
        ),
        _warehouse(
            "trino",
            Option("host", "the coordinator's address", required=True),
            Option("port", "its port"),
            Option("user", "the user to read as", required=True),
            Option("password", "the user's password", secret=True),
            Option("token", "a token, instead of a password", secret=True),
            every_seconds=300,
        ),
    )
}


def kind_of(name: str) -> ConnectorKind:
    """Return the kind of that name. Raises InvalidQuestion, which names those there are."""
    if name not in KINDS:
        raise InvalidQuestion(
            f"{name[:40]!r} is not a kind of connector; use one of {', '.join(sorted(KINDS))}", field="kind"
        )
    return KINDS[name]


def check_options(kind: ConnectorKind, given: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the options and the secrets of what was given, with defaults. Raises InvalidQuestion for what is missing, unknown or no text."""
    known = {one.name: one for one in kind.options}
    if unknown := sorted(given.keys() - known.keys()):
        raise InvalidQuestion(
            f"{kind.name} has no option {unknown[0][:40]!r}; it has {', '.join(known)}", field=unknown[0][:100]
        )
    for name, value in given.items():
        if len(value) > _LONGEST_VALUE or "\0" in value:
            raise InvalidQuestion(
                f"{name} must be a text of at most {_LONGEST_VALUE:,} characters without NUL", field=name
            )
    values = {name: given.get(name, "").strip() or one.default for name, one in known.items()}
    if missing := [one for one in kind.options if one.required and not values[one.name]]:
        named = "; ".join(f"{one.name}: {one.text}" for one in missing)
        raise InvalidQuestion(f"{kind.name} needs {named}", field=missing[0].name)
    present = {name: value for name, value in values.items() if value}
    return (
        {name: value for name, value in present.items() if not known[name].secret},
        {name: given[name] for name in present if known[name].secret},
    )


def check_every(seconds: int) -> int:
    """Return the seconds between two pulls. Raises InvalidQuestion outside of a minute to a week."""
    if not SHORTEST <= seconds <= LONGEST:
        raise InvalidQuestion(
            f"a connector pulls every {SHORTEST} to {LONGEST:,} seconds; {seconds:,} is outside", field="every_seconds"
        )
    return seconds
