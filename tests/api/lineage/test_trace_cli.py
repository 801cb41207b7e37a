"""`headwater trace`, against the application itself; and docs/howto/trace.md, which shows what it answers for a case."""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.api.lineage.correlated import ITEM, content, events, send, tell
from tests.api.lineage.test_correlation_answers import chain, wide
from tests.events import RUN
from typer.testing import CliRunner, Result

from headwater.cli.program import program
from headwater.client import ask as asking
from headwater.client.fingerprint import fingerprint
from headwater.errors import HeadwaterError, InvalidQuestion, NotFound

PAGE = Path(__file__).parents[3] / "docs/howto/trace.md"


@pytest.fixture
def headwater(client: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs a command whose questions go to the application in this process, and whose errors are what the client makes of its answers."""

    def ask(base: str, path: str, params: Any = None, **_options: Any) -> bytes:
        given = {key: value for key, value in (params or {}).items() if value is not None}
        reply = client.get(path, **given)
        if reply.status_code >= 400:
            raise asking.refusal(reply.status_code, reply.content, base + path)
        return bytes(reply.content)

    monkeypatch.setattr("headwater.client.ask.ask", ask)

    def run(*words: str) -> Result:
        return CliRunner().invoke(program, words, catch_exceptions=False)

    return run


def test_a_tree_of_steps(client: Any, headwater: Any) -> None:
    tell(client, "flow")
    assert headwater("trace", ITEM.format(20)).stdout.splitlines() == [
        "delivery point  240.0 kB",
        f"  item {ITEM.format(20)}  timeseries:delivery point",
        f"  {content(events('flow'), 'delivery point')}",
        "",
        "Upstream",
        "└─ Delivery point sum 2.1.0 (ok)  2021-02-01 06:02:00  30.0s",
        "   ├─ TS01  12.0 MB",
        "   │  └─ Split 1.4.0 (ok)  2021-02-01 06:01:00  42.0s",
        "   │     └─ meters_202101.csv.gz  61.0 MB",
        "   │        └─ SFTP Download 1.0.0 (ok)  2021-02-01 06:00:00  30.0s",
        "   │           └─ DSO Timeseries  61.0 MB",
        "   └─ TS02  12.0 MB",
        "      └─ Split 1.4.0 (ok)  2021-02-01 06:01:00  42.0s  (shown above)",
        "",
        "Downstream",
        "├─ Load 1.0.0 (ok)  2021-02-01 06:03:00  30.0s",
        "│  └─ delivery_points",
        "└─ forecast consumption 3.0.0 (ok)  2021-02-01 06:04:00  30.0s",
        "   └─ forecast  64.0 kB",
        "      └─ Load 1.0.0 (ok)  2021-02-01 06:05:00  30.0s",
        "         └─ forecasts",
    ]
    up, down = headwater("trace", ITEM.format(20), "--up").stdout, headwater("trace", ITEM.format(20), "--down").stdout
    assert "Upstream" in up
    assert "Downstream" not in up
    assert "SFTP Download" not in down
    assert "forecasts" in down
    both = headwater("trace", ITEM.format(20), "--up", "--down").stdout
    assert "Upstream" in both
    assert "Downstream" in both


def test_what_each_step_tells(client: Any, headwater: Any) -> None:
    tell(client, "flow")
    told = headwater("trace", ITEM.format(11), "--up", "--details").stdout
    assert "  · rows: 1488000" in told
    assert '  · columns: ["timestamp","kWh"]' in told
    assert "  · host: dso.example" in told
    assert f"  · run {RUN.format(2)}  smart-meter:Split" in told
    assert f"  · item {ITEM.format(1)}  file:/landing/meters_202101.csv.gz" in told
    assert "rows" not in headwater("trace", ITEM.format(11), "--up").stdout
    # The root's own are always told.
    assert "rows: 1488000" in headwater("trace", RUN.format(2)).stdout


def test_forced_failed_and_running(client: Any, headwater: Any) -> None:
    told = tell(client, "forced")
    lines = headwater("trace", content(told, "/landing/prices.csv"), "--details").stdout.splitlines()
    assert "└─ import prices 1.1.0 (ok)  2021-02-02 06:00:00  30.0s  forced" in lines
    assert f"     · does again what run {RUN.format(1)} did" in lines
    # A reader that names no item read the file, too.
    assert "├─ check prices 1.0.0 (ok)  2021-02-05 06:00:00  30.0s" in lines
    assert headwater("trace", RUN.format(3)).stdout.startswith(
        "import prices 1.1.0 (FAILED)  2021-02-03 06:00:00  30.0s\n"
    )
    assert headwater("trace", RUN.format(4)).stdout.startswith("import prices 1.1.0 (running)  2021-02-04 06:00:00\n")


def test_depth_and_what_is_hidden(client: Any, headwater: Any) -> None:
    tell(client, "flow")
    assert "2 more not shown: depth=1 reached" in headwater("trace", RUN.format(2), "--depth", "1").stdout
    assert "more not shown: max_nodes=3 reached" in headwater("trace", RUN.format(2), "--max-nodes", "3").stdout
    with pytest.raises(InvalidQuestion, match="neither a number nor"):
        headwater("trace", RUN.format(2), "--depth", "deep")


def test_thousands_of_steps(client: Any, headwater: Any) -> None:
    """A tree as deep as Python's stack is drawn."""
    send(client, chain(600))
    lines = headwater("trace", RUN.format(0), "--down", "--depth", "all").stdout.splitlines()
    assert sum("daily (ok)" in line for line in lines) == 600
    assert lines[-1].endswith("└─ state")


def test_a_wide_split(client: Any, headwater: Any) -> None:
    send(client, wide(300))
    told = headwater("trace", RUN.format(0)).stdout
    assert "└─ TS..  (296 more)" in told
    assert "   └─ load  (296 more, all ok)" in told
    assert len(told.splitlines()) < 40
    assert "299 more" not in told
    assert "TS00300" in headwater("trace", RUN.format(0), "--fan", "300").stdout
    # A node that stands for many has no id of its own.
    assert ITEM.format(4) in headwater("trace", RUN.format(0), "--details").stdout
    assert ITEM.format(5) not in headwater("trace", RUN.format(0), "--details").stdout
    assert "TS00300" in headwater("trace", RUN.format(0), "--json").stdout


def test_loops_shared_runs_and_claims_are_said(client: Any, headwater: Any) -> None:
    tell(client, "loop")
    assert "not followed, it would close a loop: " in headwater("trace", ITEM.format(1)).stdout
    tell(client, "shared_run")
    told = headwater("trace", RUN.format(1)).stdout
    assert "jobs have a run with this id; all are roots" in told
    assert "of publish" in told


def test_an_id_that_was_given_twice(client: Any, headwater: Any) -> None:
    tell(client, "collided")
    told = headwater("trace", ITEM.format(3)).stdout
    assert "more than one thing has this id" in told
    assert f"claimed by smart-meter:two, run {RUN.format(2)}" in told


def imported(client: Any, file: Path, text: str) -> None:
    told = events("forced")[:2]
    for event in told:
        for one in event["inputs"]:
            one["name"], one["facets"]["version"]["datasetVersion"] = str(file), text
            one["inputFacets"]["headwater_item"]["fingerprint"] = text
    send(client, told)


def test_a_file_is_known_by_its_content(client: Any, headwater: Any, tmp_path: Path, monkeypatch: Any) -> None:
    """Under any name, and however it is packed."""
    plain, packed = tmp_path / "prices.csv", tmp_path / "moved.csv.gz"
    plain.write_bytes(b"a,b\n1,2\n")
    packed.write_bytes(gzip.compress(b"a,b\n1,2\n"))
    imported(client, plain, fingerprint(plain).text)
    for file in (plain, packed):
        told = headwater("trace", str(file), "--down").stdout
        assert told.startswith("prices.csv")
        assert "import prices 1.0.0 (ok)" in told
        ways = headwater("lineage", RUN.format(1), "--to", str(file)).stdout.splitlines()
        assert [line.strip() for line in ways if line.startswith("  ")] == ["prices.csv", "import prices"]
    monkeypatch.chdir(tmp_path)
    assert json.loads(headwater("trace", "moved.csv.gz", "--json").stdout)["matched"] == "FINGERPRINT"


def test_a_folder(client: Any, headwater: Any, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a").write_text("x")
    imported(client, tmp_path / "data", fingerprint(tmp_path / "data").text)
    assert "import prices" in headwater("trace", str(tmp_path / "data")).stdout


def test_an_unknown_file(headwater: Any, tmp_path: Path) -> None:
    """Says what its content is, and what to do."""
    file = tmp_path / "new.csv"
    file.write_text("new")
    with pytest.raises(NotFound) as caught:
        headwater("trace", str(file))
    assert str(file) in caught.value.message
    assert fingerprint(file).text in caught.value.message
    assert "headwater doctor" in caught.value.message


def test_what_is_neither_here_nor_known(headwater: Any) -> None:
    with pytest.raises(NotFound, match="and no file of this name is here"):
        headwater("trace", "/no/such/file.csv")
    with pytest.raises(NotFound) as caught:
        headwater("trace", ITEM.format(1))
    assert "file" not in caught.value.message.replace("known here", "")
    with pytest.raises(HeadwaterError):
        headwater("trace", "s4://bucket/key")


def test_mermaid_and_json(client: Any, headwater: Any) -> None:
    """Drawings come from the one walk; JSON keeps the shape of the older route."""
    tell(client, "flow")
    told = headwater("trace", ITEM.format(40), "--up", "--format", "mermaid").stdout
    assert told == headwater("lineage", ITEM.format(40), "--upstream", "--mermaid").stdout
    assert client.get(f"/api/v2/correlation/{ITEM.format(40)}", format="mermaid").text.startswith("flowchart LR\n")
    answer = json.loads(headwater("trace", ITEM.format(40), "--up", "--format", "json").stdout)
    assert answer == client.get(f"/api/v2/correlation/{ITEM.format(40)}", direction="ancestors").json()


def test_the_newest_version_of_a_dataset(client: Any, headwater: Any) -> None:
    tell(client, "flow")
    told = headwater("trace", "dataset:timeseries:TS01", "--up").stdout
    assert told.startswith("TS01  12.0 MB\n")
    assert "SFTP Download" in told
    source = next(one["id"] for one in client.get("/api/v2/datasets").json()["datasets"] if "DSO" in one["id"])
    with pytest.raises(NotFound, match=f"no version of '{source}' was written"):
        headwater("trace", source)


def test_names_cannot_drive_the_terminal(client: Any, headwater: Any) -> None:
    told = events("forced")[:2]
    for event in told:
        event["job"]["name"] = "evil\x1b[2J\u202e"
        event["run"]["facets"]["headwater_step"] |= {
            "version": "\x1b]0;x\x07",
            "details": {"a\x1b": "b\x1b", "c": ["\x9b"]},
        }
        event["inputs"][0]["name"] = "/\x1b[31m"
    send(client, told)
    for words in (["--details"], ["--format", "mermaid"]):
        found = headwater("trace", RUN.format(1), *words).stdout
        assert all(char.isprintable() or char == "\n" for char in found)


def block(name: str) -> str:
    found = re.search(rf"<!-- generated: {name} -->\n```\w*\n(.*?)```\n", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found, name
    return found[1]


def test_the_tree_of_the_page(client: Any, headwater: Any) -> None:
    tell(client, "flow")
    assert block("tree") == headwater("trace", ITEM.format(11)).stdout


def test_the_flow_diagram_of_the_page(client: Any, headwater: Any) -> None:
    tell(client, "flow")
    assert block("mermaid") == headwater("trace", ITEM.format(41), "--up", "--format", "mermaid").stdout


def test_the_wide_diagram_of_the_page(client: Any, headwater: Any) -> None:
    send(client, wide(400))
    assert block("wide") == headwater("trace", RUN.format(0), "--format", "mermaid").stdout


def test_what_a_step_let_be(client: Any, headwater: Any) -> None:
    told = events("flow")[:2]
    fingerprint_ = "xxh3-128:" + "0" * 32
    for event in told:
        skipped = [{"fingerprint": fingerprint_, "run_id": RUN.format(9), "dataset": {}}, {"fingerprint": 1}, None]
        event["run"]["facets"]["headwater_step"]["skipped"] = skipped
    send(client, told)
    assert f"skipped {fingerprint_}, which run {RUN.format(9)} had imported" in headwater("trace", RUN.format(1)).stdout
    answer = json.loads(headwater("trace", RUN.format(1), "--depth", "0", "--json").stdout)
    assert answer["nodes"][0]["skipped"] == [{"fingerprint": fingerprint_, "run_id": RUN.format(9)}]
