"""The tools: for each question its name, what it covers, and its arguments as JSON Schema."""

import datetime as dt
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from headwater.errors import InvalidQuestion
from headwater.mcp import questions
from headwater.mcp.budget import LARGEST, SMALLEST, USUAL, Answer
from headwater.mcp.questions import Arguments, Ask

_NAME = {
    "type": "string",
    "description": "A name or the end of one (`orders`, `shop.orders`), or a node id (`dataset:NAMESPACE:NAME`).",
}
_COLUMN = {"type": "string", "description": "A dataset or a column: `shop.orders`, `shop.orders.amount`."}
_TYPE = {"type": "string", "enum": ["DATASET", "JOB"], "description": "If a dataset and a job have the name."}
_NAMESPACE = {"type": "string", "description": "Only this namespace."}
_DIRECTION = {"type": "string", "enum": ["both", "upstream", "downstream"], "default": "both"}
_DEPTH = {"type": "integer", "minimum": 0, "maximum": 100, "default": 3, "description": "Hops from dataset to dataset."}
_AS_OF = {"type": "string", "format": "date-time", "description": "As it was then; ISO 8601. Default: now."}
_CHILDREN = {
    "type": "boolean", "default": False,
    "description": "Show also jobs that are one statement of a job: dbt and Airflow send one for each.",
}  # fmt: skip
_LIMIT = {"type": "integer", "minimum": 1, "maximum": 100, "default": 20}
_OFFSET = {"type": "integer", "minimum": 0, "default": 0}
_BUDGET = {
    "type": "integer", "minimum": SMALLEST, "maximum": LARGEST, "default": USUAL,
    "description": "Characters of the answer. What does not fit is counted in `left_out`, and `how` says how to get it.",
}  # fmt: skip


class Tool(msgspec.Struct, frozen=True):
    """`answer` is called with the arguments that `schema` describes, and with `budget` in any case."""

    name: str
    covers: str
    answer: Callable[[Ask, Arguments], Awaitable[Answer]]
    arguments: dict[str, dict[str, Any]]
    required: tuple[str, ...] = ()

    @property
    def schema(self) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": self.arguments | {"budget": _BUDGET},
            "required": list(self.required),
            "additionalProperties": False,
        }


_LEVELS = (
    "Each edge has its `level` (OBSERVED by a run, DECLARED, MANUAL by a person) and `evidence` (TOLD by events, EXPLICIT lineage). "
    "Only what producers, SQL and people reported is there."
)
TOOLS = (
    Tool("search", "Find datasets, jobs and schedules by words in names, columns, tags, owners, descriptions and SQL.", questions.search,
         {"words": {"type": "string"}, "type": _TYPE, "namespace": _NAMESPACE, "limit": _LIMIT, "offset": _OFFSET}, ("words",)),
    Tool("lineage", f"Where a dataset or job comes from and what depends on it: tables, files and jobs, the nearest first. {_LEVELS} "
         "For columns ask `columns`.", questions.lineage,
         {"name": _NAME, "direction": _DIRECTION, "depth": _DEPTH, "as_of": _AS_OF, "children": _CHILDREN}, ("name",)),
    Tool("columns", "Which columns feed which, and how, around a dataset or one column. `level`: EXPLICIT, COLUMN_LINEAGE (reported), PARSED_SQL "
         "(read by Headwater from the job's SQL), MANUAL. An edge without `to_column` concerns whole rows: a filter, a join key.", questions.columns,
         {"name": _COLUMN, "direction": _DIRECTION, "depth": _DEPTH, "as_of": _AS_OF, "children": _CHILDREN}, ("name",)),
    Tool("paths", "Whether and how one dataset, job or column leads to another: the shortest ways.", questions.paths,
         {"source": _COLUMN, "target": _COLUMN, "direction": _DIRECTION, "children": _CHILDREN}, ("source", "target")),
    Tool("describe", "What a dataset or job is: description, columns with types, owners, tags, what writes and reads it.", questions.describe,
         {"name": _NAME, "type": _TYPE, "as_of": _AS_OF}, ("name",)),
    Tool("history", "Each write of a dataset, or each run of a job, the latest first.", questions.history,
         {"name": _NAME, "type": _TYPE, "limit": _LIMIT, "offset": _OFFSET}, ("name",)),
    Tool("changes", "What changed in the graph between two times: nodes, edges, columns and schemas that came and went.", questions.changes,
         {"since": _AS_OF, "until": _AS_OF, "name": _NAME, "namespace": _NAMESPACE, "children": _CHILDREN}, ("since",)),
    Tool("status", "How a dataset or job is: fresh or late, its checks, its last runs. Without a name: what needs a person now.", questions.status,
         {"name": _NAME, "type": _TYPE}),
    Tool("usage", "Who reads and writes datasets, how often and when last, by the warehouse's query log.", questions.usage,
         {"name": _NAME, "namespace": _NAMESPACE}),
    Tool("quality", "The latest results of a dataset's checks. Without a name: how much of the lineage is known.", questions.quality,
         {"name": _NAME, "namespace": _NAMESPACE}),
)  # fmt: skip
_BY_NAME = {tool.name: tool for tool in TOOLS}


async def call(ask: Ask, name: str, given: Mapping[str, Any]) -> Answer:
    """Answer a tool's question. Raises InvalidQuestion for an unknown tool or argument, and what the question raises."""
    tool = _BY_NAME.get(name)
    if tool is None:
        raise InvalidQuestion(f"there is no tool {name!r}; there are {', '.join(_BY_NAME)}")
    schema = tool.schema
    if unknown := given.keys() - schema["properties"].keys():
        raise InvalidQuestion(
            f"{name} has no argument {sorted(unknown)[0]!r}; it has {', '.join(schema['properties'])}"
        )
    for argument in tool.required:
        if not isinstance(given.get(argument), str) or not given[argument].strip():
            raise InvalidQuestion(f"{name} needs {argument!r}")
    budget = given.get("budget", USUAL)
    if not isinstance(budget, int) or not SMALLEST <= budget <= LARGEST:
        raise InvalidQuestion(f"budget must be from {SMALLEST} to {LARGEST}")
    for argument, value in given.items():
        _check(name, argument, value, schema["properties"][argument])
    return await tool.answer(ask, {**given, "budget": budget})


def _check(tool: str, argument: str, value: object, schema: Mapping[str, Any]) -> None:
    """Raise InvalidQuestion for a value that the argument's schema forbids, with what it allows."""
    wanted = {"string": str, "integer": int, "boolean": bool}[schema["type"]]
    if not isinstance(value, wanted) or isinstance(value, bool) != (wanted is bool):
        raise InvalidQuestion(f"{argument} of {tool} must be a {wanted.__name__}, not {value!r}")
    if wanted is bool:
        return
    if isinstance(value, int):
        least, most = schema.get("minimum", value), schema.get("maximum", value)
        if not least <= value <= most:
            limits = f"from {least} to {most}" if "maximum" in schema else f"at least {least}"
            raise InvalidQuestion(f"{argument} of {tool} must be {limits}, not {value}")
        return
    text = str(value)
    if not text.strip():
        raise InvalidQuestion(f"{argument} of {tool} is empty; leave it out to ask without it")
    if "enum" in schema and text not in schema["enum"]:
        raise InvalidQuestion(f"{argument} of {tool} must be one of {', '.join(schema['enum'])}, not {text[:100]!r}")
    if schema.get("format") == "date-time":
        try:
            dt.datetime.fromisoformat(text)
        except ValueError:
            raise InvalidQuestion(
                f"{argument} of {tool} must be a time in ISO 8601, such as 2026-01-31T08:00:00Z, not {text[:100]!r}"
            ) from None
