"""Folders of partitions, on real files."""

from pathlib import Path

import pytest

from headwater.capture.storage.hive import hive
from headwater.errors import InvalidQuestion, NotFound


def partitions(root: Path, *names: str) -> Path:
    for name in names:
        (root / name).mkdir(parents=True, exist_ok=True)
        (root / name / "part-0.parquet").write_text("1")
    return root


@pytest.mark.parametrize(
    ("columns", "names", "means"),
    [
        (None, ["dt=2024-03-10/hour=05", "dt=2024-03-10/hour=6"], {"2024-03-10T05", "2024-03-10T06"}),
        (None, ["year=2024/month=3/day=9"], {"2024-03-09"}),
        (None, ["day=2024-03-09"], {"2024-03-09"}),
        (None, ["country=fr/dt=2024-03-10", "country=de/dt=2024-03-11"], {"2024-03-10", "2024-03-11"}),
        (None, ["dt=2024-03-10/country=fr", "dt=2024-03-10/country=de"], {"2024-03-10"}),
        (None, ["ds=20240310"], {"20240310"}),
        ("event_date", ["event_date=2024-03-10%2005%3A00%3A00"], {"2024-03-10 05:00:00"}),
        ("dt", ["dt=2024-03-10/hour=05", "dt=2024-03-10/hour=06"], {"2024-03-10"}),
        ("period=d,hour=h", ["d=2024-03-10/h=5"], {"2024-03-10T05"}),
        ("dt", ["dt=__HIVE_DEFAULT_PARTITION__"], {"__HIVE_DEFAULT_PARTITION__"}),
    ],
)
def test_what_partitions_mean(tmp_path: Path, columns: str | None, names: list[str], means: set[str]) -> None:
    assert set(hive(str(partitions(tmp_path, *names)), columns).texts) == means


def test_a_partition_without_data_is_not_there(tmp_path: Path) -> None:
    partitions(tmp_path, "dt=2024-03-10", "dt=2024-03-11/nested")
    (tmp_path / "dt=2024-03-12").mkdir()
    (tmp_path / "dt=2024-03-13/_temporary/0").mkdir(parents=True)
    (tmp_path / "dt=2024-03-13/_temporary/0/part-0.parquet").write_text("1")
    (tmp_path / "dt=2024-03-13/_SUCCESS").write_text("")
    (tmp_path / "_SUCCESS").write_text("")
    listing = hive(str(tmp_path))
    assert set(listing.texts) == {"2024-03-10", "2024-03-11"}
    assert listing.ignored == 3


@pytest.mark.parametrize(("columns", "why"), [(None, "none of the partition columns"), ("dt", "no such partition column"), ("dt=country,period=country", "not a part")])  # fmt: skip
def test_columns_that_are_no_time(tmp_path: Path, columns: str | None, why: str) -> None:
    with pytest.raises(InvalidQuestion, match=why):
        hive(str(partitions(tmp_path, "country=fr")), columns)


def test_no_table(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="nothing was compared"):
        hive(str(tmp_path / "raeds"))
    with pytest.raises(InvalidQuestion, match="there are none"):
        hive(str(tmp_path))
