"""The official OpenLineage client, unchanged, with our spool under it: switched on by one variable."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from collector import running
from headwater.client import emitter_from_environment
from headwater.client.spool import readdress

SWITCH = {"OPENLINEAGE__TRANSPORT__TYPE": "headwater.client.openlineage.HeadwaterTransport"}
EMIT = """
    from datetime import datetime, timezone
    from openlineage.client import OpenLineageClient
    from openlineage.client.event_v2 import Dataset, Job, Run, RunEvent, RunState
    from openlineage.client.facet_v2 import nominal_time_run
    from openlineage.client.uuid import generate_new_uuid
    client = OpenLineageClient()
    for number in range(10):
        client.emit(RunEvent(
            eventType=RunState.COMPLETE, eventTime=datetime.now(timezone.utc).isoformat(), producer="https://tests",
            run=Run(str(generate_new_uuid()), {"nominalTime": nominal_time_run.NominalTimeRunFacet("2026-01-01T00:00:00Z")}),
            job=Job("tests", f"job-{number}"), inputs=[Dataset("file", "/in")], outputs=[Dataset("file", "/out\\nline")],
        ))
"""


def script(text: str, tmp_path: Path, **env: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OPENLINEAGE_", "HEADWATER_"))}
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(text)],
        env=kept | SWITCH | {"HOME": str(tmp_path), "HEADWATER_SPOOL": str(tmp_path / "spool")} | env,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("variable", ["HEADWATER_URL", "OPENLINEAGE_URL"])
def test_events_arrive_by_the_one_variable(tmp_path: Path, variable: str) -> None:
    with running() as collector:
        done = script(EMIT, tmp_path, **{variable: collector.url})
        assert (done.returncode, done.stderr) == (0, "")
        found = collector.events
        assert [each["job"]["name"] for each in found] == [f"job-{n}" for n in range(10)]
        assert {path for path, _, _ in collector.requests} == {"/api/v1/lineage/batch"}
        assert found[0]["run"]["facets"]["nominalTime"]["nominalStartTime"] == "2026-01-01T00:00:00Z"
        assert found[0]["outputs"][0]["name"] == "/out\nline"
    assert list((tmp_path / "spool").iterdir()) == []


def test_what_was_emitted_survives_kill_9(tmp_path: Path) -> None:
    done = script(EMIT + "    import os; os.kill(os.getpid(), 9)", tmp_path, HEADWATER_URL="http://127.0.0.1:1")
    assert done.returncode == -9
    with running() as collector:
        readdress(tmp_path / "spool")
        heir = emitter_from_environment(url=collector.url, spool=tmp_path / "spool")
        assert heir.flush(10)
        heir.close()
        assert sorted(each["job"]["name"] for each in collector.events) == sorted(f"job-{n}" for n in range(10))


def test_a_dead_server_costs_the_program_nothing(tmp_path: Path) -> None:
    done = script(EMIT + "    assert client.close(1.0) is False", tmp_path, HEADWATER_URL="http://127.0.0.1:1")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("\n") == 1
    assert "kept in" in done.stderr


def test_the_clients_own_configuration_wins(tmp_path: Path) -> None:
    with running() as collector:
        own = {
            "OPENLINEAGE__TRANSPORT__URL": collector.url,
            "OPENLINEAGE__TRANSPORT__APIKEY": "secret",
            "OPENLINEAGE__TRANSPORT__SPOOL": str(tmp_path / "own"),
        }
        done = script(EMIT, tmp_path, HEADWATER_URL="http://127.0.0.1:1", **own)
        assert (done.returncode, done.stderr) == (0, "")
        assert len(collector.events) == 10
        assert collector.requests[0][1]["Authorization"] == "Bearer secret"
    assert (tmp_path / "own").is_dir()
    assert not (tmp_path / "spool").exists()


def test_it_fits_beside_others_in_a_composite(tmp_path: Path) -> None:
    transports = {
        "ours": {"type": SWITCH["OPENLINEAGE__TRANSPORT__TYPE"]},
        "file": {"type": "file", "log_file_path": str(tmp_path / "events"), "append": True},
    }
    with running() as collector:
        done = script(
            EMIT,
            tmp_path,
            OPENLINEAGE__TRANSPORT__TYPE="composite",
            OPENLINEAGE__TRANSPORT__TRANSPORTS=json.dumps(transports),
            HEADWATER_URL=collector.url,
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert len(collector.events) == 10
    assert len((tmp_path / "events").read_text().splitlines()) == 10


def test_headwater_does_not_import_it() -> None:
    told = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys, headwater.client; print('openlineage' in sys.modules, 'attr' in sys.modules)",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.split() == ["False", "False"]


def test_names_in_any_case() -> None:
    from headwater.client.openlineage import HeadwaterConfig

    config = HeadwaterConfig.from_dict({"apiKey": "k", "flushSeconds": "2", "transports": {"x": 1}, "url": None})
    assert (config.api_key, config.flush_seconds, config.url) == ("k", 2.0, None)
