"""Trees, Mermaid and DOT of an answer; names are untrusted."""

from typing import Any

import pytest

from headwater.cli import arguments
from headwater.cli.lineage import lineage_tree, tables
from headwater.cli.output import duration, printable, size
from headwater.graph import graphviz, mermaid


def node(id_: str, type_: str, **more: Any) -> dict[str, Any]:
    _, namespace, name = id_.split(":", 2)
    extra = {"last_run": None} if type_ == "JOB" else {}
    return {
        "id": id_,
        "type": type_,
        "namespace": namespace,
        "name": name,
        "label": name,
        "description": None,
        **extra,
        **more,
    }


def answer(*edges: tuple[str, str], columns: Any = (), root: str = "dataset:f:/c") -> dict[str, Any]:
    ids = {end for edge in edges for end in edge} | {root}
    return {
        "root": root,
        "roots": [root],
        "notes": [],
        "direction": "both",
        "nodes": [node(i, "JOB" if i.startswith("job") else "DATASET") for i in sorted(ids)],
        "edges": [
            {
                "source": s,
                "target": t,
                "origin": "OBSERVED",
                "refused": False,
                "relation": "FEEDS",
                "claims": [],
                "parts": [],
            }
            for s, t in edges
        ],
        "column_edges": list(columns),
        "hidden": {"nodes": 0, "reason": None},
    }


CHAIN = [
    ("dataset:f:/a", "job:n:one"),
    ("job:n:one", "dataset:f:/b"),
    ("dataset:f:/b", "job:n:two"),
    ("job:n:two", "dataset:f:/c"),
]


@pytest.fixture
def lines(capsys: pytest.CaptureFixture[str]) -> Any:
    """The lines below a heading of the tree that an answer is printed as."""

    def printed(told: dict[str, Any], direction: str) -> list[str]:
        lineage_tree.print_lineage(told)
        _, _, below = capsys.readouterr().out.partition(f"\n{direction.capitalize()}\n")
        return below.partition("\n\n")[0].splitlines()

    return printed


def test_a_chain(lines: Any) -> None:
    assert lines(answer(*CHAIN), "upstream") == ["└─ /b  ← two", "   └─ /a  ← one"]


def test_columns_stand_below_the_dataset_they_come_from(lines: Any) -> None:
    kinds = [{"type": "DIRECT", "subtype": "IDENTITY", "masking": True, "description": None}]
    columns = [
        {
            "source": "dataset:f:/b",
            "source_field": "x",
            "target": "dataset:f:/c",
            "target_field": "y",
            "job": "job:n:two",
            "transformations": kinds,
        },
        {
            "source": "dataset:f:/b",
            "source_field": "k",
            "target": "dataset:f:/c",
            "target_field": None,
            "job": "job:n:two",
            "transformations": [],
        },
    ]
    told = lines(answer(*CHAIN, columns=columns), "upstream")
    assert told[:3] == ["└─ /b  ← two", "     · k → (all)", "     · x → y [IDENTITY masked]"]


def test_a_branch_is_not_repeated_and_a_cycle_ends(lines: Any) -> None:
    loop = [*CHAIN, ("dataset:f:/c", "job:n:one")]
    told = lines(answer(*loop), "upstream")
    assert len(told) < 10
    assert any("(shown above)" in text for text in told)


def test_mermaid_and_dot_cannot_be_broken_out_of() -> None:
    evil = 'x"];click n0 "javascript:alert(1)"\n<script>'
    told = answer((f"dataset:f:{evil}", "job:n:j"), ("job:n:j", "dataset:f:/c"))
    chart = mermaid.flowchart(told)
    assert "<script>" not in chart
    assert all(line.startswith(("flowchart", "  n", "  classDef root ", "  class n")) for line in chart.splitlines())
    graph = graphviz.digraph(told)
    assert all(line.startswith(("digraph", "  ", "}")) for line in graph.splitlines())
    assert '\\"' in graph


def test_no_name_drives_the_terminal() -> None:
    assert printable("\x1b[2Jgone\nline") == "\\x1b[2Jgone\\nline"
    assert len(printable("x" * 5000)) < 300


def run(id_: str, state: str) -> dict[str, Any]:
    times = {"started_at": "2025-01-22T10:00:00Z", "ended_at": "2025-01-22T10:05:32Z", "duration_ms": 332_000}
    return {"id": id_, "job": "job:n:two", "effective_state": state, "error": None, **times}


@pytest.mark.parametrize(
    ("last", "successful", "shown"),
    [
        (run("r2", "COMPLETED"), None, ["Last run", "r2"]),
        (run("r2", "FAILED"), run("r1", "COMPLETED"), ["Last run", "r2", "Last successful run", "r1"]),
        (run("r2", "FAILED"), None, ["Last run", "r2", "Last successful run", "(none)"]),
    ],
)
def test_the_last_successful_run_is_beside_the_last(
    capsys: pytest.CaptureFixture[str], last: dict[str, Any], successful: dict[str, Any] | None, shown: list[str]
) -> None:
    tables.print_runs(last, successful)
    text = capsys.readouterr().out
    words = [word for line in text.splitlines() for word in [line.strip().removeprefix("run").strip()]]
    assert [word for word in words if word in {"Last run", "Last successful run", "r1", "r2", "(none)"}] == shown


def test_words_for_numbers() -> None:
    assert [duration(ms) for ms in (None, 900, 61_000, 3_660_000)] == ["", "0.9s", "1m 01s", "1h 01m"]
    assert [size(n) for n in (None, 5, 1500, 2_000_000)] == ["", "5 B", "1.5 kB", "2.0 MB"]


def test_run_takes_a_folder_or_a_word() -> None:
    assert arguments(["run", "my/dir", "--json"]) == ["run", "package", "my/dir", "--json"]
    assert arguments(["run", "show", "x"]) == ["run", "show", "x"]
    assert arguments(["run", "lineage", "x"]) == ["run", "lineage", "x"]
    assert arguments(["run", "--help"]) == ["run", "--help"]
    assert arguments(["runs"]) == ["runs"]
