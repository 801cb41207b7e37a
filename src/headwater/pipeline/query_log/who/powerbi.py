"""Power BI and Power Query: which semantic model and report.

- Databricks query tags `DatasetId`, `ReportId` (https://docs.databricks.com/en/sql/user/queries/query-tags.html, since October 2025), in
  any of the usual spellings of the key.
- Clients named Power BI, `Mashup Engine (PowerBIPremium-Import)` and the like, Microsoft.Mashup or PowerQuery: these say that it is Power BI
  (or Excel's Power Query), not which report.
"""

from headwater.pipeline.query_log.who.config import Config
from headwater.pipeline.query_log.who.evidence import (
    TOLD,
    Application,
    Attribution,
    Evidence,
    asset,
    connected_as,
    first,
)

TOOL = "powerbi"
MARKS = ("powerbi", "power bi", "datasetid", "dataset_id")
APPLICATIONS = (
    Application(r"power[ _-]?bi", TOOL, "bi"),
    Application(r"mashup[ .]?(?:engine|container|eval)|microsoft\.mashup|power.?query|tridentdataflow", TOOL, "bi"),
)


def recognise(evidence: Evidence, config: Config) -> Attribution | None:
    for attached in evidence.attached:
        values = {
            key.lower().replace("_", "").replace("-", "").removeprefix("powerbi"): value
            for key, value in attached.values.items()
        }
        dataset, report = first(values, "datasetid", "semanticmodelid"), first(values, "reportid")
        named = "power" in evidence.application.lower() or "powerbi" in attached.text.lower().replace(" ", "")
        if (dataset and (report or named)) or (report and named):
            return Attribution(
                tool=TOOL,
                kind="bi",
                confidence=TOLD,
                actor=first(values, "useremail", "user", "userprincipalname"),
                asset=asset(("dataset", dataset), ("report", report)),
                asset_name=first(values, "reportname", "datasetname"),
            )
    return connected_as(evidence, APPLICATIONS)
