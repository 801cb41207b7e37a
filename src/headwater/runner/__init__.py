"""`headwater run DIR`: run the program that a dk.yaml names, and report the run.

`load` reads a package; `headwater.runner.execution.execute` runs one. Uses no database: it reports through the client, as OpenLineage
events.
"""

from headwater.runner.manifest import Manifest
from headwater.runner.reading import load

__all__ = ["Manifest", "load"]
