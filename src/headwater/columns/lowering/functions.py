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
        "arg_max arg_min argmax argmin arg_max_null arg_min_null "
        # Spark's further ones
        "bitmap_and_agg collect_union count_min_sketch histogram_numeric hll_sketch_agg hll_union_agg kll_merge_agg_bigint "
        "kll_merge_agg_double kll_merge_agg_float kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float mean measure "
        "product std theta_intersection_agg theta_sketch_agg theta_union_agg try_avg try_sum tuple_intersection_agg_double "
        "tuple_intersection_agg_integer tuple_sketch_agg_double tuple_sketch_agg_integer tuple_union_agg_double tuple_union_agg_integer"
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


def is_aggregate_any(node: Any) -> bool:
    """Return whether `any(x)` is Spark's aggregate, and not the right side of a comparison."""
    if not isinstance(node, exp.Any) or isinstance(node.this.unnest(), (exp.Query, exp.Tuple)):
        return False
    around = node.parent
    return not (isinstance(around, exp.Predicate) and around.args.get("expression") is node)


def is_date_part(node: Any) -> bool:
    return isinstance(node, exp.Column) and len(node.parts) == 1 and node.name.lower() in DATE_PARTS
