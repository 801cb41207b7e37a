"""The statements of each source, the client it asks and the rows it makes of the answer; and the command around it. Client libraries are
made up."""

import datetime as dt
import json
import re
import sys
from decimal import Decimal
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from headwater.cli.program import program
from headwater.errors import InvalidQuestion, NotInstalled
from headwater.pipeline.query_log.pull import SOURCES, source
from headwater.pipeline.query_log.pull.asking import line, utc
from headwater.pipeline.query_log.pull.windows import floor

SINCE = dt.datetime(2026, 3, 1, 5, tzinfo=dt.UTC)
UNTIL = dt.datetime(2026, 3, 1, 6, tzinfo=dt.UTC)
SECRET = "hunter2-and-more"
ENVIRON = {
    "snowflake": {"SNOWFLAKE_ACCOUNT": "acme", "SNOWFLAKE_USER": "reader", "SNOWFLAKE_PASSWORD": SECRET},
    "bigquery": {"GOOGLE_CLOUD_PROJECT": "acme", "BIGQUERY_REGION": "region-EU"},
    "redshift": {
        "REDSHIFT_HOST": "h",
        "REDSHIFT_DATABASE": "d",
        "REDSHIFT_USER": "u",
        "REDSHIFT_PASSWORD": SECRET,
        "REDSHIFT_PORT": "5440",
    },
    "databricks": {"DATABRICKS_HOST": "https://dbc/", "DATABRICKS_HTTP_PATH": "/sql/1", "DATABRICKS_TOKEN": SECRET},
    "trino": {"TRINO_HOST": "coordinator", "TRINO_USER": "reader", "TRINO_PASSWORD": SECRET},
}
MODULES = {
    "snowflake": ["snowflake", "snowflake.connector"],
    "bigquery": ["google", "google.cloud", "google.cloud.bigquery", "google.cloud.bigquery.dbapi"],
    "redshift": ["redshift_connector"],
    "databricks": ["databricks", "databricks.sql"],
    "trino": ["trino", "trino.dbapi", "trino.auth"],
}


class Client:
    """Stands for every client library: remembers how it was called, and gives connections without rows."""

    def __init__(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.connected: list[dict[str, Any]] = []
        self.executed: list[tuple[Any, ...]] = []
        self.closed = 0
        self.failure: Exception | None = None
        for module in MODULES[name]:
            made = ModuleType(module)
            made.__dict__.update(
                __path__=[],
                connect=self.connect,
                Client=self.client,
                QueryJobConfig=lambda **given: given,
                BasicAuthentication=lambda *given: ("basic", *given),
                JWTAuthentication=lambda *given: ("jwt", *given),
            )
            monkeypatch.setitem(sys.modules, module, made)

    def connect(self, *_given: Any, **named: Any) -> Any:
        self.connected.append(named)
        if self.failure:
            raise self.failure
        return SimpleNamespace(cursor=self.cursor, close=self.close)

    def client(self, **named: Any) -> Any:
        self.connected.append(named)
        return SimpleNamespace(close=self.close)

    def cursor(self) -> Any:
        return SimpleNamespace(
            execute=lambda *given: self.executed.append(given),
            description=[("query_id",)],
            fetchmany=lambda _size: [],
            close=lambda: None,
        )

    def close(self) -> None:
        self.closed += 1


@pytest.fixture(autouse=True)
def nothing_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    for variables in ENVIRON.values():
        for variable in variables:
            monkeypatch.delenv(variable, raising=False)


@pytest.mark.parametrize("name", SOURCES)
def test_times_are_bound_and_never_written_into_the_question(name: str) -> None:
    its = source(name)
    for one in its.statements(SINCE, UNTIL, ENVIRON[name], frozenset(its.WITH)):
        assert "2026" not in one.text
        assert "--" not in one.text
        values = one.parameters.values() if isinstance(one.parameters, dict) else one.parameters
        assert any("2026-03-01" in str(value) and "05:00:00" in str(value) for value in values)
        assert any("2026-03-01" in str(value) and "06:00:00" in str(value) for value in values)
        # No half of a window's ends in both, or in none.
        assert text_of_bound(one.text, ">=")
        assert text_of_bound(one.text, "<")


@pytest.mark.parametrize("name", SOURCES)
def test_definitions_have_the_columns_that_their_reader_looks_for(name: str) -> None:
    text = source(name).definitions(ENVIRON[name]).text
    for column in ("definition", "defined_at", "database", "schema", "name", "kind"):
        assert re.search(rf'\b"?{column}"?\b', text), column


@pytest.mark.parametrize(("name", "besides", "says"), [
    ("snowflake", "access-history", "base_objects_accessed"),
    ("databricks", "lineage", "system.access.table_lineage"),
    ("redshift", "tables", "sys_query_detail"),
])  # fmt: skip
def test_the_tables_that_the_warehouse_itself_names_are_asked_for(name: str, besides: str, says: str) -> None:
    texts = [one.text for one in source(name).statements(SINCE, UNTIL, ENVIRON[name], frozenset({besides}))]
    assert says in texts[-1]
    assert len(texts) == len(source(name).statements(SINCE, UNTIL, ENVIRON[name], frozenset())) + 1


def text_of_bound(text: str, sign: str) -> bool:
    ends = ("end_time", '"end"')
    return any(f"{end} {sign} " in text for end in ends)


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_says_what_a_source_says(name: str) -> None:
    its = source(name)
    assert {its.NAME, its.EXTRA} == {name}
    assert dt.timedelta() < its.LAG <= dt.timedelta(hours=1)
    assert all(later > its.LAG for later in its.WITH.values())
    assert its.KEEPS >= its.BACK >= its.WINDOW
    extras = (Path(__file__).parents[4] / "pyproject.toml").read_text(encoding="utf-8")
    assert f"\n{its.EXTRA} = [" in extras


def test_what_is_asked_for_besides_is_joined() -> None:
    its = source("snowflake")
    (plain,) = its.statements(SINCE, UNTIL, {}, frozenset())
    assert "JOIN" not in plain.text
    assert "client_application_id" not in plain.text
    joined, access = its.statements(SINCE, UNTIL, {}, frozenset({"sessions", "access-history"}))
    assert "account_usage.sessions" in joined.text
    assert "credits" not in joined.text
    assert "account_usage.access_history" in access.text


def test_a_region_that_is_none_is_not_put_into_a_name() -> None:
    its = source("bigquery")
    (told,) = its.statements(SINCE, UNTIL, ENVIRON["bigquery"], frozenset())
    assert "`region-eu`.INFORMATION_SCHEMA.JOBS" in told.text
    with pytest.raises(InvalidQuestion, match="BIGQUERY_REGION"):
        its.statements(SINCE, UNTIL, {"BIGQUERY_REGION": "eu`.x; drop"}, frozenset())


@pytest.mark.parametrize("name", SOURCES)
def test_a_missing_client_is_said_with_what_installs_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in MODULES[name]:
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(NotInstalled, match=rf"pip install 'headwater\[{name}\]'"):
        source(name).connect(ENVIRON[name], 60)


@pytest.mark.parametrize("name", ["snowflake", "redshift", "databricks", "trino"])
def test_an_environment_that_does_not_say_enough(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client(name, monkeypatch)
    first, *others = ENVIRON[name]
    needed = others[0]
    with pytest.raises(InvalidQuestion, match=f"{needed}.* not set") as raised:
        source(name).connect({first: ENVIRON[name][first]}, 60)
    assert ENVIRON[name][first] not in str(raised.value).split()
    assert client.connected == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("snowflake", {"account": "acme", "user": "reader", "password": SECRET}),
        ("bigquery", {"project": "acme", "location": "eu"}),
        ("redshift", {"host": "h", "database": "d", "user": "u", "password": SECRET, "port": 5440}),
        ("databricks", {"server_hostname": "dbc", "http_path": "/sql/1", "access_token": SECRET}),
        ("trino", {"host": "coordinator", "port": 443, "http_scheme": "https", "auth": ("basic", "reader", SECRET)}),
    ],
)
def test_the_environment_says_where_to(name: str, expected: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client(name, monkeypatch)
    source(name).connect(ENVIRON[name], 90).close()
    told = client.connected[0]
    assert {key: told[key] for key in expected} == expected
    # A statement that runs on and on is stopped by the warehouse.
    assert "90" in repr(told) + repr(client.executed)


def test_snowflakes_own_configuration_serves_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client("snowflake", monkeypatch)
    source("snowflake").connect({"SNOWFLAKE_ROLE": "LINEAGE"}, 60)
    source("snowflake").connect({"SNOWFLAKE_DEFAULT_CONNECTION_NAME": "prod"}, 60)
    assert [told["connection_name"] for told in client.connected] == ["default", "prod"]
    assert client.connected[0]["role"] == "LINEAGE"


def test_redshift_by_iam_needs_no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client("redshift", monkeypatch)
    told = {"REDSHIFT_IAM": "1", "REDSHIFT_DATABASE": "d", "REDSHIFT_CLUSTER_IDENTIFIER": "c", "REDSHIFT_DB_USER": "u"}
    source("redshift").connect(told, 60)
    assert client.connected[0]["iam"] is True
    assert client.connected[0]["cluster_identifier"] == "c"


def test_bigquerys_client_is_closed_with_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client("bigquery", monkeypatch)
    source("bigquery").connect(ENVIRON["bigquery"], 60).close()
    assert client.closed == 2


def test_nested_values_are_values_in_the_file() -> None:
    row = {"QUERY_ID": "a", "DIRECT_OBJECTS_ACCESSED": '[{"objectName": "A.B.C"}]', "OBJECTS_MODIFIED": None}
    assert source("snowflake").record(row, {})["DIRECT_OBJECTS_ACCESSED"] == [{"objectName": "A.B.C"}]
    job = {"job_id": "a", "labels": '[{"key": "k", "value": "v"}]', "error_result": "null", "query": '{"no": "label"}'}
    read = source("bigquery").record(job, {})
    assert (read["labels"], read["error_result"], read["query"]) == (
        [{"key": "k", "value": "v"}],
        None,
        '{"no": "label"}',
    )
    assert source("databricks").record({"record": '{"compute": {"type": "W"}}'}, {}) == {"compute": {"type": "W"}}


def test_trinos_rows_become_events() -> None:
    row = {
        "query_id": "20260301_1",
        "state": "FAILED",
        "user": "ada",
        "source": "dbt",
        "query": "select 1",
        "resource_group_id": ["global", "adhoc"],
        "queued_time_ms": 12,
        "created": SINCE,
        "started": SINCE,
        "end": UNTIL,
        "error_type": "USER_ERROR",
        "error_code": "USER_CANCELED",
    }
    told = source("trino").record(row, {"TRINO_HOST": "coordinator"})
    assert told["metadata"]["uri"] == "http://coordinator:8080/v1/query/20260301_1"
    assert told["context"]["resourceGroupId"] == "global.adhoc"
    assert told["statistics"] == {"queuedTime": "12ms"}
    assert told["failureInfo"] == {"errorCode": {"name": "USER_CANCELED", "type": "USER_ERROR"}}
    assert json.loads(line(told))["endTime"] == "2026-03-01T06:00:00Z"


def test_what_drivers_give_becomes_json() -> None:
    east = dt.timezone(dt.timedelta(hours=2))
    told = {
        "naive": dt.datetime(2026, 3, 1, 5, 0, 0, 120_000, tzinfo=dt.UTC).replace(tzinfo=None),
        "east": dt.datetime(2026, 3, 1, 5, tzinfo=east),
        "whole": Decimal("12345678901234567890"),
        "real": Decimal("0.25"),
        "bytes": b"a\xff",
        "tuple": ({"at": SINCE},),
        "date": dt.date(2026, 3, 1),
        "lone": "\ud800",
        "lines": "select 1\n-- é",
        "absent": None,
    }
    made = line(told)
    assert made.count(b"\n") == 1
    assert json.loads(made) == {
        "naive": "2026-03-01T05:00:00.120000Z",
        "east": "2026-03-01T03:00:00Z",
        "whole": 12345678901234567890,
        "real": 0.25,
        "bytes": "a�",
        "tuple": [{"at": "2026-03-01T05:00:00Z"}],
        "date": "2026-03-01",
        "lone": "?",
        "lines": "select 1\n-- é",
    }


def test_a_source_that_is_none() -> None:
    with pytest.raises(InvalidQuestion, match="'postgres': known are bigquery, databricks, redshift, snowflake, trino"):
        source("postgres")


# -- the command --


def asked(*words: str) -> Any:
    return CliRunner().invoke(program, ["pull", "query-log", *words])


def test_help_names_the_options_and_no_secret() -> None:
    told = asked("--help")
    assert told.exit_code == 0
    for option in ("--source", "--to", "--since", "--until", "--window", "--pause", "--every", "--with", "--json"):
        assert option in told.output
    assert not {"password", "token", "--user"} & set(told.output.lower().split())


@pytest.mark.parametrize("name", SOURCES)
def test_the_command_pulls_and_says_what_it_did(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client(name, monkeypatch)
    for variable, value in ENVIRON[name].items():
        monkeypatch.setenv(variable, value)
    until = floor(dt.datetime.now(dt.UTC), dt.timedelta(hours=1)) - dt.timedelta(hours=2)
    since = until - dt.timedelta(hours=2)
    stretch = ["--since", f"{since:%Y-%m-%dT%H:%M}", "--until", utc(until)]
    told = asked("--source", name, "--to", str(tmp_path), *stretch, "--window", "1h", "--json")
    assert told.exit_code == 0, told.exception
    answer = json.loads(told.stdout)
    assert (answer["source"], answer["windows"], answer["empty"], answer["rows"]) == (name, 2, 2, 0)
    assert (answer["since"], answer["until"]) == (utc(since), utc(until))
    assert answer["lag_seconds"] > 0
    assert SECRET not in told.output
    assert client.closed >= 2
    again = asked("--source", name, "--to", str(tmp_path))
    assert f"files: {tmp_path}" in again.output


def test_an_error_of_the_client_shows_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client("trino", monkeypatch)
    for variable, value in ENVIRON["trino"].items():
        monkeypatch.setenv(variable, value)
    client.failure = ValueError(f"https://reader:{SECRET}@coordinator cannot be read")
    told = asked("--source", "trino", "--to", str(tmp_path))
    assert "https://reader:***@coordinator cannot be read" in str(told.exception)
    assert SECRET not in told.output + repr(told.exception) + repr(told.exception.__cause__)


def test_every_goes_on_until_it_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client("trino", monkeypatch)
    for variable, value in ENVIRON["trino"].items():
        monkeypatch.setenv(variable, value)
    slept: list[float] = []
    away = type("OperationalError", (Exception,), {})("away")
    # The client's error after each rest: the second round meets a failure that passes, the third one that does not.
    failures = {1: away, 2: None, 3: away, 7: None}

    def rest(seconds: float) -> None:
        if seconds:
            slept.append(seconds)
            client.failure = failures.get(len(slept), client.failure)
            for path in tmp_path.iterdir():
                path.unlink()
        if slept.count(300) == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr("headwater.cli.spark.pull._rest", rest)
    told = asked("--source", "trino", "--to", str(tmp_path), "--every", "300", "--json")
    assert told.exit_code == 0, told.exception
    assert [json.loads(text)["windows"] for text in told.stdout.splitlines()] == [12, 12, 12]
    assert slept == [300, 2, 300, 2, 8, 32, 300, 300]
    assert "OperationalError: away" in told.stderr
    assert "trying again in 300 s" in told.stderr
