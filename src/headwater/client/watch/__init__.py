"""A watcher: it writes lineage it knows through the public API, reads it back, and counts what differs. Imports nothing heavy.

`World` makes scenes from a seed (pure), `Watch` plays them against a server. On the command line: `headwater watch`.
"""

from headwater.client.watch.loop import Watch
from headwater.client.watch.scene import CHECKS, KINDS, Check, Kind, Mismatch
from headwater.client.watch.tally import Count, Report
from headwater.client.watch.world import World

__all__ = ["CHECKS", "KINDS", "Check", "Count", "Kind", "Mismatch", "Report", "Watch", "World"]
