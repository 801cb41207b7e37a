import os
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

MINIMAL = """
metadata: {name: clean-flights, namespace: flights, owner: data-platform, description: Cleans}
run: {kind: python, script: main.py}
outputs:
  - {name: flights, type: parquet, location: out/flights, description: Clean flights}
"""

Write = Callable[..., Path]


@pytest.fixture
def package(tmp_path: Path) -> Write:
    """Writes a package's folder: the text of its dk.yaml, and its program."""

    def write(manifest: str | bytes = MINIMAL, **files: str) -> Path:
        folder = tmp_path / "package"
        folder.mkdir(exist_ok=True)
        data = manifest if isinstance(manifest, bytes) else dedent(manifest).encode()
        (folder / "dk.yaml").write_bytes(data)
        (folder / "main.py").write_text("")
        for name, text in files.items():
            (folder / name.replace("_py", ".py").replace("_sql", ".sql")).write_text(dedent(text))
        return folder

    return write


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("HEADWATER_", "OPENLINEAGE_", "GIT_")):
            monkeypatch.delenv(name)
