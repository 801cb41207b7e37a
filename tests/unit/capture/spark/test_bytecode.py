"""Compiled classes that stay between programs."""

from pathlib import Path

import pytest

from headwater.capture.spark import bytecode

CLASSES = {"a.One": b"\xca\xfe one", "a.One$Inner": b"\xca\xfe"}


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADWATER_HOME", str(tmp_path / "home"))
    return bytecode.file_for("class One {}", "17", "/spark.jar")


def test_what_was_written_is_read(file: Path) -> None:
    assert bytecode.read(file) is None
    bytecode.write(file, CLASSES)
    assert bytecode.read(file) == CLASSES
    assert bytecode.file_for("class One {}", "17", "/spark.jar") == file
    assert file not in {
        bytecode.file_for("class One { }", "17", "/spark.jar"),
        bytecode.file_for("class One {}", "21", "/spark.jar"),
    }


@pytest.mark.parametrize("damage", ["cut", "changed", "empty", "other"])
def test_a_file_that_is_not_whole_is_none(file: Path, damage: str) -> None:
    bytecode.write(file, CLASSES)
    whole = file.read_bytes()
    other = {"cut": whole[:-1], "changed": whole.replace(b"one", b"two"), "empty": b"", "other": b"PK" + whole}[damage]
    file.write_bytes(other)
    assert bytecode.read(file) is None
    bytecode.write(file, CLASSES)
    assert bytecode.read(file) == CLASSES


@pytest.mark.parametrize("place", ["file", "folder"])
@pytest.mark.parametrize("mode", [0o020, 0o002])
def test_what_others_may_write_is_not_used(file: Path, place: str, mode: int) -> None:
    bytecode.write(file, CLASSES)
    one = file if place == "file" else file.parent
    one.chmod(one.stat().st_mode | mode)
    assert bytecode.read(file) is None


def test_another_users_is_not_used(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bytecode.write(file, CLASSES)
    monkeypatch.setattr(bytecode.os, "geteuid", lambda: 65534)
    assert bytecode.read(file) is None


def test_where_nothing_can_be_written_nothing_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "home").write_text("a file where the folder belongs")
    monkeypatch.setenv("HEADWATER_HOME", str(tmp_path / "home"))
    file = bytecode.file_for("source")
    bytecode.write(file, CLASSES)
    assert bytecode.read(file) is None


def test_eight_files_stay(file: Path) -> None:
    for number in range(12):
        bytecode.write(file.with_name(f"{number:02}"), CLASSES)
    assert len(list(file.parent.iterdir())) == 8
