"""Compare the lineage that capture and the official jar tell of programs with what was worked out by hand.

`python benchmarks/versus/spark/run.py [--spark LINE] [--jar JAR] [--page PAGE] [--only NAME …]` runs the programs of
`benchmarks/cases/spark-coverage` once for each of the two, and writes the table. Fails if capture's part is not as the list says.
A fact is a read, a dataset that is made from another, or a column that has the values of another.

Programs of Delta and of Iceberg run in a Spark of their own that has its extension; all others in a plain one. LINE: 4.1 (the default, by
`scripts/lake`); with 3.5, 4.0 or 4.3 those of Delta and Iceberg are left out.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[3]
HERE = Path(__file__).parent
PROGRAMS = ROOT / "benchmarks/cases/spark-coverage/programs.yaml"
Fact = tuple[str, ...]
# PySpark 4.0 refuses pandas-on-Spark otherwise.
CONF = {"4.0": ["--conf", "spark.sql.ansi.enabled=false"]}
# The settings of Spark for tables with versions, by the kind of the programs.
LAKES = {
    "Delta": {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    },
    "Iceberg": {
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.ice.type": "hadoop",
        "spark.sql.catalog.ice.warehouse": "FOLDER/ice",
    },
}


def expected(program: dict[str, Any]) -> set[Fact]:
    """The facts that were worked out by hand."""
    found: set[Fact] = {("read", name) for name in program.get("reads", [])}
    for output, made in program.get("writes", {}).items():
        found |= {("edge", source, output) for source in made["from"]}
        for column, sources in (made["columns"] or {}).items():
            found |= {("column", source, f"{output}.{column}") for source in sources}
        for column, sources in made.get("decided", {}).items():
            found |= {("decides", source, f"{output}.{column}") for source in sources}
    return found


def told(program: dict[str, Any], number: int, folder: Path, home: str, events: list[dict[str, Any]]) -> set[Fact]:
    """The facts that events tell. Columns of outputs that a function makes are left out, and what only decides about rows."""

    def short(dataset: dict[str, Any]) -> str:
        name = str(dataset["name"])
        name = name.removeprefix(f"{folder}/").removeprefix("/")
        name = name.replace(f"out{number}/", "out/", 1) if name.startswith(f"out{number}/") else name
        return f"spark/{name.removeprefix(home)}" if name.startswith((home, "data/")) else name

    decided = {output for output, made in program.get("writes", {}).items() if "decided" in made}
    made_by_function = {output for output, made in program.get("writes", {}).items() if made["columns"] is None}
    found: set[Fact] = set()
    read: set[str] = set()
    runs: dict[str, list[dict[str, Any]]] = {}
    for event in events:  # what is said of a run adds up
        runs.setdefault(event["run"]["runId"], []).append(event)
    for some in runs.values():
        inputs = {short(one) for event in some for one in event.get("inputs", [])}
        outputs = [one for event in some for one in event.get("outputs", [])]
        if not outputs:
            read |= inputs
        for output in outputs:
            name = short(output)
            found |= {("edge", source, name) for source in inputs}
            fields = output.get("facets", {}).get("columnLineage", {}).get("fields", {})
            if name in made_by_function:
                continue
            for column, made in fields.items():
                for one in made["inputFields"]:
                    hows = [how.get("type") for how in one.get("transformations", [])]
                    top = str(one["field"]).split(".", 1)[0]
                    if "." not in column and (not hows or "DIRECT" in hows):
                        found.add(("column", f"{short(one)}.{top}", f"{name}.{column}"))
                    elif "." not in column and name in decided:
                        found.add(("decides", f"{short(one)}.{top}", f"{name}.{column}"))
    # A read is one where the program writes nothing: else it is part of an edge.
    return found | {("read", name) for name in read} if program.get("reads") else found


def run(words: list[str], folder: Path, env: dict[str, str], how: str, programs: Path) -> list[dict[str, Any]]:
    command = [*words, str(HERE / "driver.py"), str(programs), str(folder), str(folder / "events"), how]
    folder.mkdir(parents=True)
    ended = subprocess.run(command, env=os.environ | env, cwd=folder, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise SystemExit(ended.stderr[-3000:])
    found: list[dict[str, Any]] = json.loads((folder / "told.json").read_text())
    return found


def judge(
    programs: list[dict[str, Any]], folder: Path, home: str, said: list[dict[str, Any]]
) -> list[tuple[set[Fact], set[Fact], set[Fact]]]:
    """By program the facts that are right, wrong and missing."""
    result = []
    for number, (program, one) in enumerate(zip(programs, said, strict=True)):
        right, have = expected(program), told(program, number, folder, home, one["events"])
        result.append((right & have, have - right, right - have))
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spark", choices=("3.5", "4.0", "4.1", "4.3"), default="4.1")
    parser.add_argument("--jar", type=Path)
    parser.add_argument("--page", type=Path)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--keep", type=Path, help="a new folder for what was run")
    options = parser.parse_args()
    programs = yaml.safe_load(PROGRAMS.read_text())
    programs = [one for one in programs if not options.only or one["name"] in options.only]
    if options.spark != "4.1":
        programs = [one for one in programs if one["kind"] not in LAKES]
    submit, home = spark(options.spark)
    with tempfile.TemporaryDirectory() as temporary:
        top = options.keep or Path(temporary)
        top.mkdir(exist_ok=True)
        results = {}
        for how in ["ours", *(["jar"] if options.jar else [])]:
            results[how] = measured(programs, how, top, [*submit, *CONF.get(options.spark, [])], home, options.jar)
    text = table(programs, results)
    ours = zip(programs, results["ours"], strict=True)
    changed = [one["name"] for one, (_, wrong, missing) in ours if wrong or len(missing) != one.get("known_missing", 0)]
    print(text)
    if options.page:
        mark = "<!-- the table -->\n" if options.spark == "4.1" else f"<!-- the table of Spark {options.spark} -->\n"
        before, found, rest = options.page.read_text().partition(mark)
        if not found:
            raise SystemExit(f"{options.page} has no line {mark.strip()}: put it where the table belongs.")
        _, _, after = rest.partition("\n\n")
        options.page.write_text(f"{before}{mark}{text}\n" + (f"\n{after}" if after else ""))
    if changed:
        raise SystemExit(f"Not as the list says: {', '.join(changed)}")


def spark(line: str) -> tuple[list[str], str]:
    """The `spark-submit` of a line of Spark, and its home as names of datasets have it."""
    if line == "4.1":
        command, environment = [ROOT / "scripts/lake"], "lake"
    else:
        command, environment = [ROOT / "scripts/environment", f"spark-{line}"], f"spark-{line}"
    if line == "4.3":
        home = Path(sysconfig.get_path("purelib")) / "pyspark"
        words = ["env", f"SPARK_HOME={home}", f"PYSPARK_PYTHON={sys.executable}", str(home / "bin/spark-submit")]
        return words, f"{home}/".lstrip("/")
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    if line == "4.1":
        words = shlex.split(printed)
        return words, next(word.split("=", 1)[1] for word in words if word.startswith("SPARK_HOME=")).lstrip("/") + "/"
    (home,) = (ROOT / ".tools" / environment / "lib").glob("python3*/site-packages/pyspark")
    words = ["env", f"SPARK_HOME={home}", f"PYSPARK_PYTHON={printed.strip()}", str(home / "bin/spark-submit")]
    return words, f"{home}/".lstrip("/")


def measured(
    programs: list[dict[str, Any]], how: str, top: Path, submit: list[str], home: str, jar: Path | None
) -> list[tuple[set[Fact], set[Fact], set[Fact]]]:
    """By program the facts that one of the two told rightly, wrongly and not."""
    found: dict[str, tuple[set[Fact], set[Fact], set[Fact]]] = {}
    for lake in ("", *LAKES):
        some = [one for one in programs if (one["kind"] if one["kind"] in LAKES else "") == lake]
        if not some:
            continue
        folder = top / f"{how}{lake}"
        chosen = top / f"programs{lake}.yaml"
        chosen.write_text(yaml.safe_dump(some))
        words, env = settings(submit, folder, how, jar, lake)
        said = run(words, folder, env, how, chosen)
        for program, one, facts in zip(some, said, judge(some, folder, home, said), strict=True):
            found[program["name"]] = facts
            for what, listed in (("wrong", facts[1]), ("missing", facts[2])):
                for fact in sorted(listed):
                    print(f"{how}: {program['name']}: {what}: {' '.join(fact)}", file=sys.stderr)
            if one["error"]:
                print(f"{how}: {program['name']}: {one['error']}", file=sys.stderr)
    return [found[program["name"]] for program in programs]


def settings(
    submit: list[str], folder: Path, how: str, jar: Path | None, lake: str
) -> tuple[list[str], dict[str, str]]:
    """The `spark-submit` of one of the two, and its environment. `lake`: the tables with versions that it has, or empty."""
    conf = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        **{key: value.replace("FOLDER", str(folder)) for key, value in LAKES.get(lake, {}).items()},
    }
    env = {"PYTHONPATH": f"{ROOT}/src:{sysconfig.get_path('purelib')}"}
    words = [*submit, "--master", "local[1]", "--driver-memory", "2g"]
    if not lake and "--jars" in words:
        at = words.index("--jars")
        words[at : at + 2] = []
    if how == "jar":
        conf |= {
            "spark.extraListeners": "io.openlineage.spark.agent.OpenLineageSparkListener",
            "spark.openlineage.transport.type": "file",
            "spark.openlineage.transport.location": f"{folder}/events",
        }
        if "--jars" in words:
            words[words.index("--jars") + 1] += f",{jar}"
        else:
            words += ["--jars", str(jar)]
    else:
        env |= {
            "PYTHONPATH": f"{ROOT}/src/headwater/capture/spark/site:{env['PYTHONPATH']}",
            "HEADWATER_CAPTURE": "spark",
            "HEADWATER_TRANSPORT": "file",
            "HEADWATER_EVENTS_FILE": f"{folder}/events",
            "HEADWATER_HOME": f"{folder}/home",
            "HEADWATER_SPARK_HEARTBEAT": "0",
        }
    for key, value in conf.items():
        words += ["--conf", f"{key}={value}"]
    return words, env


def table(programs: list[dict[str, Any]], results: dict[str, list[tuple[set[Fact], set[Fact], set[Fact]]]]) -> str:
    """The table in Markdown."""
    named = {"ours": "Headwater", "jar": "official jar"}
    heads = [f"{named[how]}: {what}" for how in results for what in ("found", "wrong", "missing")]
    rows = [["program", "kind", "expected", *heads], ["---"] * (3 + len(heads))]
    sums = [0] * (1 + len(heads))
    for number, program in enumerate(programs):
        counts = [len(expected(program)), *(len(part) for how in results for part in results[how][number])]
        sums = [a + b for a, b in zip(sums, counts, strict=True)]
        rows.append([program["name"], program["kind"], *map(str, counts)])
    rows.append(["**all**", "", *(f"**{count}**" for count in sums)])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


if __name__ == "__main__":
    main()
