"""The table that a case prints, and the file that has its figures."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

HOME = Path(__file__).resolve().parents[3] / ".tools" / "cases" / "server"


@dataclass
class Row:
    """`measured` in `unit`; `limit` is the physical limit of the same run in that unit, `better` which way is better, `target` a bound."""

    name: str
    measured: float | None
    unit: str
    limit: float | None = None
    target: float | None = None
    better: str = "less"
    note: str = ""

    @property
    def met(self) -> bool | None:
        if self.measured is None or self.target is None:
            return None
        return self.measured <= self.target if self.better == "less" else self.measured >= self.target


def shown(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.1f}" if abs(value) >= 10 else f"{value:,.2f}"


def said(rows: list[Row], write_to: Path) -> None:
    print("| what | measured | target | physical limit, same run | ratio | note |")
    print("|---|---|---|---|---|---|")
    for row in rows:
        bound = (
            f"{'≤' if row.better == 'less' else '≥'} {shown(row.target)} {row.unit}" if row.target is not None else ""
        )
        if row.met is not None:
            bound += " met" if row.met else " **missed**"
        ratio = f"{row.measured / row.limit:,.2f}" if row.measured is not None and row.limit else ""
        measured = "not answered" if row.measured is None else f"{shown(row.measured)} {row.unit}"
        limit = f"{shown(row.limit)} {row.unit}" if row.limit is not None else ""
        print(f"| {row.name} | {measured} | {bound} | {limit} | {ratio} | {row.note} |", flush=True)
    write_to.parent.mkdir(parents=True, exist_ok=True)
    write_to.write_text(
        json.dumps([{**asdict(row), "met": row.met} for row in rows], indent=1) + "\n", encoding="utf-8"
    )
