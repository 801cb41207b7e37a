"""Functions by name, where the parser knows only their name: what they do to what they are given."""

from typing import Any

from sqlglot import exp

from headwater.columns.dialect import DATE_PARTS

DATE_FUNCTIONS = ("date", "time", "trunc", "last_day", "next_day", "extract", "to_timestamp", "months_between")
AGGREGATE_NAMES = frozenset(
    (
        "array_agg string_agg listagg collect_list collect_set group_concat any_value first last median mode "
        "approx_count_distinct stddev variance bool_and bool_or every some bit_and bit_or json_agg jsonb_agg "
        "json_object_agg xmlagg max_by min_by percentile percentile_approx quantile wm_concat hll_count_distinct "
        "approx_top_count count_distinct sum_distinct sumif avgif uniq uniqexact grouparray latest_by earliest_by "
        "arg_max arg_min argmax argmin arg_max_null arg_min_null"
    ).split()
)
CHOOSING_NAMES = frozenset(
    "max_by min_by arg_max arg_min argmax argmin arg_max_null arg_min_null latest_by earliest_by".split()
)
"""Aggregates whose second argument only decides which row's first one they give."""
MASKING_NAMES = frozenset(
    (
        "hash xxhash64 murmur3_32 murmurhash3_32 hashbytes checksum binary_checksum standard_hash ora_hash digest "
        "hmac aes_encrypt encrypt pgp_sym_encrypt tokenize farmhash64 cityhash64 siphash64 crc32 fnv_hash sha3 "
        "hive_hash"
    ).split()
)
MASKING_PREFIXES = ("mask", "sha1", "sha2", "md5", "xxhash", "murmur", "cityhash", "siphash")
NOTHING_NAMES = frozenset(["row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "rownum"])
CURSOR_ATTRIBUTES = frozenset({"ROWCOUNT", "FOUND", "NOTFOUND", "ISOPEN", "BULK_ROWCOUNT", "BULK_EXCEPTIONS"})
"""PL/SQL's attributes of the last statement or of a cursor."""
XML_METHODS = frozenset({"value", "query", "exist", "modify", "nodes"})
"""T-SQL's methods of an XML column: `c.value(…)` is no function of a schema c."""


def is_date_part(node: Any) -> bool:
    return isinstance(node, exp.Column) and len(node.parts) == 1 and node.name.lower() in DATE_PARTS
