"""Propose entity names for datasets: the last segment of each name, and as many more as make it unique. Pure."""

import re
from collections.abc import Collection, Iterable

from headwater.model.names import DatasetName, is_path

_ENDING = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,9}\Z")
_REFUSED = re.compile(r"[^\w.:@$+-]")
_KEPT = 190  # leaves room for a number


def named(datasets: Iterable[DatasetName], taken: Collection[str]) -> dict[DatasetName, str]:
    """A valid, unique name for each dataset, not in `taken`. The result does not depend on the order of the datasets."""
    found: dict[DatasetName, str] = {}
    used = set(taken)
    left = sorted(set(datasets))
    segments = {dataset: _segments(dataset) for dataset in left}
    for depth in range(1, max((len(each) for each in segments.values()), default=0) + 1):
        proposed: dict[str, list[DatasetName]] = {}
        for dataset in left:
            proposed.setdefault(_valid(".".join(segments[dataset][-depth:])), []).append(dataset)
        alone = {each[0]: name for name, each in proposed.items() if len(each) == 1 and name not in used}
        found |= alone
        used |= set(alone.values())
        left = [dataset for dataset in left if dataset not in alone]
    for dataset in left:
        name = whole = _valid(".".join(segments[dataset]))
        number = 2
        while name in used:
            name, number = f"{whole}_{number}", number + 1
        found[dataset] = name
        used.add(name)
    return found


def _segments(dataset: DatasetName) -> list[str]:
    if is_path(dataset.namespace) or dataset.name.startswith("/"):
        segments = [each for each in dataset.name.split("/") if each]
        if segments:
            segments[-1] = _ENDING.sub("", segments[-1]) if not segments[-1].startswith(".") else segments[-1]
        return segments or [dataset.name]
    return [each for each in dataset.name.split(".") if each] or [dataset.name]


def _valid(text: str) -> str:
    name = _REFUSED.sub("_", text)[-_KEPT:].lstrip(".:@$+-")
    return name or "dataset"
