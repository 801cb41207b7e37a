"""Clients that say who they are only by the name under which they connect: editors, loaders, orchestrators, monitors, other BI tools.

A name is a fair mark and no proof: every client may set it. Tools with marks of their own have their own module and come first.
"""

from headwater.pipeline.query_log.who.config import Config, Kind
from headwater.pipeline.query_log.who.evidence import Application, Attribution, Evidence, connected_as

TOOL = "application"
MARKS: tuple[str, ...] = ()

# kind → tool → what its name contains, as a whole word unless the word is long enough to be unique.
_NAMES: dict[Kind, dict[str, str]] = {
    "person": {
        "dbeaver": "dbeaver",
        "datagrip": r"datagrip|intellij|pycharm",
        "psql": r"^psql",
        "pgadmin": "pgadmin",
        "pgcli": r"^pgcli",
        "tableplus": "tableplus",
        "postico": "postico",
        "beekeeper": "beekeeper",
        "dbvisualizer": "dbvis",
        "squirrel": "squirrel",
        "sql_workbench": r"sql.?workbench|mysql.?workbench|^workbench",
        "heidisql": "heidisql",
        "navicat": "navicat",
        "aqua_data_studio": r"aqua[ _-]?data",
        "toad": r"\btoad\b",
        "azure_data_studio": r"azure[ _-]?data[ _-]?studio|management studio",
        "snowsight": r"snowflake (?:web app|ui|worksheet)|snowsight",
        "snowsql": r"^snowsql|^snowflake[ _-]?cli",
        "vs_code": r"vs[ _-]?code|visual studio code|sqltools",
        "jupyter": r"jupyter|ipython|colab",
        "rstudio": r"rstudio|^r[ _-]?odbc",
        "excel": r"microsoft.{0,3}excel|^excel",
        "redshift_query_editor": r"query[ _-]?editor",
        "trino_cli": r"^trino-cli|^presto-cli",
        "bigquery_console": r"bigquery (?:ui|console|studio)",
    },
    "bi": {
        "thoughtspot": "thoughtspot",
        "qlik": r"\bqlik|qvs\.exe|qlikview",
        "domo": r"\bdomo\b",
        "quicksight": "quicksight",
        "omni": r"\bomni(?: ?analytics|\.co)?\b",
        "cube": r"\bcube(?:\.js|js| ?store)\b",
        "gooddata": "gooddata",
        "microstrategy": r"microstrategy|strategy[ _-]?one",
        "sisense": r"sisense|periscope",
        "grafana": "grafana",
        "spotfire": "spotfire",
        "cognos": "cognos",
        "business_objects": r"business[ _-]?objects",
        "streamlit": "streamlit",
        "evidence": r"^evidence(?:\.dev)?$",
        "count": r"^count(?:\.co)$",
        "steep": r"^steep\b",
        "holistics": "holistics",
        "zoho": r"zoho[ _-]?analytics",
        "deepnote": "deepnote",
    },
    "pipeline": {
        "dagster": "dagster",
        "prefect": r"\bprefect\b",
        "kestra": r"\bkestra\b",
        "mage": r"\bmage[-_ ]?ai\b",
        "luigi": r"\bluigi\b",
        "fivetran": "fivetran",
        "airbyte": "airbyte",
        "stitch": r"\bstitch(?:data)?\b",
        "matillion": "matillion",
        "informatica": "informatica",
        "talend": r"\btalend",
        "rivery": "rivery",
        "hevo": r"\bhevo",
        "dlt": r"\bdlt(?:hub)?\b",
        "meltano": "meltano",
        "debezium": "debezium",
        "kafka_connect": r"kafka.?connect|snowflake.?kafka",
        "snowpipe": r"snowpipe|^snowflake task",
        "coalesce": r"^coalesce",
        "nifi": r"\bnifi\b",
        "data_factory": r"data[ _-]?factory|adfv2|\bssis\b",
        "glue": r"aws[ _-]?glue|gluejob",
        "spark": r"spark.{0,3}snowflake|snowflake.{0,3}spark|spark-redshift|spark-bigquery|^spark\b",
    },
    "service": {
        "census": r"\bcensus\b",
        "hightouch": "hightouch",
        "segment": r"\bsegment\b",
        "monte_carlo": r"monte[ _-]?carlo",
        "datadog": "datadog",
        "soda": r"\bsoda(?:[-_ ](?:core|library|cloud|sql|agent))?\b",
        "great_expectations": r"great.?expectations",
        "elementary": r"^elementary\b",
        "datahub": r"datahub|acryl",
        "openmetadata": "openmetadata",
        "atlan": r"\batlan\b",
        "alation": r"\balation",
        "collibra": "collibra",
        "select_star": r"select[ _-]?star",
        "retool": r"\bretool\b",
        "pg_dump": r"^pg_(?:dump|restore|basebackup)|walreceiver",
        "postgrest": "postgrest",
        "hasura": "hasura",
        "patroni": "patroni",
    },
}
APPLICATIONS = tuple(
    Application(pattern, tool, kind) for kind, names in _NAMES.items() for tool, pattern in names.items()
)


def recognise(evidence: Evidence, config: Config) -> Attribution | None:
    return connected_as(evidence, APPLICATIONS)
