"""The name of the job that runs a node of dbt: its unique id, whichever way dbt-ol names it.

dbt-ol names a model's job `model.shop.orders` with `--consume-structured-logs`, and without it by its relation and the command that ran it:
`db.schema.shop.orders`, `….build.run`, `….snapshot`. The jobs of a model's statements name it by its unique id, so that one stands for all
(openlineage-integration-common 1.54, provider/dbt). A job of tests keeps its name.
"""

import re

import msgspec

FACET = "dbt_node"
_KINDS = ("model", "snapshot", "seed")
_COMMAND = re.compile(r"(?:\.build)?\.(?:run|snapshot|seed)\Z")


class _Node(msgspec.Struct):
    unique_id: str = ""


_decoder = msgspec.json.Decoder(_Node)


def name_by_node(name: str, facet: msgspec.Raw | bytes) -> str:
    """Return the unique id of the node if the job's name has it in it, as dbt-ol writes it; else the name."""
    try:
        id_ = _decoder.decode(facet).unique_id
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return name
    kind, _, rest = id_.partition(".")
    if kind in _KINDS and "." in rest and any(one.endswith(f".{rest}") for one in (name, _COMMAND.sub("", name))):
        return id_
    return name


def names_by_relation(name: str) -> list[str]:
    """Return the unique ids that a job's name by relation may mean: its project is the last part but one, or but two with a version."""
    parts = _COMMAND.sub("", name).split(".")
    rests = [".".join(parts[-length:]) for length in (2, 3) if len(parts) > length]
    return [f"{kind}.{rest}" for rest in rests for kind in _KINDS]
