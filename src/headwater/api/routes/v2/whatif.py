"""`/api/v2/whatif`: the effects of a change that is not made yet."""

from litestar import post
from litestar.datastructures import State
from litestar.params import JSONBody

from headwater.answer.whatif import whatif
from headwater.answer.whatif.changes import Question


@post("/whatif", status_code=200, opt={"role": "read", "audit": False})
async def ask_whatif(state: State, data: JSONBody[Question]) -> whatif.WhatIf:
    """Return what a change would break or alter, and whom to warn. Changes nothing."""
    return await whatif.whatif(state.database, data)


handlers = [ask_whatif]
