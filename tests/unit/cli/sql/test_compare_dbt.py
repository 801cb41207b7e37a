"""`headwater sql --compare-dbt`: where dbt v2 and Headwater see the columns of a project otherwise."""

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from headwater.cli import main

CASES = Path(__file__).parents[3] / "cases/dbt/second_opinion"
Run = Callable[..., tuple[int, str, str]]
FIELDS = ("from_node_unique_id", "from_column_name", "to_node_unique_id", "to_column_name", "lineage_kind")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A dbt project whose target folder has a manifest, and dbt's table of columns as dbt v2 writes it."""
    index = tmp_path / "target/info_schema/v1"
    index.mkdir(parents=True)
    shutil.copy(CASES / "manifest.json", tmp_path / "target/manifest.json")
    (tmp_path / "dbt_project.yml").write_text("name: jaffle\n", encoding="utf-8")
    ids = {id_.rpartition(".")[2]: id_ for id_ in json.loads((CASES / "manifest.json").read_text())["nodes"]}
    rows = [
        (ids[one[0]], one[1], ids[one[2]], one[3], one[4], "2026-09-26T00:16:59")
        for one in yaml.safe_load((CASES / "edges.yaml").read_text(encoding="utf-8"))
    ]
    columns = dict(zip((*FIELDS, "ingested_at"), map(list, zip(*rows, strict=True)), strict=True))
    pq.write_table(pa.table(columns), index / "dbt.column_lineage.parquet")
    return tmp_path


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Returns the exit code, what was printed, and the errors."""

    def do(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["headwater", "sql", *arguments, "--compare-dbt"])
        with pytest.raises(SystemExit) as ended:
            main()
        return (int(ended.value.code or 0), *capsys.readouterr())

    return do


def test_each_difference_is_named_and_the_rest_is_counted(project: Path, run: Run) -> None:
    found: dict[str, Any] = json.loads(run(str(project), "--json")[1])
    told = {
        (one["target"].rpartition(".")[2], one["target_column"], one["source"].rpartition(".")[2], one["source_column"], one["dbt"], one["headwater"])
        for one in found["differences"]
    }  # fmt: skip
    assert told == {
        ("stg_orders", "status", "raw_orders", "status", "mod", "copy"),
        ("stg_payments", "payment_method", "raw_payments", "order_id", "copy", ""),
        ("stg_payments", "payment_method", "raw_payments", "payment_method", "", "copy"),
    }
    assert found["agreed"] == 18
    assert found["not_analysed"] == ["jaffle.main.customers"]


def test_people_read_it(project: Path, run: Run) -> None:
    code, text, _ = run(str(project))
    assert code == 0
    assert "jaffle.main.stg_orders.status ← jaffle.main.raw_orders.status  (dbt: mod, Headwater: copy)" in text
    assert text.strip().endswith("18 agreed, 3 differ, 1 models without an opinion of dbt")


@pytest.mark.parametrize("damage", ["absent", "no parquet", "other columns"])
def test_what_is_not_dbts_table_is_named(project: Path, run: Run, damage: str) -> None:
    path = project / "target/info_schema/v1/dbt.column_lineage.parquet"
    if damage == "absent":
        path.unlink()
    elif damage == "no parquet":
        path.write_bytes(b"PAR1")
    else:
        pq.write_table(pa.table({"x": [1]}), path)
    code, _, said = run(str(project))
    assert code == 2
    assert "dbt" in said
    assert said.count("\n") == 1
