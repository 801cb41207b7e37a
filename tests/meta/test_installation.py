"""`pip install .` installs the page with the server, or refuses and says what to install."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The files that a wheel is built from, without a built page."""
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    (tmp_path / "src/headwater/api").mkdir(parents=True)
    shutil.copy(ROOT / "src/headwater/__init__.py", tmp_path / "src/headwater")
    shutil.copy(ROOT / "src/headwater_capture.pth", tmp_path / "src")
    return tmp_path


def build(clone: Path, path: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel"],
        cwd=clone, env=os.environ | {"PATH": path}, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_without_a_page_and_without_npm_it_is_refused(clone: Path) -> None:
    done = build(clone, str(clone / "nothing"))
    assert done.returncode != 0
    assert "The web page is not built" in done.stderr
    assert "or run `make web` first" in done.stderr


def test_without_a_page_it_is_built(clone: Path) -> None:
    script = clone / "scripts/build-web"
    script.write_text(
        "#!/bin/sh\nmkdir -p src/headwater/api/static && echo built > src/headwater/api/static/index.html\n"
    )
    (clone / "bin").mkdir()
    (clone / "bin/npm").symlink_to("/bin/true")
    done = build(clone, f"{clone}/bin:/bin:/usr/bin")
    assert done.returncode == 0, done.stderr
    (wheel,) = (clone / "dist").glob("*.whl")
    archive = zipfile.ZipFile(wheel)
    assert archive.read("headwater/api/static/index.html") == b"built\n"
    assert archive.read("headwater_capture.pth") == (ROOT / "src/headwater_capture.pth").read_bytes()
