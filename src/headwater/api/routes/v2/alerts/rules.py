"""`/api/v2/rules`: rules of alerts: those that hold, new versions, and a try on the past."""

import datetime as dt
from typing import Annotated, Any

import msgspec
from litestar import Request, get, post, put
from litestar.datastructures import State
from litestar.params import JSONBody, PathParameter

from headwater.answer.alerts import rules as answers
from headwater.answer.alerts import sla
from headwater.api.alerting import dead_letters
from headwater.api.audit import audited_version
from headwater.api.authors import As, author
from headwater.api.routes.v2.parameters import OptionalText, Time, numbered
from headwater.entities.alerts.rules import RuleFile, read_rules
from headwater.intake.alerts import rules as writes
from headwater.model.moments import aware


class WantedRuleFiles(msgspec.Struct, forbid_unknown_fields=True):
    """Texts of rules, which replace all that hold. Empty: no rule holds."""

    files: list[RuleFile]


class CheckedRules(msgspec.Struct, frozen=True):
    """`rules` and `slas`: their names, in order."""

    rules: list[str]
    slas: list[str]


class RuleVersionFiles(msgspec.Struct, frozen=True):
    version: int
    files: list[RuleFile]


@get("/rules")
async def show_rules(state: State) -> answers.Rules:
    """Return the rules of alerts that hold, their texts and their versions."""
    return await answers.rules(state.database)


@get("/rules/versions/{version:str}")
async def show_rule_version(
    state: State, version: Annotated[str, PathParameter(description="Its number.")]
) -> RuleVersionFiles:
    """Return the texts of one version."""
    number = numbered(version)
    return RuleVersionFiles(number, await answers.version(state.database, number))


@get("/rules/sla")
async def show_sla(state: State, since: Time = None, of: OptionalText = None) -> sla.SlaReport:
    """Return how SLAs and the deadlines of rules were met, week by week; by default of the last eight weeks. `of`: by what this selector selects,
    such as `product:funnel` or a dataset's node id.
    """
    return await sla.sla(state.database, aware(since) or dt.datetime.now(dt.UTC) - dt.timedelta(weeks=8), of)


@put("/rules", status_code=200)
async def apply_rules(
    request: Request[Any, Any, Any], state: State, data: JSONBody[WantedRuleFiles], as_: As = None
) -> writes.AppliedRules:
    """Replace the rules by a new version. Wrong rules are answered with 422 and every mistake, and change nothing."""
    applied = await audited_version(
        request,
        "rules",
        data.files,
        author(request, as_),
        lambda by: writes.apply_rules(state.database, data.files, by=by),
    )
    return msgspec.structs.replace(applied, unmatched=await answers.unmatched_selectors(state.database, data.files))


@post("/rules/check", status_code=200, opt={"role": "read", "audit": False})
async def check_rules(data: JSONBody[WantedRuleFiles]) -> CheckedRules:
    """Read rules and change nothing. Wrong rules are answered with 422 and every mistake."""
    found = read_rules(data.files)
    return CheckedRules([rule.name for rule in found.rules], [sla.name for sla in found.slas])


@post("/rules/test", status_code=200, opt={"role": "read", "audit": False})
async def try_rules(state: State, data: JSONBody[answers.TestQuestion]) -> answers.TestedRules:
    """Return what rules would have told of the past, and to whom. Nothing is sent or stored."""
    return await answers.try_rules(state.database, data, await dead_letters(state.settings))


handlers = [show_rules, show_sla, show_rule_version, apply_rules, check_rules, try_rules]
