"""The project's own scripts."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_a_script_that_is_told_to_end_ends_its_child_at_once() -> None:
    """Bash runs a trap only after a child in the foreground has ended; `attend` of scripts/env does not wait for it."""
    words = 'source scripts/env; trap "end_child; exit 143" TERM; (sleep 0.3; kill -TERM $$) & attend sleep infinity'
    done = subprocess.run(["bash", "-c", words], cwd=ROOT, timeout=60, check=False)
    assert done.returncode == 143
