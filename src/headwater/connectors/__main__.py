"""One task in a process of its own: the task on standard input, lines of JSON on standard output, the report or the failure last."""

import sys
from collections.abc import Callable

import msgspec

from headwater.connectors import connector
from headwater.errors import HeadwaterError
from headwater.model.connector_kinds import KINDS
from headwater.model.connector_reports import ConnectorFailure, ConnectorLine, ConnectorTask
from headwater.pipeline.query_log.pull.retries import error_line, passing


def run_task(task: ConnectorTask, write: Callable[[ConnectorLine], None]) -> int:
    """Do it; return the exit code. An error is a line without any secret in it."""
    try:
        module = connector(task.kind)
        if task.work == "test":
            write(ConnectorLine(checks=list(module.test(task))))
        else:
            report = module.pull(
                task, lambda event: write(ConnectorLine(event=msgspec.Raw(msgspec.json.encode(event))))
            )
            write(ConnectorLine(report=report))
    except HeadwaterError as error:
        write(ConnectorLine(failure=ConnectorFailure(_without_secrets(error.message, task), error.permanent)))
        return 1
    except Exception as error:  # noqa: BLE001 - each client library has errors of its own; the server shows this one
        line = error_line(error, task.settings, _secrets(task))
        write(ConnectorLine(failure=ConnectorFailure(line, not passing(error))))
        return 1
    return 0


def _secrets(task: ConnectorTask) -> list[str]:
    return [one.name for one in KINDS[task.kind].options if one.secret] if task.kind in KINDS else []


def _without_secrets(message: str, task: ConnectorTask) -> str:
    for name in _secrets(task):
        if value := task.settings.get(name):
            message = message.replace(value, "***")
    return message


def main() -> int:
    out = sys.stdout.buffer

    def write(line: ConnectorLine) -> None:
        out.write(msgspec.json.encode(line) + b"\n")
        if line.is_ending:
            out.flush()

    try:
        return run_task(msgspec.json.decode(sys.stdin.buffer.read(), type=ConnectorTask), write)
    except BrokenPipeError:
        return 1  # the server has ended, or lost its lease


if __name__ == "__main__":
    sys.exit(main())
