"""The events of a dbt project as dbt-ol sends them: jobs under its names, with dbt's facets, and as runs where dbt's last command ran the models.

Nothing ran where that command was another one, as `dbt compile`: then a job is declared, without a run. Names and facets: openlineage-dbt 1.54.
"""

import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import yaml

from headwater.capture.dbt.manifest import Manifest, Node, Relation, read_json, reads
from headwater.client import event
from headwater.errors import InvalidQuestion

_SCHEMAS = "https://github.com/OpenLineage/OpenLineage/tree/main/integration/common/openlineage/schema"
_RUNNING = frozenset({"run", "build", "snapshot", "retry"})
_ENDS = {"success": "COMPLETE", "error": "FAIL", "fail": "FAIL", "partial success": "FAIL"}
_CHECKS = frozenset({"pass", "warn", "fail", "error"})
_CONFIG = ("materialized", "access", "owner", "group")
_INCREMENTAL = {
    "strategy": "incremental_strategy",
    "on_schema_change": "on_schema_change",
    "full_refresh": "full_refresh",
}
_MICROBATCH = ("event_time", "batch_size", "begin", "lookback")


class LastRun:
    """dbt's last command by its run_results.json: which nodes it ran, when, and how they ended."""

    def __init__(self, results: Node) -> None:
        self.metadata: Node = results.get("metadata") or {}
        self.command = str((results.get("args") or {}).get("which") or "")
        found = results.get("results") if self.command in _RUNNING | {"test"} else None
        self.results: dict[str, Node] = {
            str(one["unique_id"]): one
            for one in found or ()
            if one.get("timing")
            and one.get("status") in (_CHECKS if str(one["unique_id"]).startswith("test.") else _ENDS)
        }

    def run_id(self, id_: str = "") -> str:
        """The id of a node's run, or of the command's: the same however often it is reported."""
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"dbt:{self.metadata.get('invocation_id')}:{id_}"))

    def times(self, id_: str) -> tuple[str, str]:
        timing = self.results[id_]["timing"]
        return str(timing[0]["started_at"]), str(timing[-1]["completed_at"])

    def query_id(self, id_: str, adapter: str) -> str:
        """The warehouse's own id of the statement that built a node, as far as the adapter says it; BigQuery's with project and location."""
        response = self._response(id_)
        found = response.get("job_id" if adapter == "bigquery" else "query_id")
        place = (response.get("project_id"), response.get("location"))
        if not isinstance(found, str):
            return ""
        return f"{place[0]}:{place[1]}.{found}" if adapter == "bigquery" and all(place) else found

    def written(self, id_: str) -> Node:
        """The output's facet with the rows that the adapter counted; empty where it counted none. Bytes that it counts are those read."""
        rows = self._response(id_).get("rows_affected")
        if not isinstance(rows, int) or rows <= 0:
            return {}
        return {"outputFacets": {"outputStatistics": event.output_statistics(rows=rows)}}

    def _response(self, id_: str) -> Node:
        found = self.results[id_].get("adapter_response")
        return found if isinstance(found, dict) else {}


def last_run(path: Path) -> LastRun | None:
    """Read run_results.json; None where there is none. Raises InvalidQuestion for a file that is not dbt's."""
    if not path.is_file():
        return None
    content = read_json(path)
    try:
        return LastRun(content)
    except (AttributeError, KeyError, TypeError) as error:
        raise InvalidQuestion(f"{path} is not in dbt's format ({error}); let dbt write it again: dbt build") from error


class Reported:
    """The events of one project. `nodes`: those of its texts, by place; `tables`: those that are tables. `run`: None where dbt ran nothing."""

    def __init__(
        self,
        manifest: Manifest,
        nodes: Mapping[str, Node],
        tables: Mapping[Relation, Node],
        run: LastRun | None,
        root: Path,
    ) -> None:
        self.manifest, self.nodes, self.tables, self.root = manifest, nodes, tables, root
        self.run = run if run is not None and run.results else None
        self._exposures: dict[str, list[Node]] = defaultdict(list)
        for other in manifest.others.values():
            if other.get("resource_type") == "exposure":
                told = {key: other[key] for key in ("unique_id", "name", "type", "url") if other.get(key) is not None}
                for id_ in reads(other):
                    self._exposures[id_].append(told)

    def job(self, node: Node) -> str:
        kind, _, rest = str(node["unique_id"]).partition(".")
        name = ".".join(str(one) for one in (node.get("database"), node.get("schema"), rest) if one)
        building = self.run is not None and self.run.command == "build"
        if kind == "snapshot":
            return name + (".build.snapshot" if building else ".snapshot")
        return name + (".build.run" if building else "")

    def job_facets(self, node: Node) -> dict[str, Any]:
        kind = "SNAPSHOT" if node.get("resource_type") == "snapshot" else "MODEL"
        about = {key: node.get(key) for key in ("original_file_path", "database", "schema", "alias", "unique_id")}
        return {
            "jobType": event.job_type("BATCH", "DBT", kind),
            "dbt_node": _facet(
                "dbt-node-job-facet", **{key: value for key, value in about.items() if value is not None}
            ),
        }

    def dataset_facets(self, namespace: str, node: Node | None) -> dict[str, Any]:
        """Facets of a table in `namespace`, with what dbt says of the node that it is."""
        found: dict[str, Any] = {"dataSource": event.facet("DatasourceDatasetFacet", name=namespace, uri=namespace)}
        if node is None:
            return found
        if described := node.get("description"):
            found["documentation"] = event.documentation(str(described))
        if columns := (node.get("columns") or {}).values():
            told = [{"name": one["name"], "type": one.get("data_type"), "description": one.get("description")} for one in columns]  # fmt: skip
            found["schema"] = event.schema(
                {key: value for key, value in one.items() if value is not None} for one in told
            )
        if owner := (node.get("meta") or {}).get("owner"):
            owners = owner if isinstance(owner, list) else [owner]
            found["ownership"] = event.ownership([(str(one), None) for one in owners], of="Dataset")
        if config := _model_config(node.get("config") or {}):
            found["dbt_model"] = _facet("dbt-model-dataset-facet", config=config)
        if self._ended(node) != "FAIL" and (exposures := self._exposures.get(str(node["unique_id"]))):
            found["dbt_exposures"] = _facet("dbt-exposures-dataset-facet", exposures=exposures)
        return found

    def _ended(self, node: Node) -> str:
        result = self.run.results.get(str(node["unique_id"])) if self.run is not None else None
        return _ENDS[result["status"]] if result is not None else ""

    def events(
        self, node: Node, job_namespace: str, inputs: list[Any], outputs: list[Any], job_facets: dict[str, Any]
    ) -> Iterator[Node]:
        """START and the end of the model's run, or, if dbt did not run it, the job alone."""
        job = (job_namespace, self.job(node))
        facets = job_facets | self.job_facets(node)
        end = self._ended(node)
        if self.run is None or not end:
            yield event.job(job, inputs=inputs, outputs=outputs, job_facets=facets)
            return
        id_ = str(node["unique_id"])
        started, ended = self.run.times(id_)
        run_facets = self._node_facets(node, job_namespace)
        if query := self.run.query_id(id_, self.manifest.adapter):
            source = outputs[0]["namespace"] if outputs else ""
            run_facets["externalQuery"] = event.facet("ExternalQueryRunFacet", externalQueryId=query, source=source)
        written = [] if end == "FAIL" else [one | self.run.written(id_) for one in outputs]
        for state, moment, made in (("START", started, outputs), (end, ended, written)):
            yield event.run(
                state, run_id=self.run.run_id(id_), job=job, inputs=inputs, outputs=made, run_facets=run_facets, job_facets=facets,
                event_time=moment,
            )  # fmt: skip

    def test_events(self, job_namespace: str, dataset: Callable[[Relation], Node]) -> Iterator[Node]:
        """START and the end of one run for each table that dbt tested, with the result of each test, and of each test that is a query of its own.

        Such a query counts among the tests of a table if it reads no other: of several, the wrong one is not known. `dataset`: a table as an input.
        """
        tests: dict[str, list[Node]] = defaultdict(list)
        for id_ in self.run.results if self.run is not None else ():
            test = self.manifest.nodes.get(id_)
            if test is None or test.get("resource_type") != "test":
                continue
            if test.get("test_metadata"):
                tests[str(test.get("attached_node") or next(iter(reads(test)), ""))].append(test)
                continue
            read = self.manifest.inputs(test)
            if len(read) == 1 and (node := self.tables.get(read[0])):
                tests[str(node["unique_id"])].append(test)
            yield from self._singular_events(test, job_namespace, [dataset(table) for table in read])
        for table, node in self.tables.items():
            found = tests.get(str(node["unique_id"]))
            if found is None or self.run is None:
                continue
            facet = event.facet(
                "DataQualityAssertionsDatasetFacet/1-1-0", assertions=[self._assertion(one) for one in found]
            )
            tested = dataset(table)
            tested["facets"] = {"dataQualityAssertions": facet}
            tested["inputFacets"] = {"dataQualityAssertions": facet}
            kind, _, rest = str(node["unique_id"]).partition(".")
            own = rest if kind == "model" else str(node["unique_id"])
            base = ".".join(str(one) for one in (node.get("database"), node.get("schema"), own) if one)
            job = (job_namespace, base + (".build.test" if self.run.command == "build" else ".test"))
            facets = self.job_facets(node) | {"jobType": event.job_type("BATCH", "DBT", "TEST")}
            results = [self.run.results[str(one["unique_id"])] for one in found]
            times = [self.run.times(str(one["unique_id"])) for one in found]
            broken = any(one["status"] in {"fail", "error"} for one in results)
            run_facets = self._node_facets(node, job_namespace)
            for state, moment in (
                ("START", min(times)[0]),
                ("FAIL" if broken else "COMPLETE", max(end for _, end in times)),
            ):
                yield event.run(
                    state, run_id=self.run.run_id(f"test:{node['unique_id']}"), job=job, inputs=[tested], run_facets=run_facets,
                    job_facets=facets, event_time=moment,
                )  # fmt: skip

    def _singular_events(self, test: Node, job_namespace: str, inputs: list[Node]) -> Iterator[Node]:
        assert self.run is not None
        id_ = str(test["unique_id"])
        result = self.run.results[id_]
        told = {
            "name": id_,
            "status": "pass" if result["status"] == "pass" else "fail",
            "severity": _severity(test) or "error",
        } | _counted(test, result)
        if not inputs:
            query = result.get("compiled_code") or test.get("compiled_code") or test.get("raw_code")
            about = {"content": query, "contentType": "sql", "description": test.get("description")}
            told |= {"type": "singular"} | {key: value for key, value in about.items() if value}
        run_facets = self._node_facets(test, job_namespace) | {"test": event.facet("TestRunFacet", tests=[told])}
        facets = self.job_facets(test) | {"jobType": event.job_type("BATCH", "DBT", "TEST")}
        started, ended = self.run.times(id_)
        end = "FAIL" if result["status"] in {"fail", "error"} else "COMPLETE"
        for state, moment in (("START", started), (end, ended)):
            yield event.run(
                state, run_id=self.run.run_id(id_), job=(job_namespace, id_), inputs=inputs, run_facets=run_facets,
                job_facets=facets, event_time=moment,
            )  # fmt: skip

    def _assertion(self, test: Node) -> Node:
        assert self.run is not None
        result, kind = self.run.results[str(test["unique_id"])], test.get("test_metadata") or {}
        told = {
            "assertion": kind.get("name") or test.get("name"),
            "name": test.get("name"),
            "success": result["status"] == "pass",
            "column": (kind.get("kwargs") or {}).get("column_name") or test.get("column_name"),
            "severity": _severity(test) or None,
        } | _counted(test, result)
        return {key: value for key, value in told.items() if value is not None}

    def command_events(self, job_namespace: str) -> list[Node]:
        """START and the end of the command that ran the models; none where nothing ran."""
        if self.run is None:
            return []
        job, facets = self._command_job(job_namespace), {"jobType": event.job_type("BATCH", "DBT", "JOB")}
        times = [self.run.times(id_) for id_ in self.run.results]
        failed = {"fail", "error", "partial success"} & {str(one["status"]) for one in self.run.results.values()}
        ended = "FAIL" if failed else "COMPLETE"
        bounds = (("START", min(start for start, _ in times)), (ended, max(end for _, end in times)))
        return [
            event.run(
                state,
                run_id=self.run.run_id(),
                job=job,
                run_facets=self._run_facets(),
                job_facets=facets,
                event_time=moment,
            )
            for state, moment in bounds
        ]

    def _command_job(self, job_namespace: str) -> tuple[str, str]:
        return job_namespace, f"dbt-run-{self.manifest.project}"

    def _node_facets(self, node: Node, job_namespace: str) -> dict[str, Any]:
        assert self.run is not None
        parent = event.parent(self.run.run_id(), self._command_job(job_namespace))
        return self._run_facets() | {"parent": parent} | _tags(node)

    def _run_facets(self) -> dict[str, Any]:
        assert self.run is not None
        version = str(self.run.metadata.get("dbt_version") or "")
        about = {
            "invocation_id": self.run.metadata.get("invocation_id"),
            "project_name": self.manifest.project,
            "dbt_runtime": "core",
        }
        about |= self._project()
        return {
            "dbt_version": _facet("dbt-version-run-facet", version=version),
            "dbt_run": _facet("dbt-run-run-facet", **about),
            "processing_engine": event.processing_engine("dbt", version),
        }

    def _project(self) -> dict[str, Any]:
        """Return the version and the profile by dbt_project.yml, where it can be read: both only describe the run."""
        try:
            content = yaml.safe_load((self.root / "dbt_project.yml").read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, yaml.YAMLError):
            return {}
        known = content if isinstance(content, dict) else {}
        told = {"project_version": known.get("version"), "profile_name": known.get("profile")}
        return {key: str(value) for key, value in told.items() if value is not None}


def _facet(name: str, **fields: Any) -> Node:
    """A facet of dbt-ol's own."""
    return {"_producer": event.PRODUCER, "_schemaURL": f"{_SCHEMAS}/{name}.json", **fields}


def _tags(node: Node) -> dict[str, Any]:
    """Return the run's facet with a node's tags and what its `meta` says, each with its source; empty where there is neither."""
    tags = event.tags([(str(one), "true") for one in node.get("tags") or ()], "DBT", of="Run")
    about = node.get("meta") or {}
    told = {key: one if isinstance(one, str) else msgspec.json.encode(one).decode() for key, one in about.items()}
    tags["tags"] += event.tags(told, "DBT_META", of="Run")["tags"]
    return {"tags": tags} if tags["tags"] else {}


def _severity(test: Node) -> str:
    return str((test.get("config") or {}).get("severity") or "").lower()


def _counted(test: Node, result: Node) -> dict[str, str]:
    """Return the rows that a test found, and what it allows; empty where dbt counted none."""
    if (failures := result.get("failures")) is None:
        return {}
    limit = str((test.get("config") or {}).get("warn_if" if _severity(test) == "warn" else "error_if") or "!= 0")
    return {"actual": str(failures), "expected": "0" if "".join(limit.split()) == "!=0" else limit}


def _model_config(config: Node) -> Node:
    """Return the configuration of a model as dbt-ol reports it."""
    found: Node = {key: config[key] for key in _CONFIG if config.get(key)}
    if found.get("materialized") != "incremental":
        return found
    incremental: Node = {name: config[key] for name, key in _INCREMENTAL.items() if config.get(key) not in (None, "")}
    for name, keys in (
        ("unique_key", ("unique_key",)),
        ("incremental_predicates", ("incremental_predicates", "predicates")),
    ):
        listed = next((config[key] for key in keys if config.get(key)), None)
        if listed:
            incremental[name] = [listed] if isinstance(listed, str) else [one for one in listed if isinstance(one, str)]
    split = config.get("partition_by")
    if isinstance(split, dict):
        incremental["partition_by"] = {
            key: split[key] for key in ("field", "data_type", "granularity") if split.get(key)
        }
    elif split:
        incremental["partition_by"] = {"columns": [split] if isinstance(split, str) else split}
    if incremental.get("strategy") == "microbatch":
        incremental |= {key: config[key] for key in _MICROBATCH if config.get(key) is not None}
    return found | {"incremental": incremental}
