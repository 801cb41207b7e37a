"""Remember which DataFrame an RDD was made of (`df.rdd`, `df.toJSON()`): the DataFrame knows its tables and files, the RDD only single files."""

import functools
from collections import OrderedDict
from types import ModuleType
from typing import Any

from headwater.capture.spark.imports import after_import

_MOST = 200
_WANTED = ("pyspark.sql.classic.dataframe", "pyspark.sql.dataframe")
# Java's DataFrames by the number that Spark gave to the RDD.
_frames: OrderedDict[int, Any] = OrderedDict()


def follow() -> None:
    """Wrap PySpark's ways from a DataFrame to an RDD, once. What an earlier SparkContext numbered is forgotten."""
    _frames.clear()
    for name in _WANTED:
        after_import(name, _wrap)


def frame(number: int) -> Any:
    """Return Java's DataFrame that the RDD of this number was made of, if it is known."""
    return _frames.get(number)


def _wrap(module: ModuleType) -> None:
    frame_type: Any = getattr(module, "DataFrame", None)
    if frame_type is None or "headwater_origins" in vars(frame_type):
        return
    made = vars(frame_type).get("rdd")
    if isinstance(made, functools.cached_property):
        frame_type.rdd = functools.cached_property(_noted(made.func))
        frame_type.rdd.__set_name__(frame_type, "rdd")
    elif isinstance(made, property) and made.fget is not None:
        frame_type.rdd = property(_noted(made.fget))
    if "toJSON" in vars(frame_type):
        frame_type.toJSON = _noted(frame_type.toJSON)
    frame_type.headwater_origins = True


def _noted(original: Any) -> Any:
    @functools.wraps(original)
    def make(self: Any, *args: Any, **kwargs: Any) -> Any:
        rdd = original(self, *args, **kwargs)
        number, jdf = getattr(rdd, "_id", None), getattr(self, "_jdf", None)
        if isinstance(number, int) and jdf is not None:
            _frames[number] = jdf
            while len(_frames) > _MOST:
                _frames.popitem(last=False)
        return rdd

    return make
