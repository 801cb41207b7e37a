"""The checks of `doctor`, one function each."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import msgspec

from headwater.cli import output, server
from headwater.client import config
from headwater.client.backlog import rejected, waiting
from headwater.errors import HeadwaterError

_LINKS = 20  # Links listed one by one: a folder can hold thousands of similar files.


class Check(msgspec.Struct):
    """A finding: `bad` needs a repair, `warn` is for information."""

    name: str
    verdict: Literal["ok", "warn", "bad"]
    finding: str


def checks(url: str | None, packages: Path | None = None) -> list[Check]:
    """Run every check, in the order in which an event travels. `packages`: a folder of packages to compare with the declarations."""
    server.use_local()
    found = [*_destination(), *_spool(), *_java()]
    try:
        answer = server.get(url, "/api/v2/status")
    except HeadwaterError as error:
        return [*found, Check("server", "bad", error.message)]
    counts = answer["counts"]
    found.append(
        Check(
            "server",
            "ok",
            f"{server.address(url)} answers; {answer['events']['total']:,} events, {counts['datasets']:,} datasets",
        )
    )
    if not answer["events"]["total"]:
        found.append(
            Check(
                "events",
                "warn",
                "the server has never received an event: run a package, or point OPENLINEAGE_URL at it",
            )
        )
    questions: tuple[Callable[[str | None], Iterator[Check]], ...] = (
        _access,
        _producers,
        _stale,
        _contradictions,
        _links,
    )
    for question in questions:
        found.extend(question(url))
    if packages is not None:
        found.extend(_packages(packages, url))
    return found


def _packages(packages: Path, url: str | None) -> Iterator[Check]:
    from headwater.runner.agreement import differences
    from headwater.runner.executors.packages import package_files

    files = package_files(packages)
    found = differences(files, server.address(url), server.key(url))
    for each in found:
        yield Check(f"package {each.file}", "bad" if each.blocking else "warn", f"{each.field}: {each.text}")
    if not found:
        yield Check("packages", "ok", f"{len(files):,} packages in {packages} agree with the declarations")


def _access(url: str | None) -> Iterator[Check]:
    me = server.get(url, "/auth/me")
    if me["role"] == "read":
        yield Check("access", "bad", f"the key {me['name']!r} may read; sending events needs the role write")
    else:
        yield Check("access", "ok", f"{me['name']} may {me['role']}")


def _destination() -> Iterator[Check]:
    for found in config.destination().each:
        if found.remote:
            yield Check("destination", "ok", f"events go to {found.redacted} (from {found.source})")
        else:
            yield Check(
                "destination",
                "warn",
                f"events do not go to a server: transport {found.transport} (from {found.source})",
            )


def _spool() -> Iterator[Check]:
    to = config.destination()
    for folder in dict.fromkeys(one.spool for one in to.each if one.remote or not to.others):
        found = waiting(folder)
        if found.events:
            yield Check(
                "spool",
                "warn",
                f"{found.events:,} events wait in {folder}: `headwater events spool drain` delivers them",
            )
        else:
            yield Check("spool", "ok", f"no event waits in {folder}")
        files = rejected(folder)
        if files:
            count = sum(path.read_bytes().count(b"\n") for path in files)
            yield Check(
                "refused events",
                "bad",
                f"{count:,} events were refused for good, in {folder}: run `headwater events spool rejected` to see why",
            )


def _java() -> Iterator[Check]:
    import os

    home = os.environ.get("JAVA_HOME")
    java = f"{home}/bin/java" if home else shutil.which("java")
    if java is None:
        yield Check(
            "java", "warn", "no Java: PySpark packages cannot run here (pip install 'headwater[java]' brings one)"
        )
        return
    try:
        version_lines = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=20, check=False
        ).stderr.splitlines()
    except (OSError, subprocess.TimeoutExpired) as error:
        yield Check("java", "bad", f"{java} does not run: {error}")
        return
    yield Check("java", "ok", version_lines[0] if version_lines else java)


def _producers(url: str | None) -> Iterator[Check]:
    for producer in server.get(url, "/api/v2/producers")["producers"]:
        for warning in producer["warnings"]:
            yield Check(
                f"producer {producer['producer'][:60]}",
                "warn",
                f"{warning['code']} ×{warning['count']:,}: {warning['example']}",
            )
        for lost in producer["never_ended"]:
            yield Check(
                f"producer {producer['producer'][:60]}",
                "warn",
                f"{lost['runs']:,} run(s) of {lost['job']} began and never ended, and have been silent for a day",
            )


def _stale(url: str | None) -> Iterator[Check]:
    found = server.get(url, "/api/v2/stale-lineage")
    for one in found["sources"][:_LINKS]:
        since = f" (last: {output.moment(one['since'])} UTC)" if one["since"] else ""
        look = f": {one['look']}" if one["look"] else ""
        name = one["id"].removeprefix("job:")
        yield Check("stale lineage", "warn", f"{one['kind']} {name[:100]}: {one['text']}{since}{look}")
    if more := found["sources"][_LINKS:]:
        yield Check("stale lineage", "warn", f"{len(more):,} more like these: GET /api/v2/stale-lineage lists them all")
    if not found["sources"]:
        yield Check("lineage", "ok", "every producer, sync and job with a rhythm keeps it")


def _contradictions(url: str | None) -> Iterator[Check]:
    for one in server.get(url, "/api/v2/entity-contradictions")["contradictions"]:
        yield Check(f"entity {one['entity']}", "warn", f"`{one['field']}` {one['text']}")


def _links(url: str | None) -> Iterator[Check]:
    found = server.get(url, "/api/v2/near-misses")["near_misses"]
    for miss in found[:_LINKS]:
        yield Check(
            "missing link",
            "warn",
            f"{miss['read']} is read but never written; is it {miss['written']}, written but never read?",
        )
    if more := found[_LINKS:]:
        yield Check("missing link", "warn", f"{len(more):,} more like these: GET /api/v2/near-misses lists them all")
    if not found:
        yield Check("links", "ok", "no dataset looks like another under a different name")
