"""Questions to a Spark Connect server about what only it knows: schemas, tables, settings. Asked on capture's own thread, over the program's channel.

Each answer comes in seconds or not at all (`NoAnswer`); nothing here changes the session. Asked for the schema of a relation that reads files
without a given schema, Spark finds it out from the files once more, with a job of its own: for CSV and JSON it reads them. So an answer is
remembered for the DataFrame that it is of.
"""

import json
from collections import OrderedDict
from typing import Any

import msgspec

_SECONDS = 20.0
_MOST_REMEMBERED = 500
_NOTHING_THERE = (
    "NOT_FOUND",
    "does not exist",
    "DELTA_MISSING_DELTA_TABLE",
    "is not a Delta table",
    "DELTA_SCHEMA_NOT_SET",
)
_DETAIL = "# Detailed Table Information"


class NoAnswer(Exception):
    """The server does not answer, or refuses: says why."""

    @property
    def is_of_nothing_there(self) -> bool:
        """Return whether the server answers that there is no such table or path."""
        return any(words in str(self) for words in _NOTHING_THERE)


class Table(msgspec.Struct):
    """A table or view, as DESCRIBE TABLE EXTENDED says: `columns` with types as DDL; `details` by their names."""

    columns: list[tuple[str, str]]
    details: dict[str, str]

    @property
    def identity(self) -> list[str]:
        """Return the parts of its name: catalog, database, table."""
        return [self.details[key] for key in ("Catalog", "Database", "Table") if self.details.get(key)]


class Server:
    """One session of a server."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self._schemas: OrderedDict[bytes, list[dict[str, Any]]] = OrderedDict()
        self._settings: dict[str, str] = {}

    def version(self) -> str:
        """Return Spark's version on the server."""
        request = self.client._analyze_plan_request_with_metadata()
        request.spark_version.SetInParent()
        return str(self._analyze(request).spark_version.version)

    def schema(self, relation: Any) -> list[dict[str, Any]]:
        """Return the columns of a relation: `{"name", "type"}`, with types as Spark writes them in JSON."""
        key = relation.SerializeToString(deterministic=True)
        found = self._schemas.get(key)
        if found is None:
            from pyspark.sql.connect import types

            request = self.client._analyze_plan_request_with_metadata()
            request.schema.plan.root.CopyFrom(relation)
            answer: Any = types.proto_schema_to_pyspark_data_type(self._analyze(request).schema.schema)
            found = [{"name": one.name, "type": one.dataType.jsonValue()} for one in answer.fields]
            if relation.HasField("common"):  # of one DataFrame, which keeps its schema
                self._schemas[key] = found
                while len(self._schemas) > _MOST_REMEMBERED:
                    self._schemas.popitem(last=False)
        return found

    def input_files(self, relation: Any) -> list[str]:
        """Return the files that a relation reads."""
        request = self.client._analyze_plan_request_with_metadata()
        request.input_files.plan.root.CopyFrom(relation)
        return [str(file) for file in self._analyze(request).input_files.files]

    def setting(self, key: str) -> str:
        """Return a setting of the session, or empty; asked once."""
        if key not in self._settings:
            from pyspark.sql.connect.proto import base_pb2

            request = self.client._config_request_with_metadata()
            pair = base_pb2.KeyValue(key=key, value="")
            request.operation.CopyFrom(
                base_pb2.ConfigRequest.Operation(get_with_default=base_pb2.ConfigRequest.GetWithDefault(pairs=[pair]))
            )
            pairs = self._ask(self.client._stub.Config, request).pairs
            self._settings[key] = str(pairs[0].value) if pairs else ""
        return self._settings[key]

    def table(self, name: str) -> Table | None:
        """Return the table or view of this name (as SQL writes it), or None if there is none."""
        try:
            rows = self._rows(f"DESCRIBE TABLE EXTENDED {name}")
        except NoAnswer as problem:
            if problem.is_of_nothing_there:
                return None
            raise
        found = Table([], {})
        detail = False
        for first, second, *_ in rows:
            if first == _DETAIL:
                detail = True
            elif detail:
                found.details.setdefault(first, second or "")
            elif not first or first.startswith("#"):
                detail = None  # type: ignore[assignment]
            elif detail is False:
                found.columns.append((first, second))
        return found

    def database(self, name: str) -> str:
        """Return the location of a database."""
        rows = {first: second for first, second, *_ in self._rows(f"DESCRIBE DATABASE {name}")}
        return str(rows.get("Location") or "")

    def stream(self, identifier: str, run: str) -> tuple[list[dict[str, Any]], bool, str]:
        """Return a streaming query's last progress, whether it runs, and its failure or empty."""
        progress = [
            json.loads(one)
            for one in self._stream_answer(identifier, run, recent_progress=True).recent_progress.recent_progress_json
        ]
        active = bool(self._stream_answer(identifier, run, status=True).status.is_active)
        failure = (
            "" if active else str(self._stream_answer(identifier, run, exception=True).exception.exception_message)
        )
        return progress, active, failure

    def _stream_answer(self, identifier: str, run: str, **asked: bool) -> Any:
        request = self.client._execute_plan_request_with_metadata()
        command = request.plan.command.streaming_query_command
        command.query_id.id, command.query_id.run_id = identifier, run
        for name, value in asked.items():
            setattr(command, name, value)
        for answer in self._ask(self.client._stub.ExecutePlan, request, every=True):
            if answer.HasField("streaming_query_command_result"):
                return answer.streaming_query_command_result
        raise NoAnswer("no answer about a streaming query")

    def query(self, text: str) -> list[dict[str, Any]]:
        """Return the rows of a query, by the names of their columns."""
        request = self.client._execute_plan_request_with_metadata()
        request.plan.root.sql.query = text
        answers = self._ask(self.client._stub.ExecutePlan, request, every=True)
        return [row for answer in answers if answer.HasField("arrow_batch") for row in _read(answer.arrow_batch.data)]

    def rows(self, statement: str) -> list[dict[str, Any]]:
        """Return the rows of a statement that is no query, by the names of their columns."""
        return _read(self._answer(statement))

    def _rows(self, statement: str) -> list[tuple[str, ...]]:
        """Return the rows of a statement that Spark answers without a job."""
        return [tuple(row.values()) for row in self.rows(statement)]

    def _answer(self, statement: str) -> bytes:
        request = self.client._execute_plan_request_with_metadata()
        request.plan.command.sql_command.sql = statement  # PySpark 3.5 knows only this form
        input_ = getattr(request.plan.command.sql_command, "input", None)
        if input_ is not None:
            request.plan.command.sql_command.ClearField("sql")
            input_.sql.query = statement
        data = b""
        for answer in self._ask(self.client._stub.ExecutePlan, request, every=True):
            if answer.HasField("sql_command_result"):
                data = answer.sql_command_result.relation.local_relation.data
        return bytes(data)

    def _analyze(self, request: Any) -> Any:
        return self._ask(self.client._stub.AnalyzePlan, request)

    def _ask(self, call: Any, request: Any, *, every: bool = False) -> Any:
        try:
            answer = call(request, metadata=self.client._builder.metadata(), timeout=_SECONDS)
            return list(answer) if every else answer
        except Exception as error:  # gRPC's kinds differ by version
            details = getattr(error, "details", None)
            raise NoAnswer(str(details() if callable(details) else error)[:500]) from error


def _read(data: bytes) -> list[dict[str, Any]]:
    """Return rows that Arrow wrote."""
    import pyarrow

    if not data:
        return []
    with pyarrow.ipc.open_stream(data) as reader:
        rows: list[dict[str, Any]] = reader.read_all().to_pylist()
    return rows
