"""SQLMesh's side of `sqlmesh_restate.py`, run where SQLMesh is: builds three tables, corrects one day of the source, restates that day, reads them.

{first, last, changed, before, after} on standard input as JSON; on standard output {version, answers: {table: {day: total}}}.
"""

import contextlib
import importlib.metadata
import json
import sys
import tempfile
from pathlib import Path

from sqlmesh import Context
from sqlmesh.core.config import Config, DuckDBConnectionConfig, GatewayConfig, ModelDefaultsConfig

MODEL = """
MODEL (name shop.{name}, kind INCREMENTAL_BY_TIME_RANGE (time_column day), start '{first}', end '{last}', cron '{cron}');
{query};
"""
DAILY = "SELECT day, total FROM raw.sales WHERE day BETWEEN @start_date AND @end_date"
ROLLING = """
SELECT d.day, sum(s.total)::BIGINT AS total
FROM shop.daily AS d JOIN shop.daily AS s ON s.day BETWEEN d.day - INTERVAL 29 DAY AND d.day
WHERE d.day BETWEEN @start_date AND @end_date
GROUP BY d.day
"""
# A week is written as the Sunday with which SQLMesh's weeks begin.
WEEKLY = """
SELECT (day - INTERVAL (dayofweek(day)) DAY)::DATE AS day, sum(total)::BIGINT AS total
FROM shop.daily
WHERE (day - INTERVAL (dayofweek(day)) DAY)::DATE BETWEEN @start_date AND @end_date
GROUP BY 1
"""


def main() -> None:
    case = json.load(sys.stdin)
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(sys.stderr):
        models = Path(folder, "models")
        models.mkdir()
        for name, cron, query in (
            ("daily", "@daily", DAILY),
            ("rolling", "@daily", ROLLING),
            ("weekly", "@weekly", WEEKLY),
        ):
            text = MODEL.format(name=name, first=case["first"], last=case["last"], cron=cron, query=query)
            (models / f"{name}.sql").write_text(text, encoding="utf-8")
        gateway = GatewayConfig(connection=DuckDBConnectionConfig(database=str(Path(folder, "warehouse.db"))))
        config = Config(gateways={"": gateway}, model_defaults=ModelDefaultsConfig(dialect="duckdb"))
        context = Context(paths=folder, config=config)
        run = context.engine_adapter
        run.execute("CREATE SCHEMA raw")
        days = f"range(DATE '{case['first']}', DATE '{case['last']}' + INTERVAL 1 DAY, INTERVAL 1 DAY)"
        run.execute(
            f"CREATE TABLE raw.sales AS SELECT range::DATE AS day, {case['before']}::BIGINT AS total FROM {days}"
        )
        context.plan(auto_apply=True, no_prompts=True)
        tables = {"before": tables_of(run)}
        run.execute(f"UPDATE raw.sales SET total = {case['after']} WHERE day = '{case['changed']}'")
        context.plan(
            auto_apply=True, no_prompts=True, restate_models=["shop.daily"], start=case["changed"], end=case["changed"]
        )
        tables["after"] = tables_of(run)
    version = importlib.metadata.version("sqlmesh")
    print(json.dumps({"version": version, "answers": tables}))


def tables_of(run) -> dict:
    found = {}
    for name in ("daily", "rolling", "weekly"):
        rows = run.fetchall(f"SELECT day, total FROM shop.{name} ORDER BY day")
        found[name] = {str(day)[:10]: int(total) for day, total in rows}
    return found


if __name__ == "__main__":
    main()
