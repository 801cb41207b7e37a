"""Find the files behind an RDD: walk its dependencies, through py4j, to the RDDs that read.

An RDD does not say which of a file's columns it uses, so only the datasets are known. What reads something else than files (JDBC, Python's own
generators) has no dataset here.
"""

import contextlib
import re
from collections.abc import Callable, Iterator
from typing import Any

MOST_RDDS = 200
# Partitions of a scan of which one file is looked at: a scan reads the files of a table or a folder.
_SAMPLED = 64
_INPUT = "mapreduce.input.fileinputformat.inputdir"
# Splits of which the files are asked, where an input is a pattern.
_MOST_SPLITS = 1000
_PATTERN = re.compile(r"[*?\[{]")
_UNESCAPED_COMMA = re.compile(r"(?<!\\),")


def places(jrdd: Any) -> list[str]:
    """Return the locations that the RDD (a Scala one) reads, as Spark writes them: files and folders of Hadoop's inputs, folders of SQL's scans.

    Looks at no more than MOST_RDDS RDDs.
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
        kind = str(rdd.getClass().getSimpleName())
        with contextlib.suppress(Exception):
            found |= dict.fromkeys(_READERS[kind](rdd) if kind in _READERS else ())
        dependencies = rdd.dependencies()
        waiting.extend(dependencies.apply(at).rdd() for at in range(dependencies.size()))
    return list(found)


def _hadoop(rdd: Any) -> Iterator[str]:
    return _configured(rdd, rdd.getJobConf(), lambda partition: partition.inputSplit().value())


def _new_hadoop(rdd: Any) -> Iterator[str]:
    return _configured(rdd, rdd.getConf(), lambda partition: partition.serializableHadoopSplit().value())


def _configured(rdd: Any, jconf: Any, split: Callable[[Any], Any]) -> Iterator[str]:
    """The files and folders that an input is set to; of a pattern, the files that it found."""
    for place in _UNESCAPED_COMMA.split(str(jconf.get(_INPUT) or "")):
        if _PATTERN.search(place):
            yield from (str(split(partition).getPath().toString()) for partition in rdd.partitions()[:_MOST_SPLITS])
        elif place:
            yield place.replace("\\,", ",")


def _scan(rdd: Any) -> Iterator[str]:
    partitions = rdd.filePartitions()
    count = partitions.size()
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


_READERS: dict[str, Callable[[Any], Iterator[str]]] = {
    "FileScanRDD": _scan,
    "HadoopRDD": _hadoop,
    "NewHadoopRDD": _new_hadoop,
    "WholeTextFileRDD": _new_hadoop,
    "BinaryFileRDD": _new_hadoop,
}
