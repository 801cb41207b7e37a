"""SQL text and known schemas to exact column edges: pure, linear, never raising.

`analyse` is the door: text → tokens → statements → the parser's tree → the internal form → flows between columns. The parser is used for its tokens
and its tree only; what a name means is decided here, in one walk over the tree and one over the form.
"""

from headwater.columns.analysis import analyse, resolve
from headwater.columns.catalog import Catalog
from headwater.columns.composed import composed
from headwater.columns.edges import Edge, Lineage, lineage
from headwater.columns.result import Change, ColumnEdit, Flow, Input, Level, Output, Statement, Unresolved
from headwater.columns.session import Session

__all__ = [
    "Catalog",
    "Change",
    "ColumnEdit",
    "Edge",
    "Flow",
    "Input",
    "Level",
    "Lineage",
    "Output",
    "Session",
    "Statement",
    "Unresolved",
    "analyse",
    "composed",
    "lineage",
    "resolve",
]
