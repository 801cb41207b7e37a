"""`/api/v2/whatif`: the effects of a change that is not made yet. `/api/v2/task-order`: of an order that was declared."""

from litestar import post
from litestar.datastructures import State
from litestar.params import JSONBody

from headwater.answer.lineage import task_order
from headwater.answer.whatif import whatif
from headwater.answer.whatif.changes import Question


@post("/whatif", status_code=200, opt={"role": "read", "audit": False})
async def ask_whatif(state: State, data: JSONBody[Question]) -> whatif.WhatIf:
    """Return what a change would break or alter, and whom to warn. Changes nothing."""
    return await whatif.whatif(state.database, data)


@post("/task-order", status_code=200, opt={"role": "read", "audit": False})
async def ask_task_order(state: State, data: JSONBody[task_order.Question]) -> task_order.TaskOrder:
    """Compare the declared order of a DAG's tasks with what their data asks for. Changes nothing."""
    return await task_order.task_order(state.database, data)


handlers = [ask_whatif, ask_task_order]
