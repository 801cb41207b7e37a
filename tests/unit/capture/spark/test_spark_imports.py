"""A step after an import: once, whatever came before it and however the module is packed."""

import importlib
import importlib.util
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from headwater.capture.spark.imports import _waiting, after_import


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]
    _waiting.acts.clear()
    if _waiting in sys.meta_path:
        sys.meta_path.remove(_waiting)


def test_a_module_that_was_only_asked_for_is_still_seen(modules: Path) -> None:
    (modules / "hw_asked.py").write_text("x = 1")
    seen: list[ModuleType] = []
    after_import("hw_asked", seen.append)
    assert importlib.util.find_spec("hw_asked") is not None
    assert seen == []
    module = importlib.import_module("hw_asked")
    assert seen == [module]
    assert type(module.__loader__).__name__ == "SourceFileLoader"
    assert _waiting not in sys.meta_path


def test_a_module_whose_first_import_fails_is_still_seen(modules: Path) -> None:
    (modules / "hw_failing.py").write_text("import sys\nif not hasattr(sys, 'hw_ready'): raise ImportError('not yet')")
    seen: list[ModuleType] = []
    after_import("hw_failing", seen.append)
    with pytest.raises(ImportError):
        importlib.import_module("hw_failing")
    sys.hw_ready = True  # type: ignore[attr-defined]
    try:
        assert seen == []
        module = importlib.import_module("hw_failing")
        assert seen == [module]
    finally:
        del sys.hw_ready  # type: ignore[attr-defined]


def test_of_an_archive_only_the_wanted_module_is_seen(modules: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = modules / "packed.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for name in ("hw_one", "hw_two"):
            packed.writestr(f"{name}.py", "x = 1")
    monkeypatch.syspath_prepend(str(archive))
    seen: list[str] = []
    after_import("hw_one", lambda module: seen.append(module.__name__))
    importlib.import_module("hw_one")
    importlib.import_module("hw_two")
    assert seen == ["hw_one"]


def test_a_module_whose_import_has_begun_is_seen_when_it_is_whole(modules: Path) -> None:
    (modules / "hw_begun.py").write_text("import hw_asks\nx = 1")
    (modules / "hw_asks.py").write_text(
        "from headwater.capture.spark.imports import after_import\n"
        "seen = []\n"
        "after_import('hw_begun', lambda module: seen.append(module.x))\n"
    )
    (modules / "hw_next.py").write_text("")
    importlib.import_module("hw_begun")
    importlib.import_module("hw_next")
    assert sys.modules["hw_asks"].seen == [1]
