"""The input of `headwater sql`: files and folders of SQL, dbt projects, and the schemas beside them."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import typer

from headwater.cli.sql.statements import ParsedStatement
from headwater.columns import Catalog, Session, analyse
from headwater.columns.project import AnalysedText, Project, Text
from headwater.columns.session import Conventions
from headwater.errors import InvalidQuestion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headwater.capture.dbt.project import DbtProject, Dependent
    from headwater.cli.sql.schemas import Tables


class Options(msgspec.Struct, frozen=True):
    """The way to read texts. `dialect`: "" is a dbt project's own, else standard SQL. `database`, `schema`: for names without one."""

    dialect: str = ""
    schemas: tuple[Path, ...] = ()
    database: str = ""
    schema: str = ""
    through_views: bool = False
    conventions: tuple[str, ...] = ()
    manifests: bool = True
    """False: dbt projects are read from their files even where there is a manifest."""
    as_written: bool = False
    """True: of incremental models of dbt the text of their file is read, not the one that dbt compiled for the table as it was."""


class Reading:
    """The texts of some paths, analysed together: each sees what the others create.

    Raises InvalidQuestion for a path that is not there, a wrong option or a schema file that cannot be read. What is wrong inside of a dbt
    project, and cycles, are `problems`: the rest is read.
    """

    def __init__(self, paths: list[str], options: Options) -> None:
        self.options = options
        self._conventions = _conventions(options.conventions)
        self._read(paths)
        self._project = Project(self.dialect, self._catalog, self._session)
        self._created: Session | None = None
        """The session in which the views of the schemas were created."""
        if options.through_views and (views := _views(options.schemas)):
            created = self._session()
            analyse(views, self.dialect, self._catalog, created)
            self._created = created

    def share_parsed(self, other: Reading) -> None:
        """Take the texts that another reading has parsed, if both read them in the same way."""
        is_same = self.dialect == other.dialect and self._tables == other._tables and not self.options.through_views
        if is_same and not other.options.through_views and self._defaults == other._defaults:
            self._project.share_parsed(other._project)

    @property
    def _defaults(self) -> tuple[str, str, Conventions]:
        return self._database, self._schema, self._conventions

    def read_again(self, paths: list[str]) -> None:
        """Read the files again; texts that stayed as they were are not parsed again, if the schemas stayed too."""
        before = self._catalog.version
        self._read(paths)
        if self._catalog.version != before:
            self._project = Project(self.dialect, self._catalog, self._session)

    def _read(self, paths: list[str]) -> None:
        self.problems: list[str] = []
        self.dbt: list[DbtProject] = []
        self.files: list[str] = []
        self._paths(paths)
        options = self.options
        self.dialect = options.dialect or next((one.dialect for one in self.dbt), "")
        tables = _tables(self.dialect, options.schemas)
        for project in self.dbt:
            tables = {**project.tables, **tables}
        self._tables = tables
        self._catalog = Catalog(tables, self.dialect)
        self.types = {name: columns for name, columns in tables.items() if isinstance(columns, dict)}
        """Types of columns by table, where a schema or dbt's catalog.json lists them."""
        self._database, self._schema = _folded(options.database, self.dialect), _folded(options.schema, self.dialect)

    def statements(self, *, streaming: bool = False) -> Iterator[ParsedStatement]:
        """Yield every statement, those of a text after those of the texts that create what it reads. Call it again after files changed.

        `streaming`: statements are printed as they come, so that a progress bar would be in their way.
        """
        for found in self.analysed(streaming=streaming):
            if found.text.view != "ephemeral":
                for statement in found.statements:
                    yield ParsedStatement(found.text.place, found.text.text, statement)

    def analysed(self, *, streaming: bool = False) -> Iterator[AnalysedText]:
        """Yield every text with its statements, each after those that create what it reads."""
        texts = [text for project in self.dbt for text in project.texts]
        texts += [Text("stdin" if path == "-" else path, _text(path)) for path in self.files]
        with _progress(len(texts), shown=not (streaming and sys.stdout.isatty())) as advance:
            yield from self._project.analyse(texts, advance)
        self.problems += [
            f"{' and '.join(cycle)}: each reads what another creates; they are read in the order given"
            for cycle in self._project.cycles
        ]

    def dependents(self) -> list[Dependent]:
        """Return what dbt projects have that reads tables without SQL of its own: tests, exposures, metrics."""
        return [one for project in self.dbt for one in project.dependents]

    def model(self, place: str) -> tuple[DbtProject, tuple[tuple[str, ...], ...]] | None:
        """Return the dbt project of a model and what the model reads by dbt's account; None for other texts."""
        for project in self.dbt:
            if place in project.jobs:
                return project, project.reads[place]
        return None

    def _session(self) -> Session:
        through = self.options.through_views
        session = Session(self._database, self._schema, through_views=through, conventions=self._conventions)
        session.views.update(self._created.views if self._created else {})
        return session

    def _paths(self, given: list[str]) -> None:
        """Sort what was given into dbt projects and files; a folder is the *.sql files below it, in order; each file once."""
        found: dict[str, None] = {}
        for one in given:
            path = Path(one)
            if one == "-" or path.is_file():
                found[one] = None
            elif path.is_dir():
                project = self._dbt(path, one)
                if project is not None:
                    self.dbt.append(project)
                    self.problems += project.problems
                    continue
                below = sorted(str(file) for file in path.rglob("*.sql") if file.is_file())
                if not below:
                    raise InvalidQuestion(f"{one}: this folder has no *.sql file, and is no dbt project")
                found.update(dict.fromkeys(below))
            elif path.exists():
                found[one] = None  # a pipe, as in <(…)
            else:
                raise InvalidQuestion(f"{one}: no such file or folder")
        self.files = list(found)

    def _dbt(self, folder: Path, given: str) -> DbtProject | None:
        """Return the dbt project of a folder: one with dbt_project.yml, or the target folder of one; None for another folder."""
        from headwater.capture.dbt.files import PROJECT, read_files
        from headwater.capture.dbt.project import read_compiled

        is_project = (folder / PROJECT).is_file()
        manifest = folder / "target/manifest.json" if is_project else folder / "manifest.json"
        options = self.options
        if manifest.is_file() and options.manifests:
            root = folder if is_project else folder.parent
            try:
                shown = given if is_project else os.path.dirname(given)  # noqa: PTH120
                return read_compiled(manifest, root, shown, options.dialect, as_written=options.as_written)
            except InvalidQuestion as error:
                if not is_project:
                    raise
                self.problems.append(f"{error.message}; the project is read from its files instead")
        return read_files(folder, given, options.dialect, options.schema, options.database) if is_project else None


def _conventions(names: tuple[str, ...]) -> Conventions:
    chosen: dict[str, bool] = {}
    for name in names:
        key = name.removeprefix("no-").replace("-", "_")
        if key not in Conventions.__struct_fields__:
            known = ", ".join(one.replace("_", "-") for one in Conventions.__struct_fields__)
            raise InvalidQuestion(f"no convention is called {name!r}; there are {known}, each also with no- before it")
        chosen[key] = not name.startswith("no-")
    return msgspec.structs.replace(Conventions(), **chosen)


def _views(schemas: tuple[Path, ...]) -> str:
    """The views of the schemas as a script that creates them."""
    from headwater.cli.sql.schemas import views

    return "".join(
        f"create view {name} as {text.strip().rstrip(';')};\n" for path in schemas for name, text in views(path).items()
    )


def _tables(dialect: str, schemas: tuple[Path, ...]) -> Tables:
    """Read the columns of tables; the dialect is checked before."""
    from headwater.cli.sql.schemas import read
    from headwater.columns.dialect import rules

    try:
        rules(dialect)
    except ValueError as error:
        raise InvalidQuestion(str(error)) from error
    tables: Tables = {}
    for path in schemas:
        tables |= read(path, dialect)
    return tables


def _folded(name: str, dialect: str) -> str:
    """Fold a default name as the dialect folds names in a text; a quoted name stays."""
    from headwater.columns.catalog import split_name
    from headwater.columns.dialect import fold, rules

    rule = rules(dialect)
    if name[:1] in {'"', "`", "["}:
        return split_name(name)[0] if split_name(name) else ""
    return name if rule.tables_sensitive else fold(name, False, rule)


def _text(path: str) -> str:
    """Read a file's text: UTF-8, or UTF-16 by its first bytes. Other bytes become replacement characters, with a warning."""
    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        raise InvalidQuestion(f"{path}: {error.strerror or error}") from error
    encoding, called = ("utf-16", "UTF-16") if data[:2] in {b"\xff\xfe", b"\xfe\xff"} else ("utf-8-sig", "UTF-8")
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        where = "stdin" if path == "-" else path
        typer.echo(f"{where}: byte {error.start} is not {called}; such bytes are read as \ufffd", err=True)
        return data.decode(encoding, "replace")


@contextmanager
def _progress(total: int, *, shown: bool) -> Iterator[Callable[[], None]]:
    """Draw a bar on standard error if it is a terminal and work takes longer than a second; clear it at the end."""
    if not shown or not sys.stderr.isatty():
        yield lambda: None
        return
    import threading

    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn

    bar = Progress(BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=Console(stderr=True), transient=True)
    task = bar.add_task("", total=total)
    timer = threading.Timer(1.0, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda: bar.advance(task)
    finally:
        timer.cancel()
        timer.join()
        bar.stop()
