"""Report a run's instances to the server: started, then produced or failed, once each.

The server need not take reported instances from the run's events. A run never fails because the server does not answer: it logs that.
"""

import logging
from typing import Any

import msgspec

from headwater.client.ask import ask
from headwater.client.local_user import local_user
from headwater.client.reports import PATH, refusals
from headwater.errors import HeadwaterError
from headwater.runner import content
from headwater.runner.code_version import CodeVersion
from headwater.runner.making import Instance, Making, of_entity
from headwater.runner.manifest import Manifest
from headwater.runner.readiness import Server

log = logging.getLogger("headwater")

_SECONDS = 30.0
_AT_ONCE = 2_000


class Reporting:
    """The reports of one run. Each method returns whether the server has them; a refusal is only a warning, since a retry would not help."""

    def __init__(self, server: Server, making: Making, run_id: str) -> None:
        self._server, self._making, self._run = server, making, run_id

    def started(self) -> bool:
        """Report that the run is about to make them."""
        return self._send([self._about(name, "started") for name in self._making.entities])

    def failed(self, reason: str) -> bool:
        """Report that it failed to make them."""
        return self._send([self._about(name, "failed", reason=reason[:1000]) for name in self._making.entities])

    def produced(self, manifest: Manifest, code: str | None) -> bool:
        """Report that it made them, each from its inputs."""
        return self._send(
            [
                self._version(one, manifest, code)
                for name in self._making.entities
                for one in of_entity(self._making.instances, name)
            ]
        )

    def _about(self, entity: str, what: str, **more: Any) -> dict[str, Any]:
        some = [each.instance for each in of_entity(self._making.instances, entity)]
        return {
            "entity": entity,
            "what": what,
            "instances": some,
            "ref": self._run,
            "key": f"{self._run} {entity} {what}",
            **more,
        }

    def _version(self, one: Instance, manifest: Manifest, code: str | None) -> dict[str, Any]:
        report: dict[str, Any] = {
            "entity": one.entity,
            "what": "produced",
            "instances": [one.instance],
            "ref": self._run,
            "key": f"{self._run} {one.entity} produced {one.instance}",
            "states": [self._making.states[one.entity]],
            "code": code,
            "future": True,
        }
        if one.recorded:
            report["seq"] = self._making.seq
            report["reads"] = [
                {"entity": name, "instances": [each.instances for each in stretches]}
                for name, stretches in one.inputs.items()
            ]
        holds = [each for each in manifest.outputs if each.entity == one.entity and each.instance is not None]
        if len(holds) == 1 and (found := content.of_instance(holds[0], one.instance, one.start)):
            report |= {"fingerprint": found.fingerprint, "bytes": found.size}
        return report

    def _send(self, reports: list[dict[str, Any]]) -> bool:
        return all(self._post(reports[first : first + _AT_ONCE]) for first in range(0, len(reports), _AT_ONCE))

    def _post(self, reports: list[dict[str, Any]]) -> bool:
        try:
            reply = ask(
                self._server.url,
                PATH,
                {"as": local_user()},  # the author, on a server without sign-in
                api_key=self._server.api_key,
                timeout=_SECONDS,
                method="POST",
                body=msgspec.json.encode({"reports": reports}),
            )
        except HeadwaterError as error:
            log.warning("instances of this run are not reported; its events carry them: %s", error)
            return False
        for report, why in zip(reports, refusals(reply), strict=True):
            if why is not None:
                log.warning("%s %s: %s", report["entity"], report["what"], why)
        return True


def code_text(code: CodeVersion | None, manifest: Manifest) -> str | None:
    """Return the code of a version: the commit, with `+dirty` if files differ from it; without git the package's own version."""
    if code is None:
        return manifest.version
    return f"{code.commit}+dirty" if code.dirty else code.commit
