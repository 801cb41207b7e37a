"""`headwater entities infer` against a real server: printed, written to files that check, never over what is there."""

import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from tests.events import dataset, facet, run_event


class Terminal:
    def __init__(self, url: str) -> None:
        self._url = url

    def __call__(self, *words: str, code: int = 0) -> str:
        environment = os.environ | {"HEADWATER_URL": self._url, "COLUMNS": "200"}
        environment.pop("HEADWATER_API_KEY", None)
        done = subprocess.run(
            [sys.executable, "-m", "headwater", "entities", *words],
            env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == code, (done.stdout, done.stderr)
        return done.stdout + done.stderr


def nominal(day: int) -> dict[str, Any]:
    start, end = (f"2024-01-{each:02}T00:00:00Z" for each in (day, day + 1))
    return {"nominalTime": facet(nominalStartTime=start, nominalEndTime=end)}


@pytest.fixture
def infer(server_url: str) -> Terminal:
    """Nine days of two tables, and one that was made once."""
    events = [run_event("COMPLETE", 99, "once", [], [dataset("/data/list")])]
    for day in range(1, 10):
        at = f"2024-01-{day + 1:02}T00:00:00Z"
        reads, report = dataset("/data/reads"), dataset("/data/report")
        events.append(run_event("COMPLETE", day, "load", [], [reads], at=at, run_facets=nominal(day)))
        events.append(run_event("COMPLETE", 20 + day, "make", [reads], [report], at=at, run_facets=nominal(day)))
    request = urllib.request.Request(f"{server_url}/api/v1/lineage/batch", json.dumps(events).encode())
    with urllib.request.urlopen(request, timeout=10) as reply:
        assert reply.status == 200
    return Terminal(server_url)


def test_printed_written_and_checked(infer: Terminal, tmp_path: Path) -> None:
    printed = infer("infer", "--namespace", "file")
    reads = (
        "entity: reads\n# from 9 nominal intervals, all of one day; confidence high\nperiod: {every: day, from: 2024-01-01}\n"
        "produced_by: [test/load]\nstored_in: [file /data/reads]\n"
    )
    assert printed == (
        f"{reads}---\nentity: report\n# from 9 nominal intervals, all of one day; confidence high\n"
        "period: {every: day, from: 2024-01-01}\nproduced_by: [test/make]\nstored_in: [file /data/report]\n"
        "depends_on:\n  - reads  # nothing says which were read\n"
        "# skipped dataset:file:/data/list: only jobs that are left out write it\n"
        "# left out job:test:once: ran once; writes dataset:file:/data/list\n"
        "# drafts: 2, skipped: 1, already declared: 0\n"
    )
    (tmp_path / "all.yaml").write_text(printed)
    assert "2 entities, 1 dependency, 0 warnings" in infer("check", str(tmp_path / "all.yaml"))
    assert "entity: report" not in infer("infer", "--dataset", "data/reads", "--depth", "0")
    assert "drafts: 0, skipped: 1, already declared: 0, not examined: 2 more" in infer("infer", "--limit", "1")

    folder = tmp_path / "entities"
    infer("infer", "--out", str(folder))
    assert sorted(path.name for path in folder.iterdir()) == ["reads.yaml", "report.yaml"]
    assert (folder / "reads.yaml").read_text() == reads
    (folder / "reads.yaml").write_text("mine")
    (folder / "report.yaml").unlink()
    assert "reads.yaml exists already" in infer("infer", "--out", str(folder), code=2)
    assert [path.read_text() for path in folder.iterdir()] == ["mine"]
    infer("infer", "--out", str(folder), "--force")
    assert (folder / "reads.yaml").read_text() == reads
    assert "exclude each other" in infer("infer", "--out", str(folder), "--json", code=2)
