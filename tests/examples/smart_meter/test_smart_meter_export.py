"""The generated export: the same bytes for the same arguments, in the form such files have, with what is wrong with them."""

import csv
import datetime as dt
import gzip
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from meter_export import FAULTY_FILE, REGISTER, Export, write_export

# The night of 3 November has the hour from 01:00 twice.
EXPORT = Export(meters=24, days=20, start=dt.date(2013, 10, 20), files=3)


@pytest.fixture(scope="module")
def delivered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("outgoing")
    write_export(folder, EXPORT)
    return folder


def lines(file: Path) -> list[list[str]]:
    with gzip.open(file, "rt") as stream:
        header, *rows = csv.reader(stream, delimiter=";")
    assert header == ["meter_id", "timestamp", "value_kwh"]
    return rows


def test_the_same_arguments_are_the_same_bytes(delivered: Path, tmp_path: Path) -> None:
    write_export(tmp_path, EXPORT, only={3})
    write_export(tmp_path / "other", Export(24, 20, EXPORT.start, seed=7, files=3), only={3})
    whole = (delivered / EXPORT.name(3)).read_bytes()
    assert (tmp_path / EXPORT.name(3)).read_bytes() == whole
    assert (tmp_path / "other" / EXPORT.name(3)).read_bytes() != whole


def test_every_meter_is_in_its_file_and_in_the_register(delivered: Path) -> None:
    with (delivered / REGISTER).open() as stream:
        register = {row["meter_id"]: row for row in csv.DictReader(stream, delimiter=";")}
    assert len(register) == 24
    assert {row["kind"] for row in register.values()} >= {"household", "solar"}
    assert max(Counter(row["delivery_point"] for row in register.values()).values()) == 2
    found = {file: {row[0] for row in lines(delivered / EXPORT.name(file))} for file in (1, 2, 3)}
    assert set().union(*found.values()) == register.keys()
    assert sum(map(len, found.values())) == 24
    assert {register[meter]["kind"] for meter in found[3]} <= {"solar", "heat pump"}
    assert all((row["sign"] == "-1") == (row["kind"] == "solar") for row in register.values())


def test_what_is_wrong_with_the_lines(delivered: Path) -> None:
    times: dict[str, list[str]] = defaultdict(list)
    empty = 0
    for file in (1, 2, 3):
        for meter, moment, value in lines(delivered / EXPORT.name(file)):
            times[meter].append(moment)
            empty += value == ""
            assert value == "" or 0 <= float(value) < 1000
    counts = Counter(time for own in times.values() for time in own)
    assert sum(counts.values()) != EXPORT.readings, "lines are missing, some come twice"
    repeated = Counter((meter, time) for meter, own in times.items() for time in own)
    night = {time for (_, time), often in repeated.items() if often == 2 and time.startswith("2013-11-03 01:")}
    assert night == {f"2013-11-03 01:{minute}" for minute in ("00", "15", "30", "45")}
    assert {often for (_, time), often in repeated.items() if time not in night} == {1, 2}
    assert max(repeated.values()) == 2
    assert empty > 0


def test_a_corrected_file_is_the_file_without_fault_and_gaps(delivered: Path, tmp_path: Path) -> None:
    write_export(tmp_path, EXPORT, only={FAULTY_FILE}, corrected=True)
    assert [path.name for path in sorted(tmp_path.glob("*.gz"))] == [EXPORT.name(FAULTY_FILE)]
    before = lines(delivered / EXPORT.name(FAULTY_FILE))
    after = lines(tmp_path / EXPORT.name(FAULTY_FILE))
    meters = {row[0] for row in before}
    assert len(after) == len(meters) * len(EXPORT.moments)
    known = defaultdict(list)
    for meter, moment, value in after:
        known[meter, moment].append(float(value))
    wrong = {row[0] for row in before if row[2] and float(row[2]) not in known[row[0], row[1]]}
    assert len(wrong) == 1
    fault = [
        (float(row[2]), known[row[0], row[1]][0])
        for row in before
        if row[0] in wrong and row[1] >= "2013-11-06 00:00" and row[2]
    ]
    assert all(told == pytest.approx(10 * true) for told, true in fault)
    assert len(fault) > 100


def test_an_export_too_small_for_its_files_is_refused() -> None:
    with pytest.raises(ValueError, match="at least"):
        Export(meters=3, files=4)
