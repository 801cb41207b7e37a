"""The program of a package: `run` of a dk.yaml, or the one file in the folder that can be it.

Knows what each kind needs and nothing of how it is started (`command.py`).
"""

import shlex
from collections.abc import Callable
from pathlib import Path

import yaml

from headwater.runner.document import Document, Entry, suggestion
from headwater.runner.manifest import Program

DBT_PROJECT = "dbt_project.yml"
# By kind, the fields one of which names the program.
_TARGETS = {
    "pyspark": ("script", "module"),
    "python": ("script", "module"),
    "sql": ("file",),
    "command": ("command",),
    "jar": ("jar",),
    "dbt": ("project",),
}
KINDS = tuple(_TARGETS)
SPARK_KINDS = frozenset({"pyspark", "sql", "jar"})
_FIELDS = ("kind", "script", "module", "file", "command", "jar", "class", "project", "namespace", "args", "conf")
# Fields that only one kind has.
_ONLY = {"class": "jar", "namespace": "dbt"}
# Without `run`: the file that is the program, and its kind.
_BY_FILE = {"main.py": "python", "main.sql": "sql", "main.sh": "command", "main.jar": "jar", DBT_PROJECT: "dbt"}
Resolve = Callable[[str, yaml.Node, str], str]


class ProgramReader:
    """Reads `run`. `resolve` replaces every `${…}` of a text and notes an unknown name."""

    def __init__(self, document: Document, folder: Path, resolve: Resolve) -> None:
        self._document = document
        self._folder = folder
        self._resolve = resolve

    def read(self, top: dict[str, Entry], root: yaml.Node) -> Program:
        if "run" not in top:
            return self._from_folder(root)
        document, key = self._document, top["run"].key
        entries = document.mapping(top["run"].value, "run", _FIELDS)
        kind = document.text(entries, "kind", "run", owner=key) or ""
        if kind and kind not in KINDS:
            document.note(entries["kind"].value, "run.kind", f"is {kind!r}{suggestion(kind, KINDS)}")
        wanted = _TARGETS.get(kind, ("script", "module"))
        given = [name for name in entries if any(name in each for each in _TARGETS.values())]
        if kind == "dbt" and not given:
            given = ["project"]
        if len(given) != 1 or (kind in KINDS and given[0] not in wanted):
            document.note(entries[given[-1]].key if given else key, "run", f"needs exactly one of: {', '.join(wanted)}")
            given = given[:1]
        for name, only in _ONLY.items():
            if name in entries and kind in KINDS and kind != only:
                document.note(entries[name].key, f"run.{name}", f"goes with kind {only}")
        words = self._words(entries, given[0], kind) if given else [""]
        return Program(
            kind=kind,
            target=words[0],
            is_module=given[:1] == ["module"],
            class_name=document.text(entries, "class", "run", owner=key if kind == "jar" else None),
            namespace=self._text(entries, "namespace", key if kind == "dbt" else None),
            args=(*words[1:], *self._args(entries, kind)),
            conf=self._conf(entries),
        )

    def _from_folder(self, root: yaml.Node) -> Program:
        """Return the program of a package that names none: the one file here that can be it."""
        found = [name for name in _BY_FILE if (self._folder / name).is_file()]
        if len(found) != 1 or found[0] in {"main.jar", DBT_PROJECT}:
            named = f"; the folder has {' and '.join(found)}" if found else ""
            message = f"is required: name the program, as in `run: {{kind: pyspark, script: main.py}}`{named}"
            self._document.note(root, "run", message)
            return Program(kind="python", target="")
        file = self._folder / found[0]
        kind = _BY_FILE[found[0]]
        if kind == "command":
            return Program(kind=kind, target="sh", args=(str(file),))
        if kind == "python" and "pyspark" in file.read_text(encoding="utf-8", errors="replace"):
            kind = "pyspark"
        return Program(kind=kind, target=str(file))

    def _words(self, entries: dict[str, Entry], field: str, kind: str) -> list[str]:
        """Return the program, and for a command its first arguments."""
        if field == "command":
            return self._command(entries["command"].value)
        document = self._document
        text = "." if field not in entries else document.text(entries, field, "run") or ""
        if field in entries:
            text = self._resolve(text, entries[field].value, f"run.{field}")
        if field == "module" or not text:
            return [text]
        path = self._folder / text / (DBT_PROJECT if field == "project" else "")
        if not path.is_file():
            document.note(entries[field].value if field in entries else None, f"run.{field}", f"no such file: {path}")
        return [str(self._folder / text)]

    def _command(self, node: yaml.Node) -> list[str]:
        """A list of words, or a text that is split as a shell would split it; no shell runs it."""
        document = self._document
        if isinstance(node, yaml.ScalarNode):
            try:
                parts = shlex.split(document.scalar(node, "run.command") or "")
            except ValueError as error:
                document.note(node, "run.command", f"cannot be split into words: {error}")
                return [""]
            words = [self._resolve(part, node, "run.command") for part in parts]
        else:
            words = self._texts(node, "run.command")
        if not words:
            document.note(node, "run.command", "is empty")
            return [""]
        if "/" in words[0] and not (self._folder / words[0]).is_file():
            document.note(node, "run.command", f"no such file: {self._folder / words[0]}")
        return words

    def _args(self, entries: dict[str, Entry], kind: str) -> list[str]:
        if "args" not in entries:
            return ["build"] if kind == "dbt" else []
        return self._texts(entries["args"].value, "run.args")

    def _texts(self, node: yaml.Node, field: str) -> list[str]:
        found = []
        for index, each in enumerate(self._document.items(node, field)):
            place = f"{field}[{index}]"
            found.append(self._resolve(self._document.scalar(each, place) or "", each, place))
        return found

    def _text(self, entries: dict[str, Entry], name: str, owner: yaml.Node | None) -> str | None:
        text = self._document.text(entries, name, "run", owner=owner)
        return self._resolve(text, entries[name].value, f"run.{name}") if text else None

    def _conf(self, entries: dict[str, Entry]) -> dict[str, str]:
        if "conf" not in entries:
            return {}
        found = {}
        for name, each in self._document.mapping(entries["conf"].value, "run.conf").items():
            text = self._document.scalar(each.value, f"run.conf.{name}")
            found[name] = self._resolve(text or "", each.value, f"run.conf.{name}")
        return found
