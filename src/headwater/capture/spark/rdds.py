"""Find the files behind an RDD: walk its dependencies, through py4j, to the RDDs that read.

An RDD does not say which of a file's columns it uses, so only the datasets are known. What reads something else than files (JDBC, Python's own
generators) has no dataset here.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

from headwater.capture.spark.coverage import Coverage

MOST_RDDS = 200
# Partitions of a scan of which one file is looked at: a scan reads the files of a table or a folder.
_SAMPLED = 64
_INPUT = "mapreduce.input.fileinputformat.inputdir"
# Splits of which the files are asked, where an input is a pattern.
_MOST_SPLITS = 1000
_PATTERN = re.compile(r"[*?\[{]")
_UNESCAPED_COMMA = re.compile(r"(?<!\\),")


def places(jrdd: Any, coverage: Coverage, resolved: Callable[[int], bool] = lambda _number: False) -> list[str]:
    """Return the locations that the RDD (a Scala one) reads, as Spark writes them: files and folders of Hadoop's inputs, folders of SQL's scans.

    `resolved`: whether the caller knows what feeds the RDD of that number, which is not followed then.
    Looks at no more than MOST_RDDS RDDs. `coverage` is told of inputs that are no files, of readers that fail, and of the bound.
    """
    found: dict[str, None] = {}
    seen: set[int] = set()
    waiting = [jrdd]
    while waiting and len(seen) < MOST_RDDS:
        rdd = waiting.pop()
        number = int(rdd.id())
        if number in seen:
            continue
        seen.add(number)
        if resolved(number):
            continue
        kind = str(rdd.getClass().getSimpleName())
        dependencies = rdd.dependencies()
        below = int(dependencies.size())
        try:
            if kind in _READERS:
                here = dict.fromkeys(_READERS[kind](rdd, coverage))
                found |= here
                if not here:
                    coverage.miss(f"an RDD ({kind})", "its input is no file")
            elif not below and kind not in _DRIVERS_OWN:
                coverage.miss(f"an RDD ({kind})", "it reads something else than files")
        except Exception as error:  # noqa: BLE001 - py4j raises its own kinds; the run says it
            coverage.miss(f"an RDD ({kind})", error)
        waiting.extend(dependencies.apply(at).rdd() for at in range(below))
    if waiting:
        coverage.limit(f"only {MOST_RDDS} RDDs were followed; {len(waiting)} or more were not")
    return list(found)


def _hadoop(rdd: Any, coverage: Coverage) -> Iterator[str]:
    return _configured(rdd, rdd.getJobConf(), lambda partition: partition.inputSplit().value(), coverage)


def _new_hadoop(rdd: Any, coverage: Coverage) -> Iterator[str]:
    return _configured(rdd, rdd.getConf(), lambda partition: partition.serializableHadoopSplit().value(), coverage)


def _configured(rdd: Any, jconf: Any, split: Callable[[Any], Any], coverage: Coverage) -> Iterator[str]:
    """The files and folders that an input is set to; of a pattern, the files that it found."""
    for place in _UNESCAPED_COMMA.split(str(jconf.get(_INPUT) or "")):
        if _PATTERN.search(place):
            partitions = rdd.partitions()
            if len(partitions) > _MOST_SPLITS:
                coverage.limit(f"of {len(partitions)} splits of {place} the files of {_MOST_SPLITS} were asked")
            yield from (str(split(partition).getPath().toString()) for partition in partitions[:_MOST_SPLITS])
        elif place:
            yield place.replace("\\,", ",")


def _scan(rdd: Any, coverage: Coverage) -> Iterator[str]:
    partitions = rdd.filePartitions()
    count = partitions.size()
    if count > _SAMPLED:
        coverage.limit(f"of {count} partitions of a scan one in {count // _SAMPLED} was looked at")
    for at in range(0, count, max(1, count // _SAMPLED)):
        files = partitions.apply(at).files()
        if len(files):
            yield folder(str(files[0].filePath().toString()))


def folder(file: str) -> str:
    """Return the folder that a file of a table is in, without the folders of its partition (`day=1`)."""
    above = file.rsplit("/", 1)[0]
    while "=" in above.rsplit("/", 1)[-1]:
        above = above.rsplit("/", 1)[0]
    return above


# Made of the program's own values.
_DRIVERS_OWN = frozenset(
    {"ParallelCollectionRDD", "EmptyRDD", "LocalCheckpointRDD", "ReliableCheckpointRDD", "PythonParallelizeServer"}
)
_READERS: dict[str, Callable[[Any, Coverage], Iterator[str]]] = {
    "FileScanRDD": _scan,
    "HadoopRDD": _hadoop,
    "NewHadoopRDD": _new_hadoop,
    "WholeTextFileRDD": _new_hadoop,
    "BinaryFileRDD": _new_hadoop,
}
