"""One import: what lies at the grid operator's becomes forecasts, and every one of them can be traced back to its files.

The work is done in bulk by Spark. What came from what is told item by item: lineage goes through runs, so one run that read all series and
wrote all delivery points would say that each came from all. Each delivery point, each forecast and each published file is therefore
a step of its own inside the step that did the work; telling one costs microseconds.
"""

import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
from places import Held, Index, Places, read_register

import headwater
from headwater.client.item import Item

VERSION = "1.0.0"
NAMESPACE = "smart-meter"


@dataclass
class Imported:
    """What one import did; `skipped` are files whose content had been imported before."""

    split: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    series: int = 0
    points: int = 0
    published: dict[str, str] = field(default_factory=dict)  # delivery point → the item's id


@dataclass
class Import:
    """`session` lends the Spark session to the step around; nobody asks for it before there is something to do. `forced`: files to
    import although they are known.
    """

    places: Places
    weather_source: Path
    session: Callable[[], AbstractContextManager[Any]]
    forced: frozenset[str] = frozenset()

    def run(self) -> Imported:
        with self._step("import") as step:
            done = self._run(step.id)
            for field, value in vars(done).items():
                step.detail(field, value)
        return done

    def _run(self, run: str) -> Imported:
        done, index = Imported(), Index.load(self.places.data / "items.json")
        register_item = self._download("register", self.places.outgoing / "delivery_points.csv")
        register = read_register(self.places.inbox / "delivery_points.csv")
        self._weather(index)
        meters: set[str] = set()
        for source in sorted(self.places.outgoing.glob("readings_*.csv.gz")):
            item = self._download("readings", source)
            if self._split(self.places.inbox / source.name, item, index, run, meters):
                done.split.append(source.name)
            else:
                done.skipped.append(source.name)
        if meters:
            names = register[register["meter_id"].isin(meters)]["delivery_point"].unique()
            affected = register[register["delivery_point"].isin(names)]
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
            partial = target.with_name(f".{target.name}.partial")
            shutil.copyfile(source, partial)
            partial.replace(target)
            return step.output(target, fingerprint=True)

    def _split(self, file: Path, item: Item, index: Index, run: str, meters: set[str]) -> bool:
        """The file's time series, one item each. False when its content was imported before."""
        with self._step("split") as step:
            if self._known(step, item, file, index, forced=file.name in self.forced):
                return False
            import series

            with self.session() as spark:
                made = series.split(spark, file, self.places.series / f"import={step.id}")
            index.of("series").update({meter: Held(step.output(folder), folder) for meter, folder in made.items()})
            meters.update(made)
            step.detail("series", len(made))
        return True

    def _known(self, step: Any, item: Item, file: Path, index: Index, *, forced: bool = False) -> bool:
        """Whether there is nothing to do: the content has been imported, and what was made of it is here."""
        held = index.of(f"imported by {step.name}")
        known = step.once(item, force=forced) is not None
        if known and item.fingerprint in held:
            return True
        if known:  # imported, but into a folder that is no more: made again, and on record as forced
            step.once(item, force=True)
        held[str(item.fingerprint)] = Held(item, file)
        return False

    def _weather(self, index: Index) -> None:
        """Stations' reports by the hour, one item a station; read again only when the provider's file has changed."""
        item, file = self._download("weather", self.weather_source), self.places.inbox / self.weather_source.name
        with self._step("hourly-weather") as step:
            if self._known(step, item, file, index):
                return
            from station_weather import hourly

            for station, rows in hourly(file).groupby("station"):
                target = self.places.weather / f"station={station}" / "hourly.parquet"
                target.parent.mkdir(parents=True, exist_ok=True)
                # An instant without its zone: the session's is UTC.
                rows.drop(columns="station").assign(hour=rows["hour"].dt.tz_localize(None).astype("datetime64[us]")).to_parquet(target)
                index.of("weather")[str(station)] = Held(step.output(target, fingerprint=True), target)

    def _sum(self, register: pd.DataFrame, register_item: Item, index: Index, run: str) -> None:
        import points

        held = index.of("series")
        own = register[register["meter_id"].isin(held.keys())]
        with self._step("delivery-points"):
            paths = [str(held[meter].path) for meter in own["meter_id"]]
            with self.session() as spark:
                made = points.aggregate(spark, paths, self.places.series, own, self.places.points / f"import={run}")
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
            with self.session() as spark:
                made = forecasting.forecast(
                    spark, paths, self.places.points, register, self.places.weather, folder
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
                partial = target.with_name(f".{target.name}.partial")
                rows.assign(item=one.item.id).to_parquet(partial, index=False)
                partial.replace(target)
                published[point] = Held(step.output(target, fingerprint=True), target)
        return {point: str(published[point].item) for point in names}
