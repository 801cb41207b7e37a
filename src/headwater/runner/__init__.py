"""'headwater run DIR': a dk.yaml, the program it names, and the run events around it.

`load` reads a package; `headwater.runner.execution.execute` runs one. Refuses to talk to a database or to answer questions: what it knows goes out
as OpenLineage events through the client.
"""

from headwater.runner.manifest import Manifest
from headwater.runner.reading import load

__all__ = ["Manifest", "load"]
