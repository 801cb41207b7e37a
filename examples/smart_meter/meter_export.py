"""A grid operator's export of smart meter readings, generated: the same bytes for the same arguments, at any size.

    python meter_export.py --folder outgoing --meters 1000 --days 360

1,000 meters over 360 days are 34.6 million readings, some 2 GB of CSV. The form is that of the open data of such operators: gzip,
semicolons, one line a meter and quarter of an hour in local time without an offset, so the night the clocks go back has an hour twice,
meters that were out of reach miss lines, and some lines come twice. Main meters are in all files but the last; heat pumps and solar
plants have meters of their own, in the last. `delivery_points.csv` says which meters make a delivery point.

The first delivery has a known fault: one meter of the second file reports ten times too much in its last days. A corrected file
(`corrected=True`) is that file without the fault, and without missing lines.
"""

import argparse
import datetime as dt
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO

import numpy as np
import pandas as pd
from station_weather import STATIONS, ZONE, temperatures

try:
    from isal import igzip as gzip  # several times faster; the content is the same
except ImportError:
    import gzip  # type: ignore[no-redef]

REGISTER = "delivery_points.csv"
FAULTY_FILE = 2
FAULTY_DAYS = 3
HEADER = b"meter_id;timestamp;value_kwh\n"


@dataclass(frozen=True)
class Meter:
    """One meter: `number` is its place in the order, `file` counts from 1, `sign` is -1 where energy comes in from the plant."""

    number: int
    id: str
    point: str
    kind: str
    station: str
    file: int

    @property
    def sign(self) -> int:
        return -1 if self.kind == "solar" else 1


@dataclass(frozen=True)
class Export:
    """The size and the seed of an export. `files` of at least 2: main meters in all but the last."""

    meters: int = 1000
    days: int = 360
    start: dt.date = dt.date(2013, 1, 1)
    seed: int = 20130101
    files: int = 4

    def __post_init__(self) -> None:
        if self.files < 2 or self.meters < 2 * self.files or self.days < 1:
            raise ValueError("an export has at least 2 files, 2 meters a file and 1 day")

    @cached_property
    def moments(self) -> pd.DatetimeIndex:
        """Every quarter of an hour from the first local midnight to the last, in local time."""
        return pd.date_range(
            self.start, self.start + dt.timedelta(days=self.days), freq="15min", tz=ZONE, inclusive="left"
        )

    @cached_property
    def population(self) -> list[Meter]:
        """All meters, in the order of the delivery points they belong to."""
        chance = np.random.default_rng([self.seed, 0])
        main: list[tuple[str, str, str]] = []
        second: list[tuple[str, str, str]] = []
        while len(main) + len(second) < self.meters:
            point = f"DP{len(main) + 1:05}"
            station = STATIONS[int(chance.integers(len(STATIONS)))]
            draw = chance.random()
            main.append((point, "business" if draw > 0.94 else "household", station))
            if draw < 0.25 and len(main) + len(second) < self.meters:
                second.append((point, "heat pump" if draw < 0.12 else "solar", station))
        if not second:
            second.append(main.pop())
        share = -(-len(main) // (self.files - 1))
        placed = [(*one, 1 + place // share) for place, one in enumerate(main)] + [(*one, self.files) for one in second]
        return [
            Meter(number, chance.bytes(16).hex(), point, kind, station, file)
            for number, (point, kind, station, file) in enumerate(placed)
        ]

    @property
    def readings(self) -> int:
        """Return the number of readings without gaps."""
        return self.meters * len(self.moments)

    def name(self, file: int) -> str:
        return f"readings_{file:02}.csv.gz"


class Curves:
    """Energy of each quarter of an hour in Wh, by the kind of meter: the shape of a day, of a week and of the year, and chance."""

    def __init__(self, export: Export) -> None:
        self._seed = export.seed
        moments = export.moments
        self.size = len(moments)
        self._hour = np.asarray(moments.hour + moments.minute / 60, dtype=np.float64)
        self._weekend = np.asarray(moments.dayofweek >= 5)
        self._day = np.asarray(moments.normalize().factorize()[0])
        self._celsius = temperatures(moments)
        season = 2 * np.pi * (np.asarray(moments.dayofyear) - 172) / 365
        # Hours of light at 40.7° north, and where the sun stands in them.
        half = (12.1 + 2.9 * np.cos(season)) / 2
        self._sun = np.clip(np.cos((self._hour - 12.5) / half * np.pi / 2), 0, None) * (
            np.abs(self._hour - 12.5) < half
        )
        self._dark = 1 + 0.25 * (1 - np.cos(season)) / 2
        self._spell = {
            "household": _bumps(self._hour, (7.2, 1.1, 1.0), (12.4, 1.2, 0.6), (19.3, 2.2, 1.7)) + 0.45,
            "weekend": _bumps(self._hour, (9.8, 1.9, 1.1), (13.2, 1.8, 1.0), (19.0, 2.5, 1.5)) + 0.5,
            "business": 0.25 + 1.6 / (1 + np.exp(-(self._hour - 7.5) * 2.5)) / (1 + np.exp((self._hour - 18) * 2)),
        }

    def draw(self, meter: Meter) -> np.ndarray:
        """The meter's readings. They depend on the seed and the number alone."""
        chance = np.random.default_rng([self._seed, 1, meter.number])
        celsius = self._celsius[meter.station]
        noise = chance.gamma(4.0, 0.25, self.size)
        scale = chance.lognormal(0, 0.35)
        if meter.kind == "solar":
            clouds = chance.beta(2.2, 1.3, self._day[-1] + 1)[self._day]
            watt_hours = 1400 * scale * self._sun * clouds * (0.85 + 0.15 * noise)
        elif meter.kind == "heat pump":
            watt_hours = scale * (8 + 32 * np.clip(16 - celsius, 0, None)) * noise
        elif meter.kind == "business":
            watt_hours = 900 * scale * np.where(self._weekend, 0.3, self._spell["business"]) * (0.7 + 0.3 * noise)
            watt_hours += 25 * scale * np.clip(celsius - 20, 0, None)
        else:
            shape = np.where(self._weekend, self._spell["weekend"], self._spell["household"])
            watt_hours = 85 * scale * shape * self._dark * noise + 9 * scale * np.clip(celsius - 22, 0, None)
        return np.minimum(np.rint(watt_hours), 99_000).astype(np.int64)


def _bumps(hour: np.ndarray, *peaks: tuple[float, float, float]) -> np.ndarray:
    return np.sum([height * np.exp(-0.5 * ((hour - at) / width) ** 2) for at, width, height in peaks], axis=0)


class Lines:
    """Readings as the lines of the file: a table of bytes for all moments, without the missing ones."""

    def __init__(self, export: Export) -> None:
        clock = export.moments.strftime("%Y-%m-%d %H:%M").to_numpy().astype("S16")
        self._clock = np.frombuffer(clock.tobytes(), np.uint8).reshape(len(clock), 16)
        wall = pd.Series(export.moments.tz_localize(None))
        # A local hour that occurs twice has no duplicate line: it would look like the other hour.
        self._once = ~wall.duplicated(keep=False).to_numpy()
        self._seed = export.seed

    def made(self, meter: Meter, watt_hours: np.ndarray, *, whole: bool) -> bytes:
        """The meter's lines. Unless `whole`, some are missing, some are empty and some come twice."""
        size = len(watt_hours)
        table = np.empty((size, 58), np.uint8)
        table[:, :32] = np.frombuffer(meter.id.encode(), np.uint8)
        table[:, [32, 49]] = ord(";")
        table[:, 33:49] = self._clock
        for place, unit in enumerate((100_000, 10_000, 1000, 0, 100, 10, 1)):
            table[:, 50 + place] = ord("0") + watt_hours // unit % 10 if unit else ord(".")
        table[:, 57] = ord("\n")
        shown = np.ones((size, 58), bool)
        shown[:, 50] = watt_hours >= 100_000
        shown[:, 51] = watt_hours >= 10_000
        if whole:
            return table[shown].tobytes()
        chance = np.random.default_rng([self._seed, 2, meter.number])
        times = np.ones(size, np.int64)
        for begin in chance.integers(0, size, chance.poisson(1 + size / 5000)):
            times[begin : begin + int(chance.geometric(0.08))] = 0
        shown[chance.integers(0, size, chance.poisson(size / 4000)), 50:57] = False
        again = chance.integers(0, size, chance.poisson(size / 8000))
        times[again[self._once[again] & (times[again] == 1)]] = 2
        rows = np.repeat(np.arange(size), times)
        return table[rows][shown[rows]].tobytes()


def write_export(
    folder: Path,
    export: Export,
    *,
    only: set[int] | None = None,
    corrected: bool = False,
    progress: Callable[[int], object] = lambda readings: None,
) -> list[Path]:
    """Write the files (those of `only`, counted from 1) and the register; returns the files. `progress` hears of readings as they are made."""
    folder.mkdir(parents=True, exist_ok=True)
    write_register(folder / REGISTER, export)
    curves, lines, lock = Curves(export), Lines(export), threading.Lock()

    def write(file: int) -> Path:
        own = [meter for meter in export.population if meter.file == file]
        target = folder / export.name(file)
        partial = target.with_name(f".{target.name}.partial")
        with partial.open("wb") as raw, _compressed(raw) as stream:
            stream.write(HEADER)
            for place, meter in enumerate(own):
                watt_hours = curves.draw(meter)
                if file == FAULTY_FILE and place == 0 and not corrected:
                    watt_hours[-FAULTY_DAYS * 96 :] *= 10
                stream.write(lines.made(meter, watt_hours, whole=corrected))
                with lock:
                    progress(curves.size)
        partial.replace(target)
        return target

    # Threads do: numpy and the compressor work without the interpreter's lock.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(write, sorted(only or range(1, export.files + 1))))


def _compressed(raw: IO[bytes]) -> IO[bytes]:
    # No name and no time in the header: the same export is the same file.
    return gzip.GzipFile(filename="", mode="wb", compresslevel=1, fileobj=raw, mtime=0)  # type: ignore[return-value]


def write_register(target: Path, export: Export) -> None:
    """Write the meters of each delivery point, its station, and the sign of each."""
    rows = [f"{m.id};{m.point};{m.station};{m.kind};{m.sign}" for m in export.population]
    target.write_text("\n".join(["meter_id;delivery_point;station;kind;sign", *rows, ""]), encoding="utf-8")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Write a generated export of smart meter readings.")
    parser.add_argument("--folder", type=Path, required=True)
    add_size(parser)
    arguments = parser.parse_args(argv)
    generate(arguments.folder, size(arguments))


def add_size(parser: argparse.ArgumentParser) -> None:
    """The arguments that say how large an export is."""
    parser.add_argument("--meters", type=int, default=Export.meters)
    parser.add_argument("--days", type=int, default=Export.days)
    parser.add_argument("--start", type=dt.date.fromisoformat, default=Export.start, help="a day of 2013, ISO")
    parser.add_argument("--for", dest="day", default="", help="end before this day, ISO, whatever the start")
    parser.add_argument("--files", type=int, default=Export.files)
    parser.add_argument("--seed", type=int, default=Export.seed)


def size(arguments: argparse.Namespace) -> Export:
    end = dt.date.fromisoformat(arguments.day) if arguments.day else None
    start = end - dt.timedelta(days=arguments.days) if end else arguments.start
    return Export(arguments.meters, arguments.days, start, arguments.seed, arguments.files)


def generate(folder: Path, export: Export, **which: object) -> list[Path]:
    """`write_export` with a bar on the terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("readings", total=None if which else export.readings)
        return write_export(folder, export, progress=lambda made: bar.advance(task, made), **which)  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
