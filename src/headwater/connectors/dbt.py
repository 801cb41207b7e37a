"""dbt: the artifacts of a project, in a folder of the server's machine or below an address. What a model reads is dbt's own account.

`manifest.json` must be there; `catalog.json` adds columns, `run_results.json` the runs and the results of tests, `sources.json` the freshness of
sources.
"""

import datetime as dt
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from headwater.capture.dbt.artifacts import Artifacts, job_facets
from headwater.capture.dbt.freshness import freshness_events
from headwater.capture.dbt.manifest import BUILT, Manifest, Node, catalog_columns, read_json, read_manifest
from headwater.client import event
from headwater.client.context import Parent
from headwater.connectors import Send
from headwater.connectors.changed import Changes
from headwater.connectors.rest import Rest
from headwater.errors import InvalidQuestion, NotFound
from headwater.model import names
from headwater.model.connector_reports import ConnectorCheck, ConnectorTask, PullReport

_FILES: Final = ("manifest.json", "catalog.json", "run_results.json", "sources.json")
_MEANING: Final = {
    "catalog.json": ("columns", "dbt docs generate"),
    "run_results.json": ("runs and tests", "dbt build"),
}


def test(task: ConnectorTask) -> Iterator[ConnectorCheck]:
    settings = task.settings
    with _artifacts(settings) as folder:
        manifest = read_manifest(folder / _FILES[0])
        built = sum(node.get("resource_type") in BUILT for node in manifest.nodes.values())
        yield ConnectorCheck("manifest", "ok", f"project {manifest.project}: {built:,} models, seeds and snapshots")
        for name, (what, command) in _MEANING.items():
            if (folder / name).exists():
                yield ConnectorCheck(name, "ok", f"{name} has {what}")
            else:
                yield ConnectorCheck(name, "missing", f"there is no {name}, so {what} are not seen", command)


def pull(task: ConnectorTask, send: Send) -> PullReport:
    settings, before = task.settings, task.cursor or {}
    with _artifacts(settings) as folder:
        manifest = read_manifest(folder / _FILES[0])
        generated = _time(read_json(folder / _FILES[0]))
        catalog = folder / "catalog.json"
        columns = dict(catalog_columns(catalog)) if catalog.exists() else {}
        changes = Changes(before.get("nodes"))
        space, jobs = settings["namespace"], settings["job_namespace"]
        for key, node in manifest.nodes.items():
            relation = manifest.relation(node)
            if relation is None:
                continue
            fields = {name.lower(): kind for name, kind in columns.get(relation, {}).items()}
            inputs = manifest.inputs(node) if node.get("resource_type") in BUILT else []
            told = [relation, fields, inputs, node.get("description"), node.get("compiled_code"), node.get("tags")]
            if not changes.is_new(key, told):
                continue
            facets: dict[str, event.Facet] = {}
            if known := columns.get(relation):
                facets["schema"] = event.schema({"name": name, "type": kind} for name, kind in known.items())
            if node.get("description"):
                facets["documentation"] = event.documentation(node["description"])
            name = names.normalised(space, ".".join(relation))
            if node.get("resource_type") in BUILT:
                reads = [names.normalised(space, ".".join(one)) for one in inputs]
                send(
                    event.job(
                        (jobs, f"{manifest.project}.{node['name']}"),
                        inputs=[event.dataset(one.namespace, one.name) for one in reads],
                        outputs=[event.dataset(name.namespace, name.name, facets=facets)],
                        job_facets=job_facets(node),
                        event_time=generated,
                    )
                )
            elif facets:
                send(event.dataset_event(name.namespace, name.name, facets=facets, event_time=generated))
        invocation, newest = _send_runs(folder, space, jobs, before.get("invocation"), send)
        looked = _send_freshness(folder, manifest, space, jobs, before.get("freshness"), send)
    cursor = {"nodes": changes.digests, "invocation": invocation, "freshness": looked}
    return PullReport(len(manifest.nodes), cursor, newest or generated)


def _send_freshness(
    folder: Path, manifest: Manifest, space: str, jobs: str, before: str | None, send: Send
) -> str | None:
    """Send what `dbt source freshness` found, if it was not sent before. Returns its invocation."""
    path = folder / "sources.json"
    if not path.exists():
        return before
    found = read_json(path)

    def table(node: Node) -> names.DatasetName | None:
        relation = manifest.relation(node)
        return None if relation is None else names.normalised(space, ".".join(relation))

    try:
        invocation = str(found["metadata"]["invocation_id"])
        if invocation != before:
            for one in freshness_events(manifest, found["results"], invocation, jobs, table):
                send(one)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InvalidQuestion(f"sources.json is not in dbt's format ({error!r}); let dbt write it again") from error
    return invocation


def _send_runs(
    folder: Path, space: str, jobs: str, before: str | None, send: Send
) -> tuple[str | None, dt.datetime | None]:
    """Send the runs of an invocation that was not sent before. Returns the invocation, and when dbt wrote its results."""
    path = folder / "run_results.json"
    if not path.exists():
        return before, None
    results = read_json(path)
    invocation = str((results.get("metadata") or {}).get("invocation_id") or "")
    if invocation != before:
        manifest = read_json(folder / _FILES[0])
        # Read again after a pull that was cut off, the runs are the same ones.
        run_id = str(uuid.uuid5(uuid.NAMESPACE_URL, f"dbt:{invocation}:")) if invocation else event.run_id()
        parent = Parent(run_id, jobs, "dbt", run_id, jobs, "dbt")
        try:
            for one in Artifacts(manifest, space, parent).events(results["results"]):
                send(one)
        except (KeyError, TypeError, AttributeError) as error:
            raise InvalidQuestion(
                f"run_results.json is not in dbt's format ({error!r}); let dbt write it again"
            ) from error
    return invocation, _time(results)


def _time(artifact: Any) -> dt.datetime | None:
    text = (artifact.get("metadata") or {}).get("generated_at") if isinstance(artifact, dict) else None
    try:
        return msgspec.convert(text, dt.datetime, strict=False) if text else None
    except msgspec.ValidationError:
        return None


@contextmanager
def _artifacts(settings: Mapping[str, str]) -> Iterator[Path]:
    """Yield a folder with the artifacts. Raises InvalidQuestion if there is none, and as `Rest` does."""
    where = settings["artifacts"]
    if where.startswith(("http://", "https://")):
        with tempfile.TemporaryDirectory(prefix="headwater-dbt-") as folder:
            _download(where, settings.get("token"), Path(folder))
            yield Path(folder)
        return
    folder_ = Path(where).expanduser()
    target = next((one for one in (folder_, folder_ / "target") if (one / _FILES[0]).is_file()), None)
    if target is None:
        raise InvalidQuestion(
            f"there is no manifest.json in {folder_} or its target; run dbt compile there", field="artifacts"
        )
    yield target


def _download(url: str, token: str | None, folder: Path) -> None:
    with Rest(url, {"Authorization": f"Bearer {token}"} if token else None) as rest:
        for name in _FILES:
            try:
                (folder / name).write_bytes(msgspec.json.encode(rest.get(f"/{name}")))
            except NotFound:
                if name == _FILES[0]:
                    raise
