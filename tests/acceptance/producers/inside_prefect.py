"""Run a flow of Prefect as its deployment: words are the file for the server's log. openlineage-prefect listens beside it until the flow is reported."""

import asyncio
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from openlineage_prefect.prefect_adapter.listener import PrefectOpenLineageListener
from prefect import flow, task
from prefect.artifacts import create_table_artifact
from prefect.client.orchestration import get_client
from prefect.flow_engine import run_flow
from prefect.settings import PREFECT_API_URL, temporary_settings


def report_dataset(key: str, table: str, side: str) -> None:
    """`side`: input or output. The listener reads it from the artifact's description."""
    rows = [{"database_uri": "postgres://prefect-db:5432", "table": table}]
    create_table_artifact(key=key, table=rows, description=f"ol-dataset_{side}")


@task
def extract_orders() -> int:
    report_dataset("raw-orders", "shop.public.raw_orders", "output")
    return 3


@task
def sum_orders(count: int) -> int:
    report_dataset("orders-read", "shop.public.raw_orders", "input")
    report_dataset("totals-written", "shop.public.customer_totals", "output")
    return count


@task
def check_totals(count: int) -> None:
    raise ValueError(f"{count} totals are too few")


@flow(name="update-customers")
def update_customers() -> str:
    check_totals(sum_orders(extract_orders()), return_state=True)
    return "done"


async def listen_and_run(url: str) -> None:
    listener = asyncio.create_task(PrefectOpenLineageListener().collect_and_process_runs())
    deployment = await update_customers.ato_deployment("nightly")
    deployment_id = await deployment.aapply()
    await asyncio.sleep(5)
    async with get_client() as client:
        flow_run = await client.create_flow_run_from_deployment(deployment_id)
    await asyncio.to_thread(run_flow, update_customers, flow_run)
    await asyncio.sleep(8)
    listener.cancel()


def main() -> None:
    port = sys.argv[2]
    url = f"http://127.0.0.1:{port}/api"
    with Path(sys.argv[1]).open("w") as log:
        command = [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", port, "--no-ui"]
        server = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            for _ in range(600):
                try:
                    urllib.request.urlopen(f"{url}/health", timeout=2).close()
                    break
                except OSError:
                    time.sleep(0.2)
            with temporary_settings({PREFECT_API_URL: url}):
                asyncio.run(listen_and_run(url))
        finally:
            server.terminate()
            server.wait()


main()
