"""Recognise the query by which Spark itself finds out the columns of CSV files, by its plan.

Spark reads the first line of the files as text, in an action of the JVM (`head`), and reports it as any query. Its description is the program's
(`sc.setJobDescription`) or the platform's, so it says nothing. A program's own `show()` of a text file is the same action, but casts each column;
`take`, `head` and `first` of PySpark are another action.
"""

from headwater.capture.spark.plan import ATTRIBUTE, Node

_ACTION = "head"
_LIMITS = frozenset({"GlobalLimit", "LocalLimit"})
_TEXT = "value"


def reads_first_line(action: str, root: Node) -> bool:
    """Return whether a query only takes the first line that is not a comment out of text files. `action`: Spark's name for the execution."""
    if action != _ACTION or root.kind != "GlobalLimit":
        return False
    projected = False
    node = root
    while len(node.children) == 1:
        if node.kind == "Project":
            projected = True
            if not all(_is_line(tree) for tree in node.trees("projectList")):
                return False
        elif node.kind not in _LIMITS and node.kind != "Filter":
            return False
        node = node.children[0]
    if node.kind == "LogicalRelation":
        return (
            projected and not node.fields.get("catalogTable") and [c.name for c in node.attributes("output")] == [_TEXT]
        )
    # Lines of an RDD of the program.
    return projected and node.kind == "ExternalRDD"


def _is_line(tree: Node) -> bool:
    while tree.kind == "Alias" and len(tree.children) == 1:
        tree = tree.children[0]
    return tree.kind == ATTRIBUTE and tree.name == _TEXT
