"""Find where a table of an Iceberg catalog is while it cannot be loaded: before it is made, and after it is dropped."""

from headwater.capture.spark import datasets
from headwater.capture.spark.datasets import Catalog


def place(catalog: Catalog, owner: str, identifier: str) -> str:
    """Return the location of `identifier` (namespace and table) in the catalog `owner`: where it was seen, else where a catalog of folders puts it;
    empty if neither is known.
    """
    if seen := datasets.remembered(f"{owner}.{identifier}"):
        return seen
    conf, prefix = catalog.jsession.conf(), f"spark.sql.catalog.{owner}"
    folders = conf.get(f"{prefix}.type", "") == "hadoop" or conf.get(f"{prefix}.catalog-impl", "").endswith(
        ".HadoopCatalog"
    )
    warehouse = str(conf.get(f"{prefix}.warehouse", "") if folders else "").rstrip("/")
    return f"{warehouse}/{identifier.replace('.', '/')}" if warehouse else ""
