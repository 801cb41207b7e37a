"""See each command and query that a Spark Connect client sends: the methods of PySpark's client are wrapped, once for all clients.

On the program's thread a request costs a reference in a queue, at its start and at its end. What the methods return and raise is passed on.
"""

import functools
import re
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import msgspec


class Request(msgspec.Struct):
    """One request. Times are milliseconds. `answers`: what the server said beside rows: the result of a command, the id of a stream.

    `said`: events of a pipeline. `number`: commands that all clients had begun then.
    """

    client: Any
    plan: Any
    started: int
    operation: str = ""
    ended: int = 0
    failure: BaseException | None = None
    metrics: list[Any] = []
    answers: dict[str, Any] = {}
    said: list[Any] = []
    rows: int = 0
    number: int = 0


Receiver = Callable[[Any], Callable[[str, Request], None] | None]
CACHED = "cached"
"""The kind of a request after which the session keeps a relation in memory."""
_CACHE = re.compile(r"\s*cache\b", re.IGNORECASE)
_ROWS = frozenset({"RecordBatch", "Table"})
_counting = threading.Lock()
_commands = 0


def follow(receiver_of: Receiver, closing: Callable[[Any], None]) -> None:
    """Wrap the client's methods. `receiver_of`: from a client to what takes its requests ("start", "said", "end" or `CACHED`), if anything does.

    `closing`: called with a client before it ends its session.
    """
    from pyspark.sql.connect.client.core import SparkConnectClient

    if hasattr(SparkConnectClient._execute, "headwater"):
        return
    methods = (("_execute", _executed), ("_execute_and_fetch_as_iterator", _fetched), ("_analyze", _analyzed))
    for name, wrap in methods:
        wrapped = wrap(getattr(SparkConnectClient, name), receiver_of)
        wrapped.headwater = True
        setattr(SparkConnectClient, name, wrapped)
    for name in ("release_session", "close"):  # the first of them ends the session
        if hasattr(SparkConnectClient, name):
            setattr(SparkConnectClient, name, _closed(getattr(SparkConnectClient, name), closing))


def _closed(original: Any, closing: Callable[[Any], None]) -> Any:
    @functools.wraps(original)
    def close(self: Any) -> Any:
        closing(self)
        return original(self)

    return close


def _executed(original: Any, receiver_of: Receiver) -> Any:
    @functools.wraps(original)
    def execute(self: Any, req: Any, *args: Any, **kwargs: Any) -> Any:
        receive, request = _begun(self, req, receiver_of)
        failure: BaseException | None = None
        try:
            return original(self, req, *args, **kwargs)
        except BaseException as error:
            failure = error
            raise
        finally:
            _ended(receive, request, failure)

    return execute


def _fetched(original: Any, receiver_of: Receiver) -> Any:
    @functools.wraps(original)
    def fetch(self: Any, req: Any, *args: Any, **kwargs: Any) -> Iterator[Any]:
        receive, request = _begun(self, req, receiver_of)
        failure: BaseException | None = None
        try:
            for answer in original(self, req, *args, **kwargs):
                if request is not None and _note(request, answer):
                    _say(receive, request)
                yield answer
        except GeneratorExit:  # the program wants no more rows
            raise
        except BaseException as error:
            failure = error
            raise
        finally:
            _ended(receive, request, failure)

    return fetch


def _analyzed(original: Any, receiver_of: Receiver) -> Any:
    @functools.wraps(original)
    def analyze(self: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        if method == "persist" and (receive := receiver_of(self)) is not None:
            receive(CACHED, Request(self, None, time.time_ns() // 1_000_000))
        return original(self, method, *args, **kwargs)

    return analyze


def keeps_in_memory(plan: Any) -> bool:
    """Return whether a plan is of a command that keeps a table in memory."""
    if plan.WhichOneof("op_type") == "root":
        return bool(plan.root.WhichOneof("rel_type") == "catalog" and plan.root.catalog.HasField("cache_table"))
    inner = plan.command.sql_command
    return _CACHE.match(inner.sql or inner.input.sql.query) is not None


def is_late(request: Request) -> bool:
    """Return whether a command began after this request: the server's tables may have changed since."""
    return _commands > request.number


def _numbered(req: Any) -> int:
    global _commands  # noqa: PLW0603 - of all clients of the process, which may share a server
    with _counting:
        _commands += int(req.plan.WhichOneof("op_type") == "command")
        return _commands


def _begun(
    client: Any, req: Any, receiver_of: Receiver
) -> tuple[Callable[[str, Request], None] | None, Request | None]:
    try:
        receive = receiver_of(client)
        if receive is None:
            return None, None
        request = Request(client, req.plan, time.time_ns() // 1_000_000, str(getattr(req, "operation_id", "")))
        request.number = _numbered(req)
        receive("start", request)
    except Exception:  # noqa: BLE001 - capture never harms its host; the receiver says what went wrong
        return None, None
    return receive, request


def _note(request: Request, answer: Any) -> bool:
    """Note an answer. Returns whether it is of use before the last one."""
    kind = type(answer).__name__
    if isinstance(answer, dict):
        if "pipeline_event_result" in answer:
            request.said.append(answer["pipeline_event_result"].event)
            return True
        request.answers.update(answer)
    elif kind == "PlanMetrics":
        request.metrics.append(answer)
    elif kind in _ROWS:
        request.rows += int(answer.num_rows)
    return False


def _say(receive: Callable[[str, Request], None] | None, request: Request) -> None:
    if receive is not None:
        receive("said", request)


def _ended(
    receive: Callable[[str, Request], None] | None, request: Request | None, failure: BaseException | None
) -> None:
    if receive is not None and request is not None:
        request.ended = time.time_ns() // 1_000_000
        request.failure = failure
        receive("end", request)
