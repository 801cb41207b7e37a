"""Names of files and folders as times, on real files."""

import os
from pathlib import Path

import pytest

from headwater.capture.storage.files import files
from headwater.capture.storage.listing import Listing
from headwater.errors import InvalidQuestion, NotFound, UnreadableContent


def touch(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("1")


def found(listing: Listing) -> list[str]:
    return sorted(listing.texts)


@pytest.mark.parametrize(
    ("pattern", "names", "means"),
    [
        ("reads/{year}-{month}-{day}.csv", ["2024-03-10.csv", "2024-3-9.csv", "x-03-10.csv", "2024-03-10.csv.tmp"],
         ["2024-03-09", "2024-03-10"]),
        ("reads/{year}{month}{day}{hour}.gz", ["2024031005.gz", "202403105.gz"], ["2024-03-10T05"]),
        ("reads/{period}.parquet", ["2024-W10.parquet", "$(rm -rf).parquet", "_x.parquet", ".y.parquet"],
         ["$(rm -rf)", "2024-W10"]),
        ("reads/{year}/{month}/reads-*-{day}.csv", ["2024/03/reads-fr-10.csv", "2024/03/reads-10.csv", "2024/a/reads-fr-10.csv"],
         ["2024-03-10"]),
        ("reads/{year}/{year}-{month}.csv", ["2024/2024-03.csv", "2024/2023-03.csv"], ["2024-03"]),
        ("reads/{year}-Q{quarter}", ["2024-Q1/part-0", "2024-Q2/_SUCCESS", "2024-Q3/sub/part-0", "2024-Q4"],
         ["2024-Q1", "2024-Q3", "2024-Q4"]),
        ("reads/{year}-W{week}-v[1].csv", ["2024-W9-v[1].csv", "2024-W10-v1.csv"], ["2024-W09"]),
        ("reads/_{period}", ["_2024-03-10", "2024-03-11"], ["2024-03-10"]),
        ("reads/all.csv", ["all.csv", "other.csv"], ["static"]),
    ],
)  # fmt: skip
def test_what_names_mean(tmp_path: Path, pattern: str, names: list[str], means: list[str]) -> None:
    touch(tmp_path / "reads", *names)
    listing = files(f"{tmp_path}/{pattern}")
    assert found(listing) == means
    assert found(files(f"file://{tmp_path}/{pattern}")) == means


def test_what_is_left_out_is_counted(tmp_path: Path) -> None:
    touch(tmp_path, "2024-03-10.csv", "notes.txt", "_SUCCESS")
    (tmp_path / "2024-03-11.csv").mkdir()
    listing = files(f"{tmp_path}/{{period}}.csv")
    assert (found(listing), listing.ignored) == (["2024-03-10"], 3)


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("{day}-{hour}", "month"),
        ("{yaer}", "not a part"),
        ("{year", "brace"),
        ("{year}-{day}", "month"),
        ("/", "no file"),
    ],
)
def test_patterns_that_make_no_sense(tmp_path: Path, pattern: str, why: str) -> None:
    with pytest.raises(InvalidQuestion, match=why):
        files(f"{tmp_path}/{pattern}" if pattern != "/" else "/")


def test_a_folder_that_is_not_there_is_no_loss(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="nothing was compared"):
        files(f"{tmp_path}/raeds/{{period}}.csv")
    touch(tmp_path, "file")
    with pytest.raises(NotFound, match="nothing was compared"):
        files(f"{tmp_path}/file/{{period}}.csv")


def test_names_that_are_no_text(tmp_path: Path) -> None:
    (Path(os.fsdecode(os.fsencode(tmp_path) + b"/2024\xff.csv"))).write_text("1")
    touch(tmp_path, "2024\n-03.csv")
    assert found(files(f"{tmp_path}/{{period}}.csv")) == ["2024\n-03", "2024\udcff"]


def test_links_are_followed_and_broken_ones_are_not_there(tmp_path: Path) -> None:
    touch(tmp_path / "else", "2024-03-10.csv")
    (tmp_path / "reads").mkdir()
    (tmp_path / "reads/2024-03-10.csv").symlink_to(tmp_path / "else/2024-03-10.csv")
    (tmp_path / "reads/2024-03-11.csv").symlink_to(tmp_path / "else/gone.csv")
    assert found(files(f"{tmp_path}/reads/{{period}}.csv")) == ["2024-03-10"]


def test_what_cannot_be_listed_is_no_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    touch(tmp_path, "2024/03.csv", "2023/03.csv")
    real = os.scandir

    def scandir(path: str) -> object:
        if path.endswith("2023"):
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr("headwater.capture.storage.folders.os.scandir", scandir)
    with pytest.raises(UnreadableContent, match="2023 cannot be listed: Permission denied"):
        found(files(f"{tmp_path}/{{year}}/{{month}}.csv"))


def test_object_stores(request: pytest.FixtureRequest) -> None:
    import fsspec

    memory = fsspec.filesystem("memory")
    # The store is the process's, and others use it too.
    request.addfinalizer(lambda: memory.rm("/stored", recursive=True))
    memory.pipe("/stored/reads/2024-03-10.csv", b"1")
    memory.pipe("/stored/reads/2024-03-11/part-0", b"1")
    assert found(files("memory://stored/reads/{period}.csv")) == ["2024-03-10"]
    assert found(files("memory://stored/reads/{year}-{month}-{day}")) == ["2024-03-11"]
    with pytest.raises(NotFound):
        files("memory://stored/raeds/{period}.csv")
