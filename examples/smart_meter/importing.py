"""One import: the grid operator's files become forecasts, each of which can be traced back to its files.

Spark does the work in bulk. The lineage is reported item by item, because lineage goes through runs: if one run read all series and
wrote all delivery points, each would come from all. Each delivery point, each forecast and each published file is therefore
a step of its own inside the step that did the work; reporting one costs microseconds.
"""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from meter_export import REGISTER
from places import Held, Index, Places, read_register

import headwater
from headwater.client.item import Item

VERSION = "1.0.0"
NAMESPACE = "smart-meter"


@dataclass
class Imported:
    """The result of one import; `skipped` are files whose content had been imported before."""

    split: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    series: int = 0
    points: int = 0
    published: dict[str, str] = field(default_factory=dict)  # delivery point → the item's id


@dataclass
class Import:
    """`session` returns the Spark session, and is called only when there is work. `forced`: known files to import again."""

    places: Places
    weather_source: Path
    session: Callable[[], Any]
    forced: frozenset[str] = frozenset()

    def run(self) -> Imported:
        with self._step("import") as step:
            done = self._run(step.id)
            for field, value in vars(done).items():
                step.detail(field, value)
        return done

    def _run(self, run: str) -> Imported:
        done, index = Imported(), Index.load(self.places.data / "items.json")
        register_item, register = (
            self._download("register", self.places.outgoing / REGISTER),
            self.places.inbox / REGISTER,
        )
        weather, reports = self._download("weather", self.weather_source), self.places.inbox / self.weather_source.name
        files = index.of("files")
        self._anew(files, weather, reports, partial(self._weather, reports, weather, index))
        meters: set[str] = set()
        for source in sorted(self.places.outgoing.glob("readings_*.csv.gz")):
            item, file = self._download("readings", source), self.places.inbox / source.name
            new = self._anew(files, item, file, partial(self._split, file, item, index, meters))
            (done.split if new else done.skipped).append(source.name)
        if meters:
            known = read_register(register)
            names = known[known["meter_id"].isin(meters)]["delivery_point"].unique()
            affected = known[known["delivery_point"].isin(names)]
            self._sum(affected, register_item, index, run)
            self._forecast(affected, index, run)
            done.published = self._load(sorted(names), index)
            done.series, done.points = len(meters), len(names)
        index.save()
        return done

    def _step(self, name: str, **more: Any) -> Any:
        return headwater.step(name, namespace=NAMESPACE, version=VERSION, **more)

    def _download(self, what: str, source: Path) -> Item:
        """Copy a file from the other side; it is there whole or not at all."""
        self.places.inbox.mkdir(exist_ok=True)
        target = self.places.inbox / source.name
        with self._step(f"download-{what}") as step:
            step.input(source, fingerprint=True)
            arriving = target.with_name(f".{target.name}.partial")
            shutil.copyfile(source, arriving)
            arriving.replace(target)
            return step.output(target, fingerprint=True)

    def _anew(self, held: dict[str, Held], item: Item, file: Path, work: Callable[[bool], bool]) -> bool:
        """Do the work unless its content was imported before; return whether it was done. A file imported elsewhere (the data folder is another,
        or its import ended halfway) is imported here too, which is on record as forced.
        """
        if not work(file.name in self.forced) and (item.fingerprint in held or not work(True)):
            return False
        held[str(item.fingerprint)] = Held(item, file)
        return True

    def _split(self, file: Path, item: Item, index: Index, meters: set[str], force: bool) -> bool:
        """The file's time series, one item each. False when its content was imported before."""
        with self._step("split", force=force) as step:
            if step.once(item):
                return False
            import series

            made = series.split(self.session(), file, self.places.series / f"import={step.id}")
            index.of("series").update({meter: Held(step.output(folder), folder) for meter, folder in made.items()})
            meters.update(made)
            step.detail("series", len(made))
        return True

    def _weather(self, file: Path, item: Item, index: Index, force: bool) -> bool:
        """Stations' reports by the hour, one item a station. False when the provider's file was imported before."""
        with self._step("hourly-weather", force=force) as step:
            if step.once(item):
                return False
            from station_weather import hourly

            for station, rows in hourly(file).groupby("station"):
                target = self.places.weather / f"station={station}" / "hourly.parquet"
                target.parent.mkdir(parents=True, exist_ok=True)
                # An instant without its zone: the session's is UTC.
                hours = rows["hour"].dt.tz_localize(None).astype("datetime64[us]")
                rows.drop(columns="station").assign(hour=hours).to_parquet(target)
                index.of("weather")[str(station)] = Held(step.output(target, fingerprint=True), target)
        return True

    def _sum(self, register: pd.DataFrame, register_item: Item, index: Index, run: str) -> None:
        import points

        held = index.of("series")
        own = register[register["meter_id"].isin(held.keys())]
        with self._step("delivery-points"):
            paths = [str(held[meter].path) for meter in own["meter_id"]]
            made = points.aggregate(
                self.session(), paths, self.places.series, own, self.places.points / f"import={run}"
            )
            for point, rows in own.groupby("delivery_point"):
                folder, inputs = made[str(point)], [register_item, *(held[meter].item for meter in rows["meter_id"])]
                with self._step("delivery-point", inputs=inputs) as step:
                    index.of("points")[str(point)] = Held(step.output(folder), folder)

    def _forecast(self, register: pd.DataFrame, index: Index, run: str) -> None:
        import forecasting

        held, weather = index.of("points"), index.of("weather")
        stations = register.groupby("delivery_point")["station"].first().to_dict()
        with self._step("forecasts"):
            paths = [str(held[point].path) for point in stations]
            folder = self.places.forecasts / f"import={run}"
            made = forecasting.forecast(
                self.session(), paths, self.places.points, register, self.places.weather, folder
            )
            for point, station in stations.items():
                with self._step("forecast", inputs=[held[point].item, weather[station].item]) as step:
                    index.of("forecasts")[point] = Held(step.output(made[point]), made[point])

    def _load(self, names: list[str], index: Index) -> dict[str, str]:
        """Publish each forecast as one file whose rows carry the id of the item they are."""
        held, published = index.of("forecasts"), index.of("published")
        for point in names:
            one = held[point]
            with self._step("load", inputs=[one.item]) as step:
                rows = pd.read_parquet(one.path).sort_values("quarter", ignore_index=True)
                target = self.places.warehouse / f"delivery_point={point}" / "forecast.parquet"
                target.parent.mkdir(parents=True, exist_ok=True)
                writing = target.with_name(f".{target.name}.partial")
                rows.assign(item=one.item.id).to_parquet(writing, index=False)
                writing.replace(target)
                published[point] = Held(step.output(target, fingerprint=True), target)
        return {point: str(published[point].item) for point in names}
