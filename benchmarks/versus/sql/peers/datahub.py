"""DataHub's SQL parser: schemas are given by URN to its resolver; its per-process cache of whole results is cleared for each call."""

import re

from datahub.sql_parsing import sqlglot_lineage as parser
from datahub.sql_parsing.schema_resolver import SchemaResolver

NAME = re.compile(r"urn:li:dataset:\(urn:li:dataPlatform:spark,(?:tpc\.)?([^,]*),PROD\)")
CACHED = [one for one in vars(parser).values() if hasattr(one, "cache_clear")]


def prepare(schemas):
    resolver = SchemaResolver(platform="spark")
    for name, columns in schemas.items():
        resolver.add_raw_schema_info(f"urn:li:dataset:(urn:li:dataPlatform:spark,tpc.{name},PROD)", dict(columns))
    return resolver


def edges(sql, prepared):
    for one in CACHED:
        one.cache_clear()
    told = parser.sqlglot_lineage(sql, prepared, default_schema="tpc")
    if told.debug_info.error:
        raise told.debug_info.error
    return [
        (one.downstream.column, {(NAME.match(up.table)[1], up.column) for up in one.upstreams})
        for one in told.column_lineage or []
    ]
