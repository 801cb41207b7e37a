"""Sum orders with Flink's SQL in this process. Words: a folder for the tables, and the jar of OpenLineage's listener."""

import os
import sys
import time
from pathlib import Path

from pyflink.common import Configuration
from pyflink.table import EnvironmentSettings, TableEnvironment

folder, jar = Path(sys.argv[1]), sys.argv[2]
settings = {
    "pipeline.name": "sum_orders",
    "pipeline.jars": f"file://{jar}",
    "execution.job-status-changed-listeners": "io.openlineage.flink.listener.OpenLineageJobStatusChangedListenerFactory",
    "openlineage.job.namespace": "flink",
    "openlineage.transport.type": "http",
    "openlineage.transport.url": os.environ["OPENLINEAGE_URL"],
}
configuration = Configuration()
for name, value in settings.items():
    configuration.set_string(name, value)
mode = EnvironmentSettings.new_instance().in_batch_mode().with_configuration(configuration).build()
tables = TableEnvironment.create(mode)
(folder / "orders").mkdir()
(folder / "orders/part.csv").write_text("1,anna,5.0\n2,ben,7.0\n3,anna,1.0\n")
for name, columns in {
    "orders": "id int, customer string, amount double",
    "totals": "customer string, total double",
}.items():
    where = f"'connector' = 'filesystem', 'path' = 'file://{folder}/{name}', 'format' = 'csv'"
    tables.execute_sql(f"create table {name} ({columns}) with ({where})")
tables.execute_sql("insert into totals select customer, sum(amount) from orders group by customer").wait()
# The listener's events are sent by a thread of the JVM, which ends with this process.
time.sleep(2)
