"""A virtual environment for each peer under .tools/versus, from requirements.txt: `python benchmarks/versus/sql/setup.py [NAME …]`."""

import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).parent
HOME = HERE.parents[2] / ".tools" / "versus"


def requirements() -> dict[str, list[str]]:
    """Environment name → what is installed there: `name: requirement requirement …`."""
    lines = (HERE / "requirements.txt").read_text(encoding="utf-8").splitlines()
    pairs = [line.split(":", 1) for line in lines if line.strip() and not line.startswith("#")]
    return {name.strip(): wanted.split() for name, wanted in pairs}


def python_of(name: str) -> Path:
    return HOME / name / "bin" / "python"


def set_up(name: str, wanted: list[str]) -> str:
    """Empty when it is there, otherwise why not."""
    stamp = HOME / name / ".made-from"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == " ".join(wanted):
        return ""
    venv.create(HOME / name, with_pip=True, clear=True)
    command = [str(python_of(name)), "-m", "pip", "--disable-pip-version-check", "--quiet", "install", *wanted]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return done.stderr.strip().splitlines()[-1]
    stamp.write_text(" ".join(wanted), encoding="utf-8")
    return ""


def main() -> None:
    chosen = sys.argv[1:] or list(requirements())
    for name in chosen:
        print(f"{name}: {set_up(name, requirements()[name]) or 'ready'}", flush=True)


if __name__ == "__main__":
    main()
