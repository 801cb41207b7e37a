"""The time of `headwater review` over a dbt project of 1,000 models of which 20 changed, with the manifests of both sides, and over as many files
of SQL. The floor is Python reading and tokenising the same texts once."""

import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from headwater.columns.shape.words import words

MODELS, CHANGED, COLUMNS = 1_000, 20, 20
VERSION = "https://schemas.getdbt.com/dbt/manifest/v12.json"


def sql(folder: Path, texts: list[str]) -> list[str]:
    (folder / "sql").mkdir(parents=True)
    for number, text in enumerate(texts):
        (folder / "sql" / f"m{number:04}.sql").write_text(f"create table shop.m{number} as {text};\n")
    return ["sql", "--dialect", "postgres"]


def dbt(folder: Path, texts: list[str]) -> list[str]:
    project = folder / "dbt"
    (project / "models").mkdir(parents=True)
    (project / "target").mkdir()
    (project / "dbt_project.yml").write_text("name: shop\nprofile: shop\nmodel-paths: [models]\n")
    nodes = {}
    for number, text in enumerate(texts):
        raw = text.replace(f"shop.m{number // 3}", f"{{{{ ref('m{number // 3}') }}}}") if number else text
        (project / f"models/m{number}.sql").write_text(raw)
        nodes[f"model.shop.m{number}"] = {
            "resource_type": "model", "name": f"m{number}", "alias": f"m{number}", "package_name": "shop", "database": "db", "schema": "shop",
            "original_file_path": f"models/m{number}.sql", "relation_name": f'"db"."shop"."m{number}"', "config": {"materialized": "table"},
            "raw_code": raw.strip(), "compiled_code": text, "depends_on": {"nodes": [f"model.shop.m{number // 3}"] if number else []},
            "description": "x" * 400, "columns": {f"c{place}": {"name": f"c{place}", "description": "y" * 40} for place in range(COLUMNS)},
        }  # fmt: skip
    metadata = {"dbt_schema_version": VERSION, "project_name": "shop", "adapter_type": "postgres"}
    (project / "target/manifest.json").write_text(json.dumps({"metadata": metadata, "nodes": nodes}))
    return ["dbt"]


def measure(kind: Callable[[Path, list[str]], list[str]], before: list[str], after: list[str]) -> str:
    with tempfile.TemporaryDirectory() as folder:
        base, head = Path(folder) / "base", Path(folder) / "head"
        kind(base, before)
        arguments = kind(head, after)
        command = [sys.executable, "-m", "headwater", "review", *arguments, "--base", str(base)]
        began, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, cwd=head, capture_output=True, text=True, check=False)
        now = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
        shutil.rmtree(head)
        took = f"{time.perf_counter() - began:.1f} s, {cpu:.1f} s of processor"
        return f"{kind.__name__}: {took}, exit code {done.returncode}: {done.stdout.splitlines()[-1]}"


def main() -> None:
    columns = ", ".join(f"x.c{number}" for number in range(COLUMNS))
    before = [
        f"select {columns} from {f'shop.m{number // 3}' if number else 'raw.t'} x where x.c1 > {number}"
        for number in range(MODELS)
    ]
    after = [
        text.replace("x.c3,", "x.c3 + 1 as c3," if number % 100 == 0 else "")
        if number % (MODELS // CHANGED) == 0
        else text
        for number, text in enumerate(before)
    ]
    began = time.process_time()
    for text in (*before, *after):
        words(text, "postgres")
    print(f"floor, the words of both sides once: {time.process_time() - began:.2f} s of processor")
    for kind in (dbt, sql):
        print(measure(kind, before, after))


if __name__ == "__main__":
    main()
