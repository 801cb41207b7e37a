"""The version of a package's code: commit, branch and place in its git repository.

Asks the `git` program, because nothing else agrees with it about worktrees and configuration. No git, no repository, no commit: None.
Never reveals credentials of a remote's address, and takes at most a few seconds.
"""

import os
import re
import subprocess
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import msgspec

_SECONDS = 2.0  # a status of a very large repository may take longer; then `dirty` is unknown
_HOSTED = re.compile(r"(^|[.@/])(github|gitlab|bitbucket)\.")


class CodeVersion(msgspec.Struct, frozen=True, kw_only=True):
    """`dirty`: None if git did not answer in time; `repository`: without credentials; `path`: the package's, within the repository."""

    commit: str
    branch: str | None
    dirty: bool | None
    repository: str | None
    path: str
    root: str

    @property
    def url(self) -> str:
        """Return the URL of the package's code: its page on a known forge, else the repository, else the folder."""
        if self.repository is None:
            return f"file://{self.root}"
        if _HOSTED.search(self.repository) and self.repository.startswith("http"):
            page = f"{self.repository.removesuffix('.git')}/tree/{self.commit}"
            return f"{page}/{self.path}" if self.path else page
        return self.repository


def read(folder: str | os.PathLike[str]) -> CodeVersion | None:
    """Return the version of the code in `folder`; None without a git repository."""
    where = Path(folder)
    commit = _git(where, "rev-parse", "--verify", "HEAD")
    root = _git(where, "rev-parse", "--show-toplevel")
    if not commit or not root:
        return None
    status = _git(where, "status", "--porcelain", "--untracked-files=normal", "--", root)
    remote = _git(where, "config", "--get", "remote.origin.url")
    return CodeVersion(
        commit=commit,
        branch=_git(where, "symbolic-ref", "--short", "-q", "HEAD") or None,
        dirty=None if status is None else bool(status),
        repository=without_credentials(remote) if remote else None,
        path=(_git(where, "rev-parse", "--show-prefix") or "").rstrip("/"),
        root=root,
    )


def without_credentials(remote: str) -> str:
    """Return a remote's address without credentials: `https://token@h/o/r.git` and `git@h:o/r.git` both become `https://h/o/r.git`."""
    scp = re.match(r"^(?:[^@/]+@)?([^:/]+):(?!//)(.+)$", remote)
    if scp and len(scp[1]) > 1:
        return f"https://{scp[1]}/{scp[2].lstrip('/')}"
    parts = urlsplit(remote)
    if not parts.netloc:
        return remote
    host = parts.netloc.rpartition("@")[2]
    if parts.scheme in {"ssh", "git"}:
        return f"https://{host.partition(':')[0]}{parts.path}"
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


def _git(folder: Path, *words: str) -> str | None:
    """Return the output of a git command; None if it fails, is missing, or takes too long."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *words],
            env=environ | {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else None
