"""The order that a scheduler was told, against the order that data asks for. Pure.

A task that reads what another writes has to run after it. Where no chain of declared dependencies says so, the two may run at once, and which comes
first is luck. A declared dependency along which no data flows only makes the second task wait.
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple

Names = Collection[str]


class Pair(NamedTuple):
    """A writer, a reader, and the datasets that lead from the one to the other."""

    writer: str
    reader: str
    datasets: tuple[str, ...]


class Findings(NamedTuple):
    """`missing`: no order is declared. `backward`: the reader is declared to run first. `needless`: declared from the first to the second, though
    neither that task nor one after it makes anything that the second reads, as far as both report."""

    missing: list[Pair]
    backward: list[Pair]
    needless: list[tuple[str, str]]


def compare(declared: Mapping[str, Names], reads: Mapping[str, Names], writes: Mapping[str, Names]) -> Findings:
    """Compare. `declared`: the tasks directly after each task; `reads`, `writes`: datasets of each task that reported any.

    A dataset that a task both reads and writes (it appends to it) asks for no order with another task that does the same.
    """
    after = {task: _reachable(declared, task) for task in {*declared, *reads, *writes}}
    data: dict[str, set[str]] = {}
    missing: list[Pair] = []
    backward: list[Pair] = []
    for writer in sorted(writes):
        for reader in sorted(reads):
            between = set(writes[writer]) & set(reads[reader])
            shared = between & set(reads.get(writer, ())) & set(writes.get(reader, ()))
            if writer == reader or not between - shared:
                continue
            data.setdefault(writer, set()).add(reader)
            pair = Pair(writer, reader, tuple(sorted(between - shared)))
            if reader in after[writer]:
                continue
            (backward if writer in after[reader] else missing).append(pair)
    flows = {task: _reachable(data, task) for task in data}
    needless = [
        (task, later)
        for task in sorted(declared)
        for later in sorted(declared[task])
        if task in writes and later in reads and later not in flows.get(task, ())
    ]
    return Findings(missing, backward, needless)


def _reachable(graph: Mapping[str, Names], start: str) -> set[str]:
    found: set[str] = set()
    waiting = list(graph.get(start, ()))
    while waiting:
        task = waiting.pop()
        if task not in found:
            found.add(task)
            waiting += graph.get(task, ())
    return found
