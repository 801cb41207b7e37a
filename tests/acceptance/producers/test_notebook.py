"""A real notebook, executed cell by cell: lineage is drawn as HTML, and `%headwater` answers as the command line does."""

import json
import os
import subprocess
import urllib.request
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.events import columns, dataset, encoded, run_event, schema

ROOT = Path(__file__).parents[3]
Outputs = list[list[dict[str, Any]]]


@pytest.fixture(scope="module")
def execute(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Outputs]:
    script = subprocess.run([ROOT / "scripts/environment", "notebook"], capture_output=True, text=True, check=True)
    python = script.stdout.strip()
    home = tmp_path_factory.mktemp("home")

    def run(url: str, *cells: str) -> Outputs:
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("HEADWATER_", "OPENLINEAGE_"))
        }
        env = kept | {"PYTHONPATH": str(ROOT / "src"), "HEADWATER_URL": url, "HOME": str(home)}
        done = subprocess.run(
            [python, Path(__file__).parent / "inside_notebook.py"],
            input=json.dumps(cells), env=env, capture_output=True, text=True, timeout=240, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-2000:]
        return json.loads(done.stdout)  # type: ignore[no-any-return]

    return run


def send(url: str, event: dict[str, Any]) -> None:
    request = urllib.request.Request(f"{url}/api/v1/lineage", encoded(event), {"Content-Type": "application/json"})
    urllib.request.urlopen(request, timeout=30).close()


def html(outputs: list[dict[str, Any]]) -> str:
    (result,) = [one for one in outputs if one["output_type"] == "execute_result"]
    return "".join(result["data"]["text/html"])


def test_a_notebook_shows_lineage(server_process: str, execute: Callable[..., Outputs]) -> None:
    fields = columns({"total": [("/nb/orders <b>&", "amount", "DIRECT:AGGREGATION")]})
    inputs = [dataset("/nb/orders <b>&", **schema("amount"))]
    send(
        server_process,
        run_event(
            "COMPLETE",
            "0199c0de-0000-7000-8000-0000000000b1",
            "sum_orders",
            inputs,
            [dataset("/nb/sums", **schema("total"), **fields)],
        ),
    )
    send(
        server_process,
        run_event("FAIL", "0199c0de-0000-7000-8000-0000000000b2", "report_sums", ["/nb/sums"], ["/nb/report.html"]),
    )
    cells = execute(
        server_process,
        "import headwater",
        "%load_ext headwater",
        "headwater.lineage('/nb/sums', columns=True)",
        "%headwater lineage /nb/report.html --upstream",
        "%headwater lineage /nb/nothing",
        "%headwater lineage",
        "%headwater runs sum_orders",
        "found = %headwater lineage /nb/sums --downstream --depth 1\nsorted(node['id'] for node in found.nodes)",
    )
    assert cells[0] == cells[1] == []
    drawn = html(cells[2])
    svg = ET.fromstring(drawn[drawn.index("<svg") : drawn.index("</svg>") + 6])
    titles = {one.text for one in svg.iter("{http://www.w3.org/2000/svg}title")}
    assert titles == {
        "dataset:file:/nb/orders <b>&", "job:test:sum_orders", "dataset:file:/nb/sums", "job:test:report_sums", "dataset:file:/nb/report.html",
    }  # fmt: skip
    assert "<b>" not in drawn
    assert "DIRECT AGGREGATION" in drawn
    assert "total" in drawn
    above = html(cells[3])
    assert "job:test:report_sums" in above
    assert "#c62828" in above  # the job's last run failed
    for cell, words in ((cells[4], "/nb/nothing"), (cells[5], "write `%headwater lineage NAME")):
        shown = json.dumps(cell)
        assert words in shown
        assert "Traceback" not in shown
    assert "COMPLETED" in json.dumps(cells[6])
    shown = cells[7][0]["data"]["text/plain"]
    assert shown.split() == ["['dataset:file:/nb/report.html',", "'dataset:file:/nb/sums',", "'job:test:report_sums']"]


def test_a_server_that_is_away_is_one_line(execute: Callable[..., Outputs]) -> None:
    (_, cell) = execute("http://127.0.0.1:1", "%load_ext headwater", "%headwater lineage orders")
    assert "no Headwater server answers at http://127.0.0.1:1" in json.dumps(cell)
    assert "Traceback" not in json.dumps(cell)
