"""The whole flow with a server, and without: what is imported once, what is made anew, and that every forecast leads to exactly its files.

The origin of each forecast is worked out here, from the files alone: which meters a delivery point has, which file a meter is in, and what
`xxhash` says of that file's content.
"""

import csv
import datetime as dt
import gzip
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import xxhash
from meter_export import FAULTY_FILE, REGISTER, Export, write_export
from station_weather import station_file
from tests.fixtures.machine import HEADWATER, Machine
from tests.fixtures.processes import free_port

from headwater.client.ask import ask

ROOT = Path(__file__).parents[3]
FLOW = ROOT / "examples/smart_meter/flow.py"
EXPORT = Export(meters=20, days=16, start=dt.date(2013, 10, 20), files=3)
SIZE = ["--meters", "20", "--days", "16", "--start", "2013-10-20", "--files", "3"]
DAY = "2013-11-05"
"""The one after the export's last."""
READINGS = [EXPORT.name(file) for file in (1, 2, 3)]
pytestmark = pytest.mark.spark


def content(file: Path) -> str:
    """The fingerprint, by other means than Headwater's."""
    data = file.read_bytes()
    return "xxh3-128:" + xxhash.xxh3_128_hexdigest(gzip.decompress(data) if file.suffix == ".gz" else data)


class Truth:
    """The operator's files after a stage, and the content that each delivery point's forecast is made of then."""

    def __init__(self, folder: Path, *, corrected: bool) -> None:
        write_export(folder, EXPORT)
        if corrected:
            write_export(folder, EXPORT, only={FAULTY_FILE}, corrected=True)
        with (folder / REGISTER).open() as stream:
            self.point = {row["meter_id"]: row["delivery_point"] for row in csv.DictReader(stream, delimiter=";")}
        self.fingerprints = {name: content(folder / name) for name in READINGS}
        self.always = {content(folder / REGISTER), content(station_file())}
        self.meters: dict[str, set[str]] = {}
        for name in READINGS:
            with gzip.open(folder / name, "rt") as stream:
                self.meters[name] = {line.split(";", 1)[0] for line in stream} - {"meter_id"}

    def points(self, *names: str) -> set[str]:
        """Delivery points with a meter in these files."""
        return {self.point[meter] for name in names for meter in self.meters[name]}

    def files_of(self, point: str) -> set[str]:
        return self.always | {self.fingerprints[name] for name in READINGS if point in self.points(name)}


class Flow(Machine):
    """A data folder, a home for the client, and a server that may be up."""

    told: dict[str, Any]

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self.data = home / "data"
        self.env |= {
            "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_SUBMIT_ARGS": "--master local[2] --conf spark.ui.showConsoleProgress=false --driver-java-options "
            "'-XX:TieredStopAtLevel=1 -XX:+UseSerialGC' pyspark-shell",
        }

    def flow(self, *arguments: str) -> None:
        self.make(sys.executable, str(FLOW), "--data", str(self.data), "--json", *SIZE, *arguments)

    def package(self) -> None:
        """Make the forecast of a day as a package does, by its schedule."""
        applied = self.run("entities", "apply", str(FLOW.parent))
        assert applied.returncode == 0, applied.stderr
        sizes = [f"--param={name}={value}" for name, value in (("data", self.data), ("meters", 20), ("days", 16))]
        words = [
            "run",
            str(FLOW.parent),
            "--period",
            DAY,
            "--master",
            "local[2]",
            *sizes,
            "--",
            "--files",
            "3",
            "--json",
        ]
        self.make(*HEADWATER, *words)

    def make(self, *command: str) -> None:
        done = subprocess.run(command, env=self.env, capture_output=True, text=True, timeout=600, check=False)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-5000:]
        self.told = json.loads(done.stdout.splitlines()[-1])

    def drain(self) -> None:
        """Deliver what the flow's process left behind."""
        done = self.run("spool", "drain", "--url", self.url)
        assert done.returncode == 0, done.stdout + done.stderr

    def get(self, path: str, **question: Any) -> Any:
        return json.loads(ask(self.url, path, question, timeout=30))

    def files_of(self, item: str) -> set[str]:
        """Contents of files from outside that an item leads up to."""
        answer = self.get(f"/api/v2/correlation/{item}", direction="ancestors", depth="all")
        assert answer["hidden"]["count"] == 0
        return {node["fingerprint"] for node in answer["nodes"] if node["kind"] == "CONTENT" and self.outside(node)}

    def outside(self, node: dict[str, Any]) -> bool:
        return any(str(folder) in node["dataset"] for folder in (self.data / "outgoing", station_file().parent))


@pytest.fixture(scope="module")
def flow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flow]:
    """All four stages with a server that is up."""
    made = Flow(tmp_path_factory.mktemp("smart-meter"))
    made.up()
    made.package()
    made.drain()
    yield made
    made.run("down")


@pytest.fixture(scope="module")
def truth(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Truth]:
    first = Truth(tmp_path_factory.mktemp("first"), corrected=False)
    corrected = Truth(tmp_path_factory.mktemp("corrected"), corrected=True)
    return {"first": first, "corrected": corrected, "forced": corrected}


def test_the_second_import_finds_nothing_to_do(flow: Flow, truth: dict[str, Truth]) -> None:
    assert (flow.told["first"]["split"], flow.told["first"]["skipped"]) == (READINGS, [])
    assert set(flow.told["first"]["published"]) == truth["first"].points(*READINGS)
    assert flow.told["again"] == {"split": [], "skipped": READINGS, "series": 0, "points": 0, "published": {}}
    for name in (READINGS[1], READINGS[2]):
        told = flow.get(
            "/api/v2/imports", fingerprint=truth["first"].fingerprints[name], namespace="smart-meter", job="split"
        )
        assert [(run["state"], run["forced"]) for run in told["runs"]] == [("COMPLETED", False)], "it was imported once"


def test_the_day_has_its_forecast(flow: Flow) -> None:
    shown = flow.run("status", f"forecasts@{DAY}").stdout
    assert "yes: it may be used" in shown
    assert f"forecasts, every day, America/New_York; latest {DAY}" in flow.run("datasets", "warehouse/forecasts").stdout


def test_a_corrected_file_renews_what_it_feeds_and_nothing_else(flow: Flow, truth: dict[str, Truth]) -> None:
    told, wrong = flow.told["corrected"], READINGS[FAULTY_FILE - 1]
    assert truth["first"].fingerprints[wrong] != truth["corrected"].fingerprints[wrong]
    assert told["split"] == [wrong]
    assert told["series"] == len(truth["corrected"].meters[wrong])
    assert set(told["published"]) == truth["corrected"].points(wrong)
    assert not set(told["published"].values()) & set(flow.told["first"]["published"].values())


def test_a_forced_import_is_on_record_with_what_it_overrides(flow: Flow, truth: dict[str, Truth]) -> None:
    told = flow.told["forced"]
    assert told["split"] == [READINGS[0]]
    assert set(told["published"]) == truth["forced"].points(READINGS[0])
    runs = flow.get(
        "/api/v2/imports", fingerprint=truth["forced"].fingerprints[READINGS[0]], namespace="smart-meter", job="split"
    )["runs"]
    assert [run["forced"] for run in runs] == [True, False], "the newest first"


def test_every_forecast_leads_to_exactly_its_files(flow: Flow, truth: dict[str, Truth]) -> None:
    traced = 0
    for stage, known in truth.items():
        for point, item in flow.told[stage]["published"].items():
            assert flow.files_of(item) == known.files_of(point), (stage, point)
            traced += 1
    assert traced > len(truth["first"].points(*READINGS)) > 10
    assert {len(known.files_of(point)) for known in truth.values() for point in known.points(*READINGS)} == {3, 4}


def test_a_forecast_was_made_by_exactly_its_steps(flow: Flow, truth: dict[str, Truth]) -> None:
    """The steps are the splits, sums and forecasts of this delivery point alone, and both splits of two meters that are in two files."""
    for point, item in flow.told["corrected"]["published"].items():
        known = truth["corrected"]
        nodes = flow.get(f"/api/v2/correlation/{item}", direction="ancestors", depth="all")["nodes"]
        made = Counter(node["process"] for node in nodes if node["kind"] == "RUN")
        files = sum(point in known.points(name) for name in READINGS)
        del made["download-readings"], made["download-register"], made["download-weather"]
        assert made == {"split": files, "delivery-point": 1, "hourly-weather": 1, "forecast": 1, "load": 1}, point
        forced = {node["forced"] for node in nodes if node["process"] == "split"}
        assert forced == {False}


def test_a_published_file_leads_to_its_forecast(flow: Flow, truth: dict[str, Truth]) -> None:
    """`headwater trace FILE`: its rows carry the id of the item they are."""
    point = sorted(flow.told["first"]["published"])[0]
    file = flow.data / f"warehouse/forecasts/delivery_point={point}/forecast.parquet"
    done = flow.run("trace", str(file), "--up", "--depth", "all", "--format", "json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    nodes = {node["id"]: node for node in answer["nodes"]}
    (carried,) = pd.read_parquet(file)["item"].unique()
    assert [nodes[e["parent"]]["process"] for e in answer["edges"] if e["child"] == carried] == ["forecast"]
    reached = {node["fingerprint"] for node in nodes.values() if node["kind"] == "CONTENT" and flow.outside(node)}
    assert reached == truth["forced"].files_of(point)


def test_a_file_leads_down_to_every_forecast_made_of_it(flow: Flow, truth: dict[str, Truth]) -> None:
    wrong = READINGS[FAULTY_FILE - 1]
    answer = flow.get(
        f"/api/v2/correlation/{truth['first'].fingerprints[wrong]}",
        direction="descendants",
        depth="all",
        max_nodes=10_000,
    )
    below = {node["id"] for node in answer["nodes"]}
    fed = {item for point, item in flow.told["first"]["published"].items() if point in truth["first"].points(wrong)}
    others = {item for stage in flow.told.values() for item in stage["published"].values()} - fed
    assert fed <= below
    assert not others & below


def test_sparks_queries_are_children_of_the_step_they_ran_in(flow: Flow) -> None:
    runs = flow.get("/api/v2/runs", limit=1000)["runs"]
    inside = Counter((short(run["job"]), short(run["parent"]["job"])) for run in runs if run["parent"])
    assert inside["import", "flow"] == 4
    # Three imports had something to do, and the first had three files.
    assert (inside["split", "import"], inside["split.series", "split"]) == (12, 5)
    assert (inside["delivery-points", "import"], inside["delivery-points.points", "delivery-points"]) == (3, 3)
    assert (inside["forecasts", "import"], inside["forecasts.forecasts", "forecasts"]) == (3, 3)
    assert {run["effective_state"] for run in runs} == {"COMPLETED"}


@pytest.mark.soak
def test_without_a_server_the_flow_is_the_same_and_is_reported_later(
    flow: Flow, truth: dict[str, Truth], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Neither server nor broker answers: the same forecasts. Once the server is there, `drain` tells it what it missed."""
    alone = Flow(tmp_path_factory.mktemp("alone"))
    alone.env["HEADWATER_URL"] = f"{alone.url},amqp://guest:guest@127.0.0.1:{free_port()}/?queue=headwater.events"
    alone.flow("--stages", "first", "again")
    assert set(alone.told["first"]["published"]) == set(flow.told["first"]["published"])
    assert alone.told["again"] == flow.told["again"], "this machine remembers what it imported"
    alone.up()
    try:
        assert alone.get("/api/v2/runs")["total"] == 0
        alone.drain()
        first, again = (stages_of(one, ("first", "again")) for one in (flow, alone))
        assert first == again
        for point, item in alone.told["first"]["published"].items():
            assert alone.files_of(item) == truth["first"].files_of(point), point
    finally:
        alone.run("down")


def short(job: str) -> str:
    return job.removeprefix("job:smart-meter:")


def stages_of(flow: Flow, stages: tuple[str, ...]) -> Counter[tuple[str, str, int, int]]:
    """Runs below the imports of these first stages: job, state, inputs and outputs."""
    runs = flow.get("/api/v2/runs", limit=1000)["runs"]
    imports = sorted((run["started_at"], run["id"]) for run in runs if short(run["job"]) == "import")[: len(stages)]
    inside = {run for _, run in imports}
    while more := {run["id"] for run in runs if run["parent"] and run["parent"]["run_id"] in inside} - inside:
        inside |= more
    return Counter(
        (short(run["job"]), run["effective_state"], *ends(flow, run["id"])) for run in runs if run["id"] in inside
    )


def ends(flow: Flow, run: str) -> tuple[int, int]:
    detail = flow.get(f"/api/v2/runs/{run}")
    return len(detail["inputs"]), len(detail["outputs"])
