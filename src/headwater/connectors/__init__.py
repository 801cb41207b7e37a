"""Systems that are read on a schedule: a warehouse's catalog, dbt's artifacts, a scheduler, BI tools.

One module a kind, all with the same names; one for all cloud warehouses.

    test(task) -> Iterator[ConnectorCheck]        try what a pull needs; say what is missing, and the statement that grants it
    pull(task, send) -> PullReport                read, and send OpenLineage events; `send` blocks while the server is busy

A server runs each task in a process of its own (`python -m headwater.connectors`), which gets the task with its secrets on standard input and writes
lines to standard output (`headwater.model.connector_reports`). So a pull that hangs, grows or crashes costs the server nothing, and no secret is in
a list of processes. A module changes nothing in the system it reads, bounds the rows and the time of each question, and keeps no file.

A further kind is its line in `headwater.model.connector_kinds`, a module here, and its part of docs/howto/sources.md.
"""

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, Protocol, cast

from headwater.model.connector_kinds import WAREHOUSES, kind_of
from headwater.model.connector_reports import ConnectorCheck, ConnectorTask, PullReport

Event = dict[str, Any]
Send = Callable[[Event], None]


class Connector(Protocol):
    """The interface of the module of a kind."""

    def test(self, task: ConnectorTask) -> Iterator[ConnectorCheck]:
        """Try what a pull needs. Raises DatabaseUnavailable, ServerUnavailable: it does not answer now. Other errors will not pass."""
        ...

    def pull(self, task: ConnectorTask, send: Send) -> PullReport:
        """Send events of all that changed since `task.cursor`. Raises as `test`."""
        ...


def connector(kind: str) -> Connector:
    """The module of a kind. Raises InvalidQuestion for an unknown one."""
    name = kind_of(kind).name
    return cast("Connector", import_module(f"{__name__}.{'warehouse' if name in WAREHOUSES else name}"))
