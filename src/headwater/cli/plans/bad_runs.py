"""The bad run that `headwater repair --run` and `--dag` are about: what has to be cleared and started because of it, and its incident."""

from __future__ import annotations

from typing import Any

from headwater.cli import output, server
from headwater.cli.people.metadata import author
from headwater.cli.plans import impact
from headwater.cli.status import wrong_reads
from headwater.cli.status.incidents import left_out
from headwater.cli.status.instances import short
from headwater.errors import InvalidQuestion


class BadRun:
    """A run that made something wrong. `condemned`: what its incident is about, as `POST /api/v2/incidents` takes it."""

    def __init__(self, url: str | None, condemned: dict[str, Any], impact_: dict[str, Any] | None) -> None:
        self._url, self._condemned, self._impact = url, condemned, impact_

    @classmethod
    def by_id(cls, url: str | None, run: str) -> BadRun:
        """The run with this id, or its ending."""
        from headwater.cli import meaning

        found = meaning.find_object(url, run)
        if found["type"] != "RUN":
            raise InvalidQuestion(f"{meaning.described(found)}; --run takes the id of a run", given=run)
        return cls(url, {"origins": [{"kind": "RUN", "ref": found["id"], "columns": []}]}, None)

    @classmethod
    def of_dag(
        cls, url: str | None, dag: str, airflow: str | None, execution_date: str | None, run: str | None
    ) -> BadRun:
        """The run of a DAG that a date or its id names, with all tasks that make declared entities."""
        import msgspec

        asked = {
            "dag_id": dag,
            "airflow": airflow,
            "execution_date": server.time(execution_date),
            "run_id": run,
            "mode": "tainted",
        }
        found = msgspec.json.decode(server.send(url, "POST", "/api/v2/impact", asked))
        wrong = [
            {"entity": each["entity"], "instances": each["instances"]}
            for job in found["clear"]
            if job["dag_id"] == dag and len(job["because"]) <= 1
            for each in job["makes"]
        ]
        return cls(url, {"wrong": wrong}, found)

    def look(self) -> dict[str, Any]:
        """The work to do, by a dry run: `incident` (who is hit), `plan` (instances to rebuild), `impact` (tasks to clear, runs to start)."""
        import msgspec

        def ask(path: str, body: dict[str, Any]) -> dict[str, Any]:
            return dict(msgspec.json.decode(server.send(self._url, "POST", path, {**body, "dry_run": True})))

        if not any(self._condemned.values()):
            return {"incident": None, "plan": None, "impact": self._impact}
        hit = ask("/api/v2/incidents", {**self._condemned, "reason": ""})
        roots = [each for each in hit["hits"] if not each["depth"]]
        wrong = [{"entity": each["entity"], "instances": each["instances"]} for each in roots]
        plan = ask("/api/v2/plans", {"wrong": wrong}) if wrong and not any(each["more"] for each in roots) else None
        return {"incident": hit, "plan": plan, "impact": self._impact}

    def open_incident(self, reason: str, as_: str | None) -> str:
        """Return the id of the run's incident that is not mended; open one if there is none."""
        import msgspec

        if not any(self._condemned.values()):
            raise InvalidQuestion(
                "No instance exists that this run made. Look with --dry-run at what the run should have made."
            )
        roots = {each["entity"]: each["instances"] for each in self._condemned.get("wrong", [])}
        for one in server.get(self._url, "/api/v2/incidents", limit=1000)["incidents"]:
            if one["state"] != "retracted" and not one["mended"]:
                known = server.get(self._url, server.path("incidents", one["id"]))
                if (known["roots"], known["origins"]) == (roots, self._condemned.get("origins", [])):
                    return str(one["id"])
        if not reason:
            raise InvalidQuestion("say why: --reason TEXT, or look first with --dry-run")
        body = {**self._condemned, "reason": reason, "dry_run": False}
        answer = server.send(self._url, "POST", "/api/v2/incidents", body, **author(as_))
        return str(msgspec.json.decode(answer)["id"])


def show(found: dict[str, Any], limit: int) -> None:
    """Print what a dry run found."""
    from headwater.cli.plans.backfill import show_plan

    if found["impact"] is not None:
        impact.show(found["impact"])
    if (hit := found["incident"]) is None:
        return
    if hit["hits"]:
        output.line()
        rows = [
            (each["entity"], short(each["instances"]), f"{each['count']:,}", each["basis"], each["because"])
            for each in hit["hits"][:limit]
        ]
        output.table(("entity", "instances", "count", "basis", "through"), rows)
        left_out(len(hit["hits"]), limit, "entity")
    if found["plan"] is not None:
        output.line()
        show_plan(found["plan"], "")
    if hit["reads"]:
        wrong_reads.print_reads(hit["reads"], limit)
    output.line(
        "nothing was written; --reason TEXT in place of --dry-run opens the incident and stores the plan", "dim"
    )
