"""Warehouses as connectors: the puller's own modules, with client libraries that stand in for the vendors' and answer by recorded shapes."""

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from headwater.connectors import connector
from headwater.connectors.warehouse import GRANTS, environment
from headwater.model.connector_kinds import KINDS, WAREHOUSES, check_options
from headwater.model.connector_reports import ConnectorCheck, ConnectorTask
from headwater.pipeline.query_log.pull import SOURCES, source

SETTINGS = {
    "snowflake": {
        "account": "org-acme",
        "user": "reader",
        "password": "secret",
        "warehouse": "small",
        "role": "lineage",
    },
    "bigquery": {"project": "acme", "region": "eu"},
    "redshift": {"host": "cluster", "database": "dwh", "user": "reader", "password": "secret"},
    "databricks": {"host": "acme.cloud", "http_path": "/sql/1", "token": "secret"},
    "trino": {"host": "trino", "user": "reader"},
}
MODULES = {
    "snowflake": ("snowflake", "snowflake.connector"),
    "bigquery": ("google", "google.cloud", "google.cloud.bigquery", "google.cloud.bigquery.dbapi"),
    "redshift": ("redshift_connector",),
    "databricks": ("databricks", "databricks.sql"),
    "trino": ("trino", "trino.dbapi", "trino.auth"),
}


class Vendor:
    """A client library. `refuses`: a word of a statement that it refuses."""

    def __init__(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.refuses, self.connected = "", list[dict[str, Any]]()
        for module in MODULES[name]:
            made = ModuleType(module)
            made.__dict__.update(
                __path__=[], connect=self.connect, Client=self.connect, QueryJobConfig=lambda **given: given,
                BasicAuthentication=lambda *given: given, JWTAuthentication=lambda *given: given,
            )  # fmt: skip
            monkeypatch.setitem(sys.modules, module, made)

    def connect(self, *_given: Any, **named: Any) -> Any:
        self.connected.append(named)
        return SimpleNamespace(cursor=self.cursor, close=lambda: None)

    def cursor(self) -> Any:
        def execute(text: str, _parameters: object = None) -> None:
            if self.refuses and self.refuses in text.lower():
                raise RuntimeError("permission denied for a view, signed in with secret")

        return SimpleNamespace(execute=execute, fetchmany=lambda _size: [], close=lambda: None, description=[("a",)])


def task(name: str) -> ConnectorTask:
    options, secrets = check_options(KINDS[name], SETTINGS[name])
    return ConnectorTask("test", name, "one", {**options, **secrets})


def check(name: str) -> dict[str, ConnectorCheck]:
    return {one.name: one for one in connector(name).test(task(name))}


def test_each_source_that_can_be_pulled_is_a_kind() -> None:
    assert set(SOURCES) == WAREHOUSES == GRANTS.keys()


@pytest.mark.parametrize("name", sorted(WAREHOUSES))
def test_what_is_missing_comes_with_its_grant(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    vendor = Vendor(name, monkeypatch)
    assert {key: one.state for key, one in check(name).items()} == {"connect": "ok", "log": "ok", "definitions": "ok"}
    vendor.refuses = "select"
    refused = check(name)
    assert (refused["log"].state, refused["definitions"].state) == ("failed", "missing")
    remedy = refused["log"].remedy or ""
    assert "{" not in remedy
    assert remedy.startswith(GRANTS[name].partition("{")[0])
    for secret in source(name).SECRETS:
        if secret in environment(task(name)):
            assert "signed in with ***" in refused["log"].text


@pytest.mark.parametrize("name", sorted(WAREHOUSES))
def test_a_client_library_that_is_not_installed_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in MODULES[name]:
        monkeypatch.setitem(sys.modules, module, None)
    connect = check(name)["connect"]
    assert connect.state == "failed"
    assert connect.remedy == f"pip install 'headwater[{name}]'"


def test_settings_are_the_variables_of_the_puller() -> None:
    assert environment(task("snowflake")) == {
        "SNOWFLAKE_ACCOUNT": "org-acme", "SNOWFLAKE_USER": "reader", "SNOWFLAKE_PASSWORD": "secret", "SNOWFLAKE_WAREHOUSE": "small", "SNOWFLAKE_ROLE": "lineage",
    }  # fmt: skip
    assert environment(task("bigquery")) == {"GOOGLE_CLOUD_PROJECT": "acme", "BIGQUERY_REGION": "eu"}
