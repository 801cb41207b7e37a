"""Stands for `spark-submit restore_delta.py JSON` where what is around it is tested: commits as that does, and writes no file of data.

`spark_submit.py HOW SCRIPT JSON`. HOW: `well`; `late`: another writer writes the same rows first; `badly`: it ends without a commit;
`dies`: with one, and as if it had failed.
"""

import json
import sys
from pathlib import Path

how, script, told = sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3])
assert script.name == "restore_delta.py"
assert script.exists()
log = Path(told["table"], "_delta_log")


def commit(note: str) -> None:
    version = len(list(log.glob("*.json")))
    file = {"path": f"f{version}", "partitionValues": {"day": told["where"].split("'")[1]}, "dataChange": True}
    said = [{"commitInfo": {"userMetadata": note, "where": told["where"]}}, {"add": file}]
    (log / f"{version:020}.json").write_text("\n".join(map(json.dumps, said)) + "\n")


if how == "badly":
    sys.exit("no Spark here")
if how == "late":
    commit("another writer")
commit(told["name"])
if how == "dies":
    sys.exit("killed")
