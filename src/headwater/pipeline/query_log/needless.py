"""Tasks and models that make nothing anybody needs: what an orchestrator can stop running once `pruning`'s advice is taken."""

from datetime import datetime

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (the name everybody who writes PySpark knows)

from headwater.pipeline.query_log.cost import in_window
from headwater.pipeline.query_log.prices import MONEY
from headwater.pipeline.query_log.pruning import MONTH, WINDOW
from headwater.pipeline.query_log.touches import KEY, acts, first_day, newest

COLUMNS = "job_namespace string, job_name string, wave long, datasets long, executions long, money_month decimal(28,9)"


def needless(
    daily: DataFrame,
    statements: DataFrame,
    advice: DataFrame,
    as_of: datetime | None = None,
    window: int = WINDOW,
) -> DataFrame:
    """A row (COLUMNS) for each job that wrote something that lasts in the window, all of which `advice` (PRUNING) says may go.

    wave: that of the last of its `datasets`; after it the job can stop. executions: all of the job's in the window, also those that write nothing.
    money_month: their money, in 30 days of the log in the window. A job whose namespace is not told has namespace "".
    """
    at = as_of or newest(daily)
    if at is None:
        return daily.sparkSession.createDataFrame([], COLUMNS)
    rows = in_window(daily, at, window).where(F.col("job_name").isNotNull())
    rows = rows.withColumn("job_namespace", F.coalesce("job_namespace", F.lit("")))
    job = ["job_namespace", "job_name"]
    ran = rows.where(F.col("executions") > F.col("failures")).select(*job, *KEY).distinct()
    made = ran.join(acts(statements).where("lasts"), list(KEY)).select(*job, F.explode("made").alias("one")).distinct()
    told = advice.select(F.struct("namespace", "name").alias("one"), "wave")
    jobs = (
        made.join(told, "one", "left")
        .groupBy(*job)
        .agg(
            F.count(F.lit(1)).alias("datasets"),
            F.max("wave").alias("wave"),
            F.count(F.when(F.col("wave").isNull(), 1)).alias("needed"),
        )
        .where(F.col("needed") == 0)
    )
    spent = rows.groupBy(*job).agg(
        F.sum("executions").alias("executions"), F.try_sum("money").try_cast(MONEY).alias("money")
    )
    log = daily.agg(F.least(F.lit(window), F.datediff(F.lit(first_day(at, 1)), F.min("day")) + 1).alias("log_days"))
    month = (F.col("money") * F.lit(MONTH) / F.col("log_days").cast("decimal(5,0)")).try_cast(MONEY)
    told_of = jobs.join(spent, job).join(F.broadcast(log), how="cross").withColumn("money_month", month)
    return told_of.select(*job, "wave", "datasets", "executions", "money_month")
