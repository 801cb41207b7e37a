"""`/api/v2/privacy`: where tagged values are, and whether observed lineage keeps to policies."""

from typing import Annotated, Any

import msgspec
from litestar import Request, get, post, put
from litestar.datastructures import State
from litestar.params import JSONBody, QueryParameter

from headwater.answer.privacy import applied, check, deletion, signed_report, where
from headwater.api.audit import audited_version
from headwater.api.authors import As, author
from headwater.entities.privacy.policies import PolicyFile
from headwater.intake.privacy import policies as writes

Tag = Annotated[str, QueryParameter(max_length=2_000, description="`key`, or `key:value`.")]


@get("/privacy/where")
async def find_tagged(state: State, tag: Tag) -> where.PrivacyWhere:
    """Return every column that carries a tag, the way to it, and who reads it."""
    return await where.where(state.database, tag)


class WantedPolicyFiles(msgspec.Struct, forbid_unknown_fields=True):
    """Texts of policies, which replace all that hold. Empty: none holds."""

    files: list[PolicyFile]


@get("/privacy/policies")
async def show_policies(state: State) -> applied.AppliedPolicyFiles:
    """Return the policies that hold, their versions, and what breaks them now."""
    return await applied.applied_policies(state.database)


@put("/privacy/policies", status_code=200)
async def apply_policies(
    request: Request[Any, Any, Any], state: State, data: JSONBody[WantedPolicyFiles], as_: As = None
) -> writes.AppliedPolicies:
    """Replace the policies by a new version. Wrong policies are answered with 422 and every mistake, and change nothing."""
    return await audited_version(
        request,
        "policies",
        data.files,
        author(request, as_),
        lambda by: writes.apply_policies(state.database, data.files, by=by),
    )


@post("/privacy/check", status_code=200, opt={"role": "read", "audit": False})
async def check_policies(state: State, data: JSONBody[check.CheckQuestion]) -> check.PolicyCheck:
    """Return what breaks policies. Changes nothing."""
    return await check.check(state.database, data)


@post("/privacy/deletion", status_code=200, opt={"role": "read"})
async def plan_deletion(
    request: Request[Any, Any, Any], state: State, data: JSONBody[deletion.DeletionQuestion]
) -> signed_report.SignedReport:
    """Return, signed, where one subject's data may be, in which order to delete it, and how to prove it. Deletes nothing."""
    detail = {"key": data.key[:200], "tag": data.tag, "subject_sha256": data.subject_sha256}
    request.state.audit = {"action": "plan_deletion", "target": "privacy", "detail": detail}
    return signed_report.sign_report(await deletion.plan_deletion(state.database, data), state.outbound.key)


@post("/privacy/verify", status_code=200, opt={"role": "read", "audit": False})
async def verify_deletion(state: State, data: JSONBody[signed_report.SignedReport]) -> signed_report.Verification:
    """Return whether a report is as it was signed, and whether this server signed it."""
    return signed_report.verify_report(data, state.outbound.key)


handlers = [show_policies, apply_policies, find_tagged, check_policies, plan_deletion, verify_deletion]
