"""A watcher: it writes known lineage through the public API, reads it back, and counts differences. Imports nothing heavy.

`World` generates scenes from a seed (pure), `Watch` plays them against a server. On the command line: `headwater server watch`.
"""

from headwater.client.watch.loop import Watch
from headwater.client.watch.scene import CHECKS, KINDS, Check, Kind, Mismatch
from headwater.client.watch.tally import Count, Report
from headwater.client.watch.world import World

__all__ = ["CHECKS", "KINDS", "Check", "Count", "Kind", "Mismatch", "Report", "Watch", "World"]
