"""The file of `headwater sync query-log --config`, and the exact errors for a wrong one."""

import json
import re
from pathlib import Path

import pytest

from headwater.cli.spark import sync_config
from headwater.errors import InvalidQuestion
from headwater.pipeline.query_log.declared import Dbt, Exports, RetainedTable, Stored
from headwater.pipeline.query_log.who import Config

EVERYTHING = """
schemas:
  - {namespace: w, file: schemas.csv}
  - {namespace: w, file: more.json}
  - {namespace: v, server: true}
storage:
  - {namespace: w, file: sizes.csv}
  - {file: sizes.jsonl}
kept:
  - {namespace: w, name: audit.*}
  - {name: "*.gold"}
who:
  users: {svc_*: service, ada: person}
  dbt_namespace: shop
  dbt_names: relation
dbt:
  - {run_results: runs/*/run_results.json, manifest: target/manifest.json}
  - {run_results: run_results.json}
looker_history: [history.csv, "s3a://lake/history/*.csv"]
asset_names: [names.csv]
lookml: [looker, "*.lkml"]
"""


def told(folder: Path, text: str, dialect: str = "postgres") -> sync_config.SyncConfig:
    path = folder / "log.yaml"
    path.write_text(text, encoding="utf-8")
    return sync_config.read(path, dialect, lambda namespace: {"public.t": [f"of_{namespace}"]})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    columns = "table_schema,table_name,column_name,ordinal_position\nshop,orders,amount,2\nshop,orders,id,1\n"
    (tmp_path / "schemas.csv").write_text(columns, encoding="utf-8")
    (tmp_path / "more.json").write_text(json.dumps({"shop.orders": ["x"], "Shop.Days": ["day"]}), encoding="utf-8")
    sizes = "TABLE_CATALOG,TABLE_SCHEMA,TABLE_NAME,ACTIVE_BYTES\ndb,shop,orders,10\ndb,shop,orders,30\n"
    (tmp_path / "sizes.csv").write_text(sizes, encoding="utf-8")
    (tmp_path / "sizes.jsonl").write_text('{"namespace": "v", "name": "t", "bytes": 5}\n\n', encoding="utf-8")
    return tmp_path


def test_every_field_of_the_config(folder: Path) -> None:
    found = told(folder, EVERYTHING)
    assert found.who == Config(users={"svc_*": "service", "ada": "person"}, dbt_namespace="shop", dbt_names="relation")
    assert found.schemas == {"w": {"shop.orders": ["id", "amount"], "shop.days": ["day"]}, "v": {"public.t": ["of_v"]}}
    assert found.storage == (Stored("w", "db.shop.orders", 30), Stored("v", "t", 5))
    assert found.kept == (RetainedTable("audit.*", "w"), RetainedTable("*.gold"))
    here = str(folder)
    assert found.exports == Exports(
        (
            Dbt(f"{here}/runs/*/run_results.json", f"{here}/target/manifest.json"),
            Dbt(f"{here}/run_results.json"),
        ),
        (f"{here}/history.csv", "s3a://lake/history/*.csv"),
        (f"{here}/names.csv",),
        (f"{here}/looker", f"{here}/*.lkml"),
    )


def test_tables_that_lookml_keeps(folder: Path) -> None:
    (folder / "shop.model.lkml").write_text(
        "explore: orders {} view: orders { sql_table_name: shop.orders ;; }", encoding="utf-8"
    )
    found = told(folder, "kept: [{namespace: w, lookml: '*.model.lkml'}, {name: x}]").kept
    assert found == (RetainedTable("shop.orders", "w"), RetainedTable("*.shop.orders", "w"), RetainedTable("x"))


def test_an_empty_config(folder: Path) -> None:
    assert told(folder, "") == sync_config.SyncConfig(Config(), None, (), (), Exports())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("kept: [{namespace: w}]", r"log\.yaml: kept\[0\] needs either name or lookml"),
        ("kept: [{name: a}, {name: a, lookml: b}]", r"log\.yaml: kept\[1\] needs either"),
        ("kept: [{lookml: none/*.lkml}]", r"log\.yaml: kept\[0\]: no file matches .*none"),
        ("kept: [{lookml: more.json}]", r"more\.json: no file there is LookML"),
        ("kept: [{lookml: cut.view.lkml}]", r"kept\[0\]: .*cut\.view\.lkml:2: sql has no ;;"),
        ("kept: [{lookml: 's3a://lake/looker'}]", r"s3a://lake/looker: files of lookml are read on this machine"),
        ("kept: [{nam: x}]", r"log\.yaml: .*nam.*\$\.kept\[0\]"),
        ("keep: []", r"log\.yaml: .*unknown field `keep`"),
        ("who: {users: {ada: boss}}", r"log\.yaml: Invalid enum value 'boss' - at `\$\.who\.users"),
        ("who: {users: [ada]}", r"log\.yaml: Expected `object`, got `array` - at `\$\.who\.users`"),
        ("who: {user: {}}", r"log\.yaml: .*`user` - at `\$\.who`"),
        ("schemas: [{namespace: w}]", r"schemas\[0\] needs either file or server"),
        ("schemas: [{namespace: w, file: a.json, server: true}]", r"schemas\[0\] needs either"),
        ("schemas: [{namespace: w, file: none.csv}]", r"none\.csv: No such file"),
        ("storage: [{namespace: w, file: wrong.csv}]", r"wrong\.csv:2: the table lacks one of bytes"),
        ("storage: [{file: sizes.csv}]", r"sizes\.csv:2: the table lacks a namespace"),
        ("storage: [{namespace: w, file: minus.csv}]", r"minus\.csv:2: '-1' is not a number of bytes"),
        ("storage: [{namespace: w, file: cut.jsonl}]", r"cut\.jsonl: a line is not JSON"),
        ("storage: [{namespace: w, file: none.csv}]", r"none\.csv cannot be read"),
        ("a: [", r"log\.yaml:1:5: "),
        ("[]", r"log\.yaml: Expected `object`, got `array`"),
    ],
)
def test_mistakes_name_file_and_place(folder: Path, text: str, words: str) -> None:
    (folder / "wrong.csv").write_text("name,rows\nt,1\n", encoding="utf-8")
    (folder / "minus.csv").write_text("name,bytes\nt,-1\n", encoding="utf-8")
    (folder / "cut.view.lkml").write_text("view: a {\n sql: x }", encoding="utf-8")
    (folder / "cut.jsonl").write_text('{"name": ', encoding="utf-8")
    with pytest.raises(InvalidQuestion) as error:
        told(folder, text)
    assert re.search(words, error.value.message), error.value.message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("table_name\nt\n", "lacks the column column_name"),
        ("table_name,column_name\nt,\n", ":2: a table or a column has no name"),
        ("table_name,column_name,ordinal_position\nt,a,x\n", ":2: ordinal_position 'x' is not a number"),
        ("table_name,column_name\n", "lists no column"),
    ],
)
def test_columns_as_a_catalog_lists_them(folder: Path, text: str, words: str) -> None:
    (folder / "columns.csv").write_text(text, encoding="utf-8")
    with pytest.raises(InvalidQuestion, match=re.escape(words)):
        told(folder, "schemas: [{namespace: w, file: columns.csv}]")
