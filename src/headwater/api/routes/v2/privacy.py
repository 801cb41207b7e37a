"""`/api/v2/privacy`: where tagged values are, and whether observed lineage keeps to policies."""

from typing import Annotated

from litestar import get, post
from litestar.datastructures import State
from litestar.params import JSONBody, QueryParameter

from headwater.answer.privacy import check, where

Tag = Annotated[str, QueryParameter(max_length=2_000, description="`key`, or `key:value`.")]


@get("/privacy/where")
async def find_tagged(state: State, tag: Tag) -> where.PrivacyWhere:
    """Return every column that carries a tag, the way to it, and who reads it."""
    return await where.where(state.database, tag)


@post("/privacy/check", status_code=200, opt={"role": "read", "audit": False})
async def check_policies(state: State, data: JSONBody[check.CheckQuestion]) -> check.PolicyCheck:
    """Return what breaks policies. Changes nothing."""
    return await check.check(state.database, data)


handlers = [find_tagged, check_policies]
