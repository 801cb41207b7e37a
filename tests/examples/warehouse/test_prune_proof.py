"""The proof of pruning, whole: four weeks are read, and the next two run without what the advice removes."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from tests.fixtures.processes import free_port

ROOT = Path(__file__).parents[3]


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_the_advice_breaks_nothing_of_the_days_that_it_did_not_see(tmp_path: Path) -> None:
    environment = os.environ | {
        "PORT": str(free_port()), "WAREHOUSE_DATA": str(tmp_path / "proof"), "HEADWATER_HOME": str(tmp_path / "home"),
    }  # fmt: skip
    done = subprocess.run(
        [ROOT / "scripts/warehouse", "proof"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=1500,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    told = json.loads((tmp_path / "proof/proof.json").read_text(encoding="utf-8"))
    assert len(told["waves"]) == 5
    assert [one["failures"] for one in told["replays"]] == [[]] * 6
    # What is dropped wrongly is noticed.
    assert told["control"]["errors"] > 0
    assert told["bytes_removed"] / told["bytes_unused"] > 0.99
    advice = {one["name"]: one for one in told["advice"]["datasets"]}
    kept = {"carrier_codes", "feed_settings", "load_audit", "partner_feed", "board_pack", "weekly_summary", "month_end"}
    assert not {f"warehouse.ops.{name}" for name in kept} & advice.keys()
    assert {one["vouches_days"] for one in advice.values()} == {26, 28}
    assert {one["name"] for one in told["advice"]["blocked"]} == {
        "warehouse.ops.partner_feed",
        "warehouse.ops.board_pack",
    }
