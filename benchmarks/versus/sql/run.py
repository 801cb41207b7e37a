"""Column lineage of TPC-DS and TPC-H: this engine and its peers against what Spark's analyzer says.

    python benchmarks/versus/sql/run.py [--peers headwater sqlglot …] [--rounds 3] [--json FILE]

Texts and schemas from scripts/corpus, expected edges from tests/cases/columns/tpc. Every peer runs in an environment of its own under
.tools/versus (setup.py makes those that are missing) behind an adapter of a few lines (peers/). Counted alike for all: a query is exact
when every output has the base columns its value is made of; the conditions of CASE and the columns of a window may be among them or not, since
engines differ in what they call them, and so may the argument of GROUPING(). Outputs are compared by name without case, of equal names together;
names that only one side has are compared by their inputs, so the naming of unnamed outputs does not count. Speed is CPU time, the best of
--rounds, of what gives those edges; what a peer computes beside them is its own business. Without schemas: of all edges over all queries.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from setup import python_of, requirements, set_up

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
SUITES = {"tpc-ds": 99, "tpc-h": 22}
PEERS = ("headwater", "sqlglot", "datahub", "sqllineage", "collate", "openlineage", "sqllineage_rs", "polyglot")
DIRECT = {"IDENTITY", "TRANSFORMATION", "AGGREGATION"}
CANNOT = {
    "sqlglot": "no statements but queries, no indirect edges",
    "datahub": "indirect edges: joins only",
    "sqllineage": "no indirect edges; outputs without order",
    "collate": "takes no schemas; no indirect edges",
    "openlineage": "takes no schemas; no indirect edges",
    "sqllineage_rs": "no indirect edges",
    "polyglot": "one query at a time",
}
Edges = dict[str, set[tuple[str, str]]]
Truth = dict[str, tuple[set[tuple[str, str]], set[tuple[str, str]]]]


def expected(suite: str) -> list[Truth]:
    """Return each query's outputs → (the base columns its value is made of, those and the others that decide about it: CASE, windows)."""
    cases = json.loads((ROOT / "tests/cases/columns/tpc" / f"{suite}.json").read_text(encoding="utf-8"))
    found = []
    for number, case in sorted(cases.items()):
        text = (ROOT / ".tools/corpus" / suite / f"{number}.sql").read_text(encoding="utf-8").lower()
        grouping = {("*", column) for column in re.findall(r"grouping\(\s*(\w+)\s*\)", text)}
        outputs: Truth = {}
        for name, inputs in case["columns"]:
            must, may = outputs.setdefault(name.lower(), (set(), set()))
            for column, kinds in inputs.items():
                table, field = column.split(".")
                may.add((table, field))
                if DIRECT & set(kinds.split()):
                    must.add((table, field))
            if not must:
                may |= grouping
        found.append(outputs)
    return found


def by_name(outputs: Any) -> Edges:
    found: Edges = {}
    for name, inputs in [] if isinstance(outputs, dict) else outputs:
        found.setdefault(name, set()).update((table, column) for table, column in inputs)
    return found


def wrong(given: set[tuple[str, str]], may: set[tuple[str, str]]) -> set[tuple[str, str]]:
    return {(table, column) for table, column in given - may if ("*", column) not in may}


def compared(truth: Truth, given: Edges) -> tuple[int, int, int]:
    """Edges in both, only in the truth, only given."""
    pairs = [(*truth[name], given[name]) for name in truth.keys() & given.keys()]
    extra = [given[name] for name in sorted(given.keys() - truth.keys())]
    for name in sorted(truth.keys() - given.keys()):
        must, may = truth[name]
        fits = next((one for one in extra if must <= one and not wrong(one, may)), None)
        if fits is not None:
            extra.remove(fits)
        pairs.append((must, may, fits or set()))
    pairs += [(set(), set(), one) for one in extra]
    both = sum(len(must & one) for must, _, one in pairs)
    return both, sum(len(must - one) for must, _, one in pairs), sum(len(wrong(one, may)) for _, may, one in pairs)


def scored(suite: str, told: dict[str, Any]) -> dict[str, Any]:
    truths = expected(suite)
    exact, raised, sums = 0, 0, [0, 0, 0]
    not_exact = []
    for number, (truth, given) in enumerate(zip(truths, told["with"], strict=True), 1):
        raised += isinstance(given, dict)
        outcome = compared(truth, by_name(given))
        exact += outcome[1:] == (0, 0) and not isinstance(given, dict)
        if outcome[1:] != (0, 0) or isinstance(given, dict):
            not_exact.append(number)
    raised_without = 0
    for truth, given in zip(truths, told["without"], strict=True):
        raised_without += isinstance(given, dict)
        for place, count in enumerate(compared(truth, by_name(given))):
            sums[place] += count
    both, missing, only = sums
    return {
        "exact": exact,
        "queries": len(truths),
        "not_exact": not_exact,
        "raised": raised,
        "statements_per_second": round(len(truths) / told["seconds"], 1),
        "precision_without_schemas": round(100 * both / (both + only), 1) if both + only else None,
        "recall_without_schemas": round(100 * both / (both + missing), 1),
        "raised_without_schemas": raised_without,
    }


def job(peer: str, rounds: int) -> str:
    suites = {}
    for suite, count in SUITES.items():
        folder = ROOT / ".tools/corpus" / suite
        texts = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.sql"))]
        if len(texts) != count:
            sys.exit("the TPC texts are missing: run scripts/corpus")
        suites[suite] = {"texts": texts, "schemas": json.loads((folder / "schema.json").read_text(encoding="utf-8"))}
    return json.dumps({"peer": peer, "rounds": rounds, "suites": suites})


def taken(peer: str, rounds: int) -> dict[str, Any]:
    python = sys.executable
    env = dict(os.environ)
    if peer != "headwater":
        reason = set_up(peer, requirements()[peer])
        if reason:
            return {"error": reason}
        python = str(python_of(peer))
        env.pop("PYTHONPATH", None)
    done = subprocess.run(
        [python, str(HERE / "worker.py")], input=job(peer, rounds), capture_output=True, text=True, check=False, env=env
    )
    if done.returncode:
        return {"error": done.stderr.strip().splitlines()[-1]}
    told = json.loads(done.stdout)
    return {suite: scored(suite, told[suite]) for suite in SUITES}


def said(results: dict[str, Any]) -> None:
    print(
        "| engine | TPC-DS exact | TPC-H exact | TPC-DS, statements/s | without schemas: precision / recall, % | raises | cannot |"
    )
    print("|---|---|---|---|---|---|---|")
    for peer, result in results.items():
        if "error" in result:
            print(f"| {peer} | did not run: {result['error']} | | | | | |")
            continue
        ds, h = result["tpc-ds"], result["tpc-h"]
        print(
            f"| {peer} | {ds['exact']}/{ds['queries']} | {h['exact']}/{h['queries']} | {ds['statements_per_second']:,.0f} "
            f"| {ds['precision_without_schemas']} / {ds['recall_without_schemas']} "
            f"| {ds['raised'] + h['raised']} with, {ds['raised_without_schemas'] + h['raised_without_schemas']} without schemas "
            f"| {CANNOT.get(peer, '')} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--peers", nargs="*", default=list(PEERS), choices=PEERS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--json", type=Path, default=ROOT / ".tools/versus/sql.json", help="where the figures are written too"
    )
    args = parser.parse_args()
    results = {peer: taken(peer, args.rounds) for peer in args.peers}
    said(results)
    args.json.parent.mkdir(parents=True, exist_ok=True)
    args.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
