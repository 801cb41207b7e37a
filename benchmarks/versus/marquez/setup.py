"""Marquez from a checkout of its repository, compiled into .tools/versus/marquez: `python benchmarks/versus/marquez/setup.py --source FOLDER`.

Its releases are not on Maven Central, so its own sources are compiled with the dependencies (and versions) that its build files name, which
Maven brings. Needs a JDK 17 and Maven. Nothing of Marquez is kept in this repository.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.sax.saxutils import escape

HOME = Path(__file__).resolve().parents[3] / ".tools" / "versus" / "marquez"
CLASSES, LIBRARIES, VERSION = HOME / "classes", HOME / "lib", HOME / ".version"
MAIN = "marquez.MarquezApp"


def dependencies(source: Path) -> set[tuple[str, str, str]]:
    """Group, artifact and version of everything that the build files of the server and of its client ask for."""
    texts = [
        (source / name).read_text(encoding="utf-8")
        for name in ("build.gradle", "api/build.gradle", "clients/java/build.gradle")
    ]
    versions = dict(re.findall(r"(\w+Version)\s*=\s*'([^']+)'", "\n".join(texts)))
    found = set()
    for text in re.findall(r"^\s*implementation\s+[\"']([^\"']+)[\"']", "\n".join(texts), re.MULTILINE):
        group, artifact, version = re.sub(r"\$\{(\w+)\}", lambda name: versions[name[1]], text).split(":")
        found.add((group, artifact, version))
    return found


def classpath() -> str:
    return os.pathsep.join([str(CLASSES), *sorted(map(str, LIBRARIES.glob("*.jar")))])


def bring(source: Path) -> None:
    """Every library, with what it needs itself, into LIBRARIES."""
    wanted = "".join(
        f"<dependency><groupId>{escape(g)}</groupId><artifactId>{escape(a)}</artifactId><version>{escape(v)}</version></dependency>"
        for g, a, v in sorted(dependencies(source))
    )
    pom = HOME / "pom.xml"
    pom.write_text(
        "<project><modelVersion>4.0.0</modelVersion><groupId>peer</groupId><artifactId>peer</artifactId><version>1</version>"
        f"<dependencies>{wanted}</dependencies></project>",
        encoding="utf-8",
    )
    goal = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
    subprocess.run(["mvn", "-q", "-B", "-f", str(pom), goal, f"-DoutputDirectory={LIBRARIES}"], check=True)


def compile_(source: Path) -> None:
    roots = [source / "clients/java/src/main", source / "api/src/main"]
    sources = HOME / "sources.txt"
    sources.write_text(
        "\n".join(str(path) for root in roots for path in sorted((root / "java").rglob("*.java"))), encoding="utf-8"
    )
    libraries = os.pathsep.join(map(str, LIBRARIES.glob("*.jar")))
    command = [
        "javac",
        "-nowarn",
        "-parameters",
        "-encoding",
        "UTF-8",
        "--release",
        "17",
        "-d",
        str(CLASSES),
        "-cp",
        libraries,
        f"@{sources}",
    ]
    subprocess.run(command, check=True)
    for root in roots:
        shutil.copytree(root / "resources", CLASSES, dirs_exist_ok=True)


def version_of(source: Path) -> str:
    found = re.search(r"^version=(\S+)", (source / "gradle.properties").read_text(encoding="utf-8"), re.MULTILINE)
    return found[1] if found else "unknown"


def set_up(source: Path) -> None:
    """Compile it anew when the checkout is of another version than what is there."""
    version = version_of(source)
    if VERSION.exists() and VERSION.read_text(encoding="utf-8") == version:
        return
    shutil.rmtree(HOME, ignore_errors=True)
    CLASSES.mkdir(parents=True)
    bring(source)
    compile_(source)
    for path in CLASSES.rglob("*.properties"):
        path.write_text(path.read_text(encoding="utf-8").replace("@version@", version), encoding="utf-8")
    VERSION.write_text(version, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--source", type=Path, required=True, help="a checkout of Marquez's repository")
    set_up(parser.parse_args().source)
    print(f"Marquez {VERSION.read_text(encoding='utf-8')}: ready in {HOME}", file=sys.stderr)


if __name__ == "__main__":
    main()
