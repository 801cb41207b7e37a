"""Materialize three assets of Dagster, one with a check that fails, into the instance that DAGSTER_HOME configures."""

import dagster as dg


def table(*columns: str) -> dg.TableSchema:
    return dg.TableSchema(columns=[dg.TableColumn(name, "string") for name in columns])


@dg.asset
def raw_orders() -> dg.MaterializeResult:
    return dg.MaterializeResult(metadata={"dagster/column_schema": table("id", "customer", "amount")})


@dg.asset(deps=[raw_orders])
def customer_totals() -> dg.MaterializeResult:
    sources = {"customer": "customer", "total": "amount"}
    lineage = {name: [dg.TableColumnDep(dg.AssetKey("raw_orders"), column)] for name, column in sources.items()}
    return dg.MaterializeResult(
        metadata={
            "dagster/column_schema": table("customer", "total"),
            "dagster/column_lineage": dg.TableColumnLineage(lineage),
        }
    )


@dg.asset(deps=[customer_totals])
def report() -> dg.MaterializeResult:
    return dg.MaterializeResult(metadata={"dagster/column_schema": table("customer")})


@dg.asset_check(asset=customer_totals)
def totals_are_positive() -> dg.AssetCheckResult:
    return dg.AssetCheckResult(passed=False, severity=dg.AssetCheckSeverity.WARN)


with dg.DagsterInstance.get() as instance:
    result = dg.materialize([raw_orders, customer_totals, report, totals_are_positive], instance=instance)
    print(result.run_id)
