"""Ten wrong hours of weather, twice: what is wrong because of them, repaired with the least work, and proven against a full rebuild.

The proof is in the example itself; this runs it as its README says, and looks at what it told the server. The suite leaves out the months that
nothing wrong reaches; `make soak` runs the whole year, in which an instance that is made again for no reason has more places to be.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from tests.scale import FULL

ROOT = Path(__file__).parents[3]
MONTHS = ("--months", "3", "4", "11", "12")


@pytest.mark.spark
def test_the_story_is_true(server_url: str, tmp_path: Path) -> None:
    told = subprocess.run(
        [sys.executable, ROOT / "examples/flights_repair/repair.py", tmp_path, *([] if FULL else MONTHS)],
        env=os.environ | {"HEADWATER_URL": server_url, "PYSPARK_SUBMIT_ARGS": "--driver-memory 2g pyspark-shell"},
        capture_output=True,
        text=True,
        timeout=1500,
        check=False,
    )
    assert told.returncode == 0, told.stderr[-4000:]
    out = told.stdout
    assert "5 entities declared" in out
    # The days with 23 and 25 hours, each in one week and one month; windows reach 30 days on.
    for line in (
        "weather          10  2013-03-09T19-05:00..2013-03-10T05-04:00",
        "delays_daily      2  2013-03-09..2013-03-10",
        "delays_weekly     1  2013-W10",
        "delays_monthly    1  2013-03",
        "delays_30_days   31  2013-03-09..2013-04-08",
        "weather          10  2013-11-03T01-04:00..2013-11-03T09-05:00",
        "delays_daily      1  2013-11-03",
        "delays_weekly     1  2013-W44",
        "delays_monthly    1  2013-11",
        "delays_30_days   30  2013-11-03..2013-12-02",
    ):
        assert line in out, f"{line}\n{out}"
    assert out.count("0 wrong still") == 2
    assert "equal to a full rebuild" in out

    def get(path: str) -> Any:
        with urlopen(f"{server_url}/api/v2/{path}") as answer:
            return json.load(answer)

    assert [plan["state"] for plan in get("plans")["plans"]] == ["done", "done"]
    days = get("entities/weather/status?instances=2013-03-10&instances=2013-11-03")
    assert sum(days["counts"].values()) == 48
