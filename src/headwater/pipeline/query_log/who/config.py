"""Settings for attributing queries: namespaces of the orchestrators, names of dbt's jobs, kinds of users."""

from typing import Literal

import msgspec

Kind = Literal["person", "service", "bi", "pipeline", "unknown"]


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """`users`: user name, or a pattern with `*` and `?` → kind of actor; letter case is ignored, the first that fits wins.
    It beats everything that is guessed from names, and nothing that a tool says of itself in a comment or a tag.

    `airflow_namespace`, `dbt_namespace`: the OpenLineage namespace of the jobs these two report themselves (their own defaults).

    `dbt_names`: what the OpenLineage dbt integration calls a model's run. `unique_id` (`model.shop.orders`) is what it says with
    `--consume-structured-logs`; `relation` (`db.schema.shop.orders`) is what it says when it reads dbt's artifacts.

    `run_id_is_logical_date`: the time in Airflow's run id (`scheduled__2026-01-01T00:00:00+00:00`) is the run's logical date. True for
    Airflow 2 and for Airflow 3's own timetables; say False where Airflow 3 runs with data intervals, whose run ids hold the time after it.
    """

    users: dict[str, Kind] = {}
    airflow_namespace: str = "default"
    dbt_namespace: str = "dbt"
    dbt_names: Literal["unique_id", "relation"] = "unique_id"
    run_id_is_logical_date: bool = True
