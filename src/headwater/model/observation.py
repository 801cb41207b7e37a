"""A run as evidence: how it ended, and the value of each aspect that it reported. `model.causes` and `model.shared_traits` reason over these."""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

import msgspec


class Kind(StrEnum):
    """The part of a run's world that an aspect belongs to."""

    # That of Enum is a function of Python's; aspects are keys, looked up by the million.
    __hash__ = str.__hash__

    CODE = "code"
    SQL = "sql"
    PARAMETER = "parameter"
    INPUT = "input"
    """The version of an input that the run read."""
    RENEWED = "renewed"
    """`yes` if an input has a new version since the run before, else `no`."""
    SCHEMA = "schema"
    UPSTREAM = "upstream"
    """An aspect of the run that wrote what was read."""
    ENGINE = "engine"
    PACKAGE = "package"
    CLUSTER = "cluster"
    ENVIRONMENT = "environment"
    HOST = "host"
    USER = "user"
    TAG = "tag"
    TIME = "time"
    VOLUME = "volume"
    """A number: the rows or bytes of an input."""


class Aspect(NamedTuple):
    """`name` tells aspects of one kind apart: a parameter, a package, a dataset. It may be empty."""

    kind: Kind
    name: str


class Observation(msgspec.Struct, frozen=True):
    """`bad`: the run failed, or was slow, or whatever is asked about. An aspect that the run did not report is absent: unknown, not equal."""

    bad: bool
    values: Mapping[Aspect, str] = {}
    numbers: Mapping[Aspect, float] = {}
