"""`headwater fingerprint`, as a program."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import xxhash

from headwater.cli import plain_fingerprints


def headwater(*words: str | os.PathLike[str], given: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "headwater", "fingerprint", *words]
    return subprocess.run(command, capture_output=True, check=False, input=given)


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    path = tmp_path / "rows.csv.gz"
    path.write_bytes(gzip.compress(LINE * 1000))
    return path


LINE = b"meter,kwh\n"
TEXT = f"xxh3-128:{xxhash.xxh3_128_hexdigest(LINE)}"
CONTENT = f"xxh3-128:{xxhash.xxh3_128_hexdigest(LINE * 1000)}"


def test_a_line_for_each_path(packed):
    other = packed.with_name("other")
    other.write_bytes(LINE)
    done = headwater(packed, other)
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode().splitlines() == [f"{CONTENT}   10.0 kB  {packed}", f"{TEXT}      10 B  {other}"]
    assert headwater("--", packed, other).stdout == done.stdout
    assert headwater("-", given=packed.read_bytes()).stdout.decode().startswith(CONTENT)


def test_the_quick_road_is_taken_without_options_only():
    assert plain_fingerprints(["fingerprint", "a", "b"])
    for given in (["fingerprint"], ["fingerprint", "--help"], ["fingerprint", "a", "--json"], ["status"], []):
        assert not plain_fingerprints(given)
    script = (
        "import sys\nfrom headwater.cli import main\ntry: main()\nexcept SystemExit as end: assert not end.code\n"
        "print(sorted({'typer', 'msgspec', 'rich', 'zipfile', 'logging', 'dataclasses'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "fingerprint", __file__], capture_output=True, check=True, text=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_json_says_all(packed, tmp_path):
    packed.write_bytes(packed.read_bytes() + b"tail")
    done = headwater("--json", packed, tmp_path / "missing")
    assert done.returncode == 1
    found, missing = json.loads(done.stdout)
    assert found == {
        "path": str(packed),
        "fingerprint": CONTENT,
        "bytes": 10_000,
        "stored_bytes": packed.stat().st_size,
        "kind": "gzip",
        "members": 1,
        "ignored": 4,
    }
    assert missing["error"]["code"] == "not_found"
    assert b"4 bytes after the end of its gzip data are ignored" in done.stderr


def test_check_decides_the_exit_code(packed):
    assert headwater(packed, "--check", CONTENT).returncode == 0
    wrong = headwater(packed, "--check", TEXT)
    assert wrong.returncode == 1
    assert f"is {CONTENT}, not {TEXT}".encode() in wrong.stderr
    raw = headwater(packed, "--raw", "--check", f"xxh3-128:{xxhash.xxh3_128_hexdigest(packed.read_bytes())}")
    assert raw.returncode == 0
    assert headwater(packed, packed, "--check", CONTENT).returncode == 2


def test_damage_is_one_line_with_the_place(packed):
    packed.write_bytes(packed.read_bytes()[:-3])
    done = headwater(packed)
    assert (done.returncode, done.stdout) == (1, b"")
    assert (
        done.stderr.decode()
        == f"headwater: {packed}: gzip data that began at byte 0 is cut off at byte {packed.stat().st_size}\n"
    )


def test_names_cannot_drive_the_terminal(tmp_path):
    path = os.fsencode(tmp_path) + b"/\x1b[31m\xff\n"
    Path(os.fsdecode(path)).write_bytes(b"x")
    done = headwater(os.fsdecode(path))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(b"\n") == 1
    assert b"\x1b" not in done.stdout
    assert json.loads(headwater("--json", os.fsdecode(path)).stdout)[0]["bytes"] == 1
