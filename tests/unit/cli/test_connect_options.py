"""`headwater connect KIND`: what is given as an option is the setting of its name, and no option of the command has the name of a setting."""

from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

from headwater.cli import server
from headwater.cli.connectors.connect import connect
from headwater.model.connector_kinds import KINDS, ConnectorKind

OPTIONS_OF_THE_COMMAND = {"name", "every", "replace", "no_test", "url", "json"}


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_each_option_is_the_setting_of_its_name(kind: ConnectorKind, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[Any, Any]] = []

    def send(url: str | None, method: str, path: str, body: dict[str, Any]) -> bytes:
        sent.append((url, body))
        return msgspec.json.encode({"ok": True, "checks": []})

    monkeypatch.setattr(server, "send", send)
    wanted = {one.name: f"value of {one.name}" for one in kind.options if not one.secret}
    assert not wanted.keys() & OPTIONS_OF_THE_COMMAND
    given = [part for name, value in wanted.items() for part in (f"--{name.replace('_', '-')}", value)]
    ended = CliRunner().invoke(
        connect, [kind.name.replace("_", "-"), *given, "--url", "http://headwater:5000", "--json"]
    )
    assert ended.exit_code == 0, ended.output
    ((url, body),) = sent
    assert (url, body["kind"], body["settings"]) == ("http://headwater:5000", kind.name, wanted)
