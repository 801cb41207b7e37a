"""The server that gets the reports, and the name of this Airflow."""

from pathlib import Path

from headwater.capture.airflow.config import from_environment


def test_the_server_is_the_client_s(tmp_path: Path) -> None:
    found = from_environment(
        {
            "HOME": str(tmp_path),
            "HEADWATER_URL": "amqp://broker/,https://headwater.example:8443",
            "HEADWATER_API_KEY": "hw_key",
            "HEADWATER_AIRFLOW_NAME": "prod",
            "HEADWATER_SPOOL": "/spool",
        }
    )
    assert (found.url, found.api_key, found.name) == ("https://headwater.example:8443", "hw_key", "prod")
    assert found.outbox == Path("/spool/reports")
    assert "hw_key" not in repr(found)


def test_defaults(tmp_path: Path) -> None:
    found = from_environment({"HOME": str(tmp_path)})
    assert (found.url, found.api_key, found.name) == ("http://127.0.0.1:5000", None, "airflow")
    assert found.outbox == tmp_path / ".headwater/spool/reports"
