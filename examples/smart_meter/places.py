"""The folders of the flow: one for each stage, and the index of the current items.

Data of an import is never overwritten: series, delivery points and forecasts of one import lie under `import=RUN`, so an item, once
made, stays what it was. The current items are in `items.json`, since one import reads what an earlier one made.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from headwater.client.item import Item


@dataclass(frozen=True)
class Places:
    """Folders below `data`. `outgoing` is the grid operator's side; the rest is ours."""

    data: Path

    def __post_init__(self) -> None:
        self.data.mkdir(parents=True, exist_ok=True)

    @property
    def outgoing(self) -> Path:
        return self.data / "outgoing"

    @property
    def inbox(self) -> Path:
        return self.data / "inbox"

    @property
    def series(self) -> Path:
        return self.data / "series"

    @property
    def points(self) -> Path:
        return self.data / "points"

    @property
    def weather(self) -> Path:
        return self.data / "weather"

    @property
    def forecasts(self) -> Path:
        return self.data / "forecasts"

    @property
    def warehouse(self) -> Path:
        return self.data / "warehouse" / "forecasts"


@dataclass(frozen=True)
class Held:
    """Something current: its item, to be given to the steps that read it, and where it lies. The work goes by the path, never by the item."""

    item: Item
    path: Path


@dataclass
class Index:
    """The current items of each kind (`series`, `points`, `weather`, …), by key (a meter, a delivery point, a station)."""

    file: Path
    held: dict[str, dict[str, Held]] = field(default_factory=dict)

    @classmethod
    def load(cls, file: Path) -> "Index":
        told = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        held = {
            kind: {key: Held(Item.from_json(one["item"]), Path(one["path"])) for key, one in own.items()}
            for kind, own in told.items()
        }
        return cls(file, held)

    def save(self) -> None:
        """Whole or not at all."""
        told = {
            kind: {
                key: {"item": json.loads(one.item.to_json()), "path": str(one.path)} for key, one in sorted(own.items())
            }
            for kind, own in sorted(self.held.items())
        }
        partial = self.file.with_suffix(".partial")
        partial.write_text(json.dumps(told, indent=1), encoding="utf-8")
        partial.replace(self.file)

    def of(self, kind: str) -> dict[str, Held]:
        return self.held.setdefault(kind, {})


def read_register(file: Path) -> pd.DataFrame:
    """`meter_id`, `delivery_point`, `station`, `kind`, `sign` of every meter."""
    return pd.read_csv(file, sep=";", dtype={"sign": int})
