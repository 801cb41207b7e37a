"""Functions of Spark by name, whose kind decides how a value depends on its arguments (`capture.spark.expressions`).

From the function registry of Spark 4.3: the groups `agg_funcs`, `generator_funcs`, `window_funcs`, `hash_funcs`. Any other makes a new value.
"""

AGGREGATES = frozenset(
    """any any_value approx_count_distinct approx_percentile approx_top_k approx_top_k_accumulate approx_top_k_combine array_agg avg bit_and bit_or
    bit_xor bitmap_and_agg bitmap_construct_agg bitmap_or_agg bool_and bool_or collect_list collect_set collect_union corr count count_if
    count_min_sketch covar_pop covar_samp every first first_value grouping grouping_id histogram_numeric hll_sketch_agg hll_union_agg
    kll_merge_agg_bigint kll_merge_agg_double kll_merge_agg_float kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float kurtosis last
    last_value listagg max max_by mean measure median min min_by mode percentile percentile_approx percentile_cont percentile_disc product regr_avgx
    regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy skewness some std stddev stddev_pop stddev_samp string_agg
    sum sum_distinct theta_intersection_agg theta_sketch_agg theta_union_agg try_avg try_sum tuple_intersection_agg_double
    tuple_intersection_agg_integer tuple_sketch_agg_double tuple_sketch_agg_integer tuple_union_agg_double tuple_union_agg_integer var_pop var_samp
    variance""".split()
)
GENERATORS = frozenset(
    "explode explode_outer inline inline_outer posexplode posexplode_outer stack json_tuple variant_explode variant_explode_outer".split()
)
KINDS = {
    "cume_dist": "CumeDist", "dense_rank": "DenseRank", "lag": "Lag", "lead": "Lead", "nth_value": "NthValue", "ntile": "NTile",
    "percent_rank": "PercentRank", "rank": "Rank", "row_number": "RowNumber",
    "crc32": "Crc32", "hash": "Murmur3Hash", "md5": "Md5", "sha": "Sha1", "sha1": "Sha1", "sha2": "Sha2", "xxhash64": "XxHash64", "mask": "Mask",
    "when": "CaseWhen", "if": "If", "coalesce": "Coalesce", "ifnull": "Coalesce", "nvl": "Coalesce", "nanvl": "NaNvl",
    "array": "CreateArray", "map": "CreateMap", "concat": "Concat", "array_union": "ArrayUnion", "filter": "ArrayFilter",
    "array_sort": "ArraySort", "sort_array": "SortArray", "slice": "Slice", "reverse": "Reverse", "map_values": "MapValues",
    "map_keys": "MapKeys", "map_entries": "MapEntries", "map_from_arrays": "MapFromArrays", "map_from_entries": "MapFromEntries",
    "map_concat": "MapConcat", "map_filter": "MapFilter", "transform_keys": "TransformKeys", "transform_values": "TransformValues",
    "map_contains_key": "MapContainsKey",
    "map_zip_with": "MapZipWith", "zip_with": "ZipWith", "flatten": "Flatten", "shuffle": "Shuffle", "array_append": "ArrayAppend",
    "array_prepend": "ArrayPrepend", "array_distinct": "ArrayDistinct", "array_remove": "ArrayRemove", "array_except": "ArrayExcept",
    "array_intersect": "ArrayIntersect", "array_compact": "ArrayCompact", "array_repeat": "ArrayRepeat", "array_max": "ArrayMax",
    "array_min": "ArrayMin",
    "element_at": "ElementAt", "try_element_at": "TryElementAt", "get": "GetArrayItem", "transform": "ArrayTransform",
    "exists": "ArrayExists", "forall": "ArrayForAll",
    "any_value": "AnyValue", "first": "First", "first_value": "First", "last": "Last", "last_value": "Last", "mode": "Mode",
    "collect_list": "CollectList", "array_agg": "CollectList", "collect_set": "CollectSet", "max": "Max", "min": "Min", "max_by": "MaxBy",
    "min_by": "MinBy", "to_json": "StructsToJson", "from_json": "JsonToStructs", "get_json_object": "GetJsonObject",
    "named_struct": "CreateNamedStruct",
}  # fmt: skip
# Python functions over the rows of a group (PythonEvalType): SQL_GROUPED_AGG_PANDAS_UDF, SQL_WINDOW_AGG_PANDAS_UDF, and their kin in Arrow.
GROUPED = frozenset({202, 203, 217, 252, 253, 254})
