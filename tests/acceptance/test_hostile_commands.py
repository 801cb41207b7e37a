"""Values that mean something to a shell, to SQL or to a file system, given to the installed commands: they are names, or they are refused."""

import io
import json
import random
import resource
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from tests.events import encoded, run_event
from tests.fixtures.machine import HEADWATER, Machine
from tests.scale import full

from headwater.client.ask import ask

PARTS = (
    "../",
    "/tmp/",
    "$(touch made)",
    "`touch made`",
    "; touch made",
    "'",
    '"',
    "\\",
    "\n",
    "%2F",
    "{}",
    "--",
    "é",
    " ",
    "x",
    "?a=b",
    "#",
    "@",
)
VALUES = (
    "../../etc/passwd", "/tmp/absolute", "--help", "-x", "a'; drop table events; --", 'a"; drop database postgres; --', "$(touch made)",
    "`touch made`", "a\nb", " ", ".", "{0}", "%s", "x" * 63, "template1;", "é" * 40, "x" * 200,
)  # fmt: skip


def values(*, drawn: int) -> list[str]:
    """In `make soak` the listed ones and so many drawn ones; in the suite every sixth that is listed."""
    draw = random.Random(18)
    more = ["".join(draw.choices(PARTS, k=draw.randint(1, 8))) for _ in range(full(drawn, 0))]
    return [*VALUES[:: full(1, 6)], *more]


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    made = Machine(tmp_path_factory.mktemp("hostile"))
    made.up()
    made.post(encoded(run_event("COMPLETE", 1, "job", ["/in"], ["/out"])))
    yield made
    made.run("down")


def test_a_database_to_replay_into_has_the_name_that_was_given_or_is_not_made(machine: Machine, tmp_path: Path) -> None:
    url = json.loads((machine.home / "headwater/server.json").read_text())["database_url"]
    now = json.loads(ask(machine.url, "/api/v2/receipts"))["receipts"][0]["received_at"]

    def databases() -> set[str]:
        with psycopg.connect(url, autocommit=True) as connection:
            return {row[0] for row in connection.execute("select datname from pg_database")}

    for value in values(drawn=40):
        before = databases()
        done = machine.run("server", "replay", "--until", now, f"--into={value}", cwd=tmp_path)
        assert "Traceback" not in done.stderr, (value, done.stderr)
        made = databases() - before
        assert databases() >= before
        if done.returncode == 0:
            assert made <= {value}, (value, made)
        else:
            assert not made, (value, made, done.stderr)
    for own in ("postgres", "template1"):
        assert machine.run("server", "replay", "--until", now, "--into", own).returncode != 0
    assert not list(tmp_path.iterdir())
    assert json.loads(ask(machine.url, "/api/v2/status"))["events"]["total"] == 1


def zipped(names: list[str], content: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            link = zipfile.ZipInfo(name)
            link.external_attr = (0o120777 if name.endswith("link") else 0o100644) << 16
            link.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(link, content)
    return packed.getvalue()


def test_a_zip_is_read_and_never_unpacked(tmp_path: Path) -> None:
    """Neither the names of its members, nor their sizes, nor links lead anywhere."""
    (tmp_path / "inner").mkdir()
    names = ["../slipped", "/tmp/slipped", "..\\slipped", "a/../../slipped", "link", "a\x01b", "x" * 5000]
    bomb = zipped([f"zeros-{number}" for number in range(full(16, 2))], bytes(1 << 26))
    (tmp_path / "inner/slip.zip").write_bytes(zipped(names, b"/etc/passwd"))
    (tmp_path / "inner/bomb.zip").write_bytes(bomb)
    (tmp_path / "inner/nested.zip").write_bytes(zipped(["bomb.zip", "again.zip"], bomb))

    def bounded() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (600 << 20, 600 << 20))
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    for name in ("slip", "bomb", "nested"):
        done = subprocess.run(
            [*HEADWATER, "fingerprint", f"{name}.zip"],
            cwd=tmp_path / "inner", capture_output=True, text=True, timeout=300, check=False, preexec_fn=bounded,
        )  # fmt: skip
        assert "Traceback" not in done.stderr, done.stderr
        assert (done.returncode == 0) == ("xxh3-128" in done.stdout), done
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["bomb.zip", "inner", "nested.zip", "slip.zip"]
    assert not Path("/tmp/slipped").exists()


PROGRAM = "import json, os, sys; print(json.dumps([sys.argv[1:], os.environ.get('HEADWATER_PARAM_WHAT'), os.environ.get('HEADWATER_PARAMETERS')]))"
MANIFEST = "metadata: {name: hostile, namespace: test, owner: me, description: Prints}\nrun: {kind: python, script: main.py}\nparameters: {what: x}\n"


def test_parameters_and_arguments_reach_a_program_unchanged(machine: Machine, tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "dk.yaml").write_text(MANIFEST)
    (package / "main.py").write_text(PROGRAM)
    env = {**machine.env, "PYTHONIOENCODING": "utf-8"}
    for value in [*values(drawn=60), "y" * 100_000]:
        done = subprocess.run(
            [sys.executable, "-m", "headwater.cli.capture.run", str(package), "--param", f"what={value}", "--", value],
            cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert "Traceback" not in done.stderr, (value[:100], done.stderr[-2000:])
        assert done.returncode == 0, (value[:100], done.stderr[-500:])
        arguments = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("[[")))[0]
        assert arguments[-1] == value
    assert not (tmp_path / "made").exists()
    assert not (package / "made").exists()
