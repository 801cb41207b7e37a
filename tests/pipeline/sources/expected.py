"""The cases of query logs, and what a reader makes of one in a form that can be kept as data.

`PYTHONPATH=src python -m tests.pipeline.sources.expected [SOURCE …]` writes every `expected.json` anew: look at the difference before it is committed.
"""

import json
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2] / "cases" / "query_log"
CASES = sorted(folder.parent for folder in ROOT.glob("*/*/input"))

NAMESPACES = {
    "snowflake": "snowflake://flights-prod",
    "redshift": "redshift://flights.abc123.eu-west-1.redshift.amazonaws.com:5439",
    "databricks": "databricks://dbc-a1b2c3d4-e5f6.cloud.databricks.com",
    "postgres": "postgres://db.example:5432",
}
# The same for every row of a source.
_SAME = ("source", "dialect", "file")


def given(case: Path) -> str | None:
    """The namespace a case is read with."""
    return NAMESPACES.get(case.parent.name)


def answer(spark: Any, case: Path) -> dict[str, Any]:
    """Return the reader's answer for a case: rows by query id without nulls, with files by their names; the quarantined ones; how many were
    skipped."""
    from headwater.pipeline.query_log.sources import source

    together = source(case.parent.name).read(spark, [str(case / "input")], given(case)).together.collect()
    rows, bad, skipped = [], [], 0
    for row in (row.asDict(recursive=True) for row in together):
        problem, flaw = row.pop("problem"), row.pop("flaw")
        file = row["file"].rsplit("/input/", 1)[-1]
        if problem is None:
            assert (row["source"], row["dialect"]) == (case.parent.name, case.parent.name)
            told = {key: _plain(value) for key, value in row.items() if value is not None and key not in _SAME}
            rows.append({**told, "file": file} | ({"flaw": flaw["code"]} if flaw else {}))
        elif problem["code"] == "skipped":
            skipped += 1
        else:
            bad.append(
                {"code": problem["code"], "reason": problem["reason"], "sample": problem["sample"], "file": file}
            )
    return {
        "rows": sorted(rows, key=lambda row: (row["query_id"], json.dumps(row, sort_keys=True))),
        "bad": sorted(bad, key=lambda row: (row["file"], row["code"], row["sample"])),
        "skipped": skipped,
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return int(value) if value == int(value) else float(value)
    return value.isoformat(" ") if hasattr(value, "isoformat") else value


def main(names: list[str]) -> None:
    from headwater.pipeline.session import session

    spark = session(master="local[2]", name="expected", settings={"spark.sql.shuffle.partitions": "2"})
    spark.sparkContext.setLogLevel("OFF")
    for case in CASES:
        if not names or case.parent.name in names:
            told = json.dumps(answer(spark, case), indent=1, ensure_ascii=False, sort_keys=True)
            (case / "expected.json").write_text(told + "\n", encoding="utf-8")
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
