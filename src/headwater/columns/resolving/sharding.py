"""BigQuery's parts of a table that have names of their own: `t$20230101`, `t_20230101`, `t_2023*` are the table t, or some of it."""

import re

from headwater.columns.result import TableName

_DECORATED = re.compile(r"(.+?)\$(\w+)")
_WILD = re.compile(r"(.*?)_?(\d*\*)")
_DATED = re.compile(r"(.+?)_((?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01]))")


def shard(name: TableName) -> tuple[TableName, str]:
    """The table, and the part of it that the name names; "" when it is all of it."""
    last = name[-1] if name else ""
    for pattern in (_DECORATED, _WILD, _DATED):
        found = pattern.fullmatch(last)
        if found is not None and found[1]:
            return (*name[:-1], found[1]), found[2]
    return name, ""
