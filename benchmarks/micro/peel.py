"""The cost of finding removable tables in a large graph: the peeling of `pipeline.query_log.peel`, without its input and output.

    python benchmarks/micro/peel.py [--tables 100000] [--edges 1000000] [--layers 25]

Tables stand in layers; edges lead one to three layers up, both ends in the same half. The last layer of one half has readers, that of the other none.
One in a thousand tables also feeds back, so both halves have loops. Reported: removable tables, how many of them are in loops, and seconds.
"""

import argparse
import resource
import time

from pyspark.sql import functions as F  # noqa: N812  (PySpark's usual name)

from headwater.pipeline.query_log.peel import peel
from headwater.pipeline.session import session


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", type=int, default=100_000)
    parser.add_argument("--edges", type=int, default=1_000_000)
    parser.add_argument("--layers", type=int, default=25)
    parser.add_argument("--master", default="local[2]")
    given = parser.parse_args()
    spark = session(
        given.master, name="peel", settings={"spark.sql.shuffle.partitions": "8", "spark.driver.memory": "2g"}
    )
    spark.sparkContext.setLogLevel("ERROR")
    layers, half = given.layers, given.tables // 2 // given.layers * given.layers

    def drawn(what: str, most: int) -> F.Column:
        return F.pmod(F.xxhash64("id", F.lit(what)), F.lit(most))

    drawing = spark.range(given.edges).select(
        drawn("from", 2 * half).alias("source"), drawn("up", 3).alias("up"), drawn("place", half // layers).alias("k")
    )
    layer = F.col("source") % layers
    back = (F.col("source") % 997 == 0) & (layer > 2)
    to = F.when(back, layer - 2).otherwise(F.least(layer + 1 + F.col("up"), F.lit(layers - 1)))
    target = F.col("k") * layers + to + F.when(F.col("source") < half, 0).otherwise(half)
    edges = (
        drawing.where((layer < layers - 1) | back)
        .select("source", target.cast("long").alias("target"))
        .where("source != target")
        .distinct()
    )
    used = (F.col("id") < half) & (F.col("id") % layers == layers - 1)
    nodes = spark.range(2 * half).select("id", used.alias("used"), F.lit(1.0).alias("confidence")).localCheckpoint()
    edges = edges.localCheckpoint()
    print(f"{nodes.count():,} tables, {edges.count():,} edges")
    began = time.perf_counter()
    found = peel(nodes, edges)
    told = found.agg(F.count("id"), F.count_if("looped"), F.max("wave")).first()
    taken = time.perf_counter() - began
    print(f"{told[0]:,} may go in {told[2]} waves, {told[1]:,} of them in loops; {taken:.1f} s")
    heap = spark._jvm.java.lang.Runtime.getRuntime().totalMemory() // 2**20
    print(f"Python {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB, JVM heap {heap} MB")


if __name__ == "__main__":
    main()
