"""A virtual environment for each other system under .tools/versus, from requirements/versus-NAME.txt: `python …/environments.py [NAME …]`.

They pin what Headwater needs newer, and each other's, so none is ever imported here: what they say comes as JSON from a process of theirs.
"""

import hashlib
import json
import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
SYSTEMS = ("dagster", "sqlmesh", "airflow")


def python_of(system: str) -> Path:
    """Its interpreter, installed first where it is not there or is of other requirements."""
    wanted = ROOT / "requirements" / f"versus-{system}.txt"
    home = ROOT / ".tools" / "versus" / system
    python, stamp = home / "bin" / "python", home / ".installed-from"
    made_from = hashlib.sha256(wanted.read_bytes()).hexdigest()
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != made_from:
        print(f"installing {system}", file=sys.stderr, flush=True)
        venv.create(home, with_pip=True, clear=True)
        pip = [str(python), "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
        subprocess.run([*pip, "--no-deps", "--require-hashes", "-r", str(wanted)], check=True)
        stamp.write_text(made_from, encoding="utf-8")
    return python


def asked(system: str, name: str, case: Any) -> dict[str, Any]:
    """Return the answer of `peers/NAME.py` to a case: {version, answers}. Raises SystemExit with the end of its error output where it
    fails."""
    # Not our packages, and nothing is sent home.
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    env |= {"DAGSTER_DISABLE_TELEMETRY": "1", "SQLMESH__DISABLE_ANONYMIZED_ANALYTICS": "1"}
    done = subprocess.run(
        [str(python_of(system)), str(HERE / "peers" / f"{name}.py")],
        input=json.dumps(case),
        capture_output=True,
        text=True,
        check=False,
        env=env,
    )
    if done.returncode:
        sys.exit(f"{system} failed:\n" + "\n".join(done.stderr.splitlines()[-20:]))
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    for each in sys.argv[1:] or SYSTEMS:
        print(python_of(each))
