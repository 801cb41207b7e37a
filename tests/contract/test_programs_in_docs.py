"""The programs that the docs print: run as printed, against a real server."""

import json
import os
import re
import shutil
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from tests.scale import FULL

DOCS = Path(__file__).parents[2] / "docs/howto"
LANGUAGES = [("sh", "lineage.sh", ["sh"]), ("java", "Lineage.java", ["java"])]
# Go's own library takes a minute to compile where no build has been: that is for the soak, and for machines that have Go.
if FULL and shutil.which("go"):
    LANGUAGES.append(("go", "lineage.go", ["go", "run"]))


def program(page: str, language: str) -> str:
    found = re.search(
        rf"^```{language}\n(.*?)^```$", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    assert found is not None
    return found[1]


def ask(url: str, path: str, body: Any = None) -> Any:
    request = urllib.request.Request(
        f"{url}/api/{path}",
        data=None if body is None else json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=30) as reply:
        return json.load(reply)


@pytest.mark.parametrize(("language", "file", "command"), LANGUAGES, ids=[each[0] for each in LANGUAGES])
def test_a_program_reports_its_run(
    server_url: str, tmp_path: Path, language: str, file: str, command: list[str]
) -> None:
    (tmp_path / file).write_text(program("events-from-programs.md", language))
    java = f"{os.environ['JAVA_HOME']}/bin:" if "JAVA_HOME" in os.environ else ""
    words = [*command, file, *(["true"] if language == "sh" else [])]
    done = subprocess.run(
        words, cwd=tmp_path, env=os.environ | {"OPENLINEAGE_URL": server_url, "PATH": java + os.environ["PATH"], "GO111MODULE": "auto"},
        capture_output=True, text=True, check=False, timeout=240,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    (run,) = ask(server_url, f"v2/runs?job=job:nightly:orders-by-day-{'shell' if language == 'sh' else language}")[
        "runs"
    ]
    assert run["state"] == "COMPLETED"
    found = ask(server_url, "v2/lineage?node=dataset:warehouse:orders_by_day&direction=upstream")
    assert "dataset:postgres://shop:5432:shop.public.orders" in {node["id"] for node in found["nodes"]}


def test_a_scheduler_in_twenty_lines_of_curl(server_url: str, tmp_path: Path) -> None:
    page = DOCS / "own-scheduler.md"
    script = program(page.name, "sh")
    assert len(script.splitlines()) <= 20
    (tmp_path / "schedule.sh").write_text(script)
    ask(server_url, "v2/entities", {"files": [{"name": "entities.yaml", "text": program(page.name, "yaml")}]})

    def start(entity: str, command: str, day: int = 10, reads: str = "") -> "subprocess.Popen[str]":
        return subprocess.Popen(
            ["sh", "schedule.sh", entity, f"2024-03-{day}", "sh", "-c", command],
            cwd=tmp_path, env=os.environ | {"HEADWATER_URL": server_url, "READS": reads}, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    report = start("daily_report", "cat reads > report", reads='{"namespace": "schedule", "name": "raw_reads"}')
    try:
        time.sleep(0.5)
        assert report.poll() is None, "it waits for the reads"
        raw = start("raw_reads", "echo 5 > reads")
        assert (raw.wait(timeout=30), raw.communicate()[1]) == (0, "")
        assert report.wait(timeout=30) == 0, report.communicate()[1]
    finally:
        report.kill()
        report.communicate()
    assert (tmp_path / "report").read_text() == "5\n"
    instance = ask(server_url, "v2/entities/daily_report/instances/2024-03-10")
    (run,) = ask(server_url, "v2/runs?job=job:schedule:make-daily_report")["runs"]
    assert (instance["status"], instance["versions"][0]["run"], run["state"]) == ("completed", run["id"], "COMPLETED")
    found = ask(server_url, "v2/objects?text=daily_report")["object"]
    assert (found["id"], found["entity"]) == ("dataset:schedule:daily_report", "daily_report")
    broken = start("raw_reads", "exit 3", day=11)
    assert broken.wait(timeout=30) == 1
    broken.communicate()
    assert ask(server_url, "v2/entities/raw_reads/instances/2024-03-11")["history"][0]["what"] == "failed"
