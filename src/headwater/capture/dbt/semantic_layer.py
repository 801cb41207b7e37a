"""The semantic layer of a dbt project as datasets: semantic models, metrics, saved queries and what exposures show of them, by column.

Each is declared by a DatasetEvent, without a run: dbt computes a metric only when it is asked for. A semantic model has a column for each entity,
dimension and measure, fed by the columns of its model; a metric has one column, fed by measures and other metrics. Field names: dbt's manifest v12.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from headwater.capture.dbt.manifest import Manifest, Node, Relation, reads
from headwater.client import event

# `Dimension('order__status')`: an entity on the way, and a name of the semantic model.
_CALL = re.compile(r"(?:Dimension|TimeDimension|Entity)\(\s*['\"](?:\w*__)?(\w+)['\"]")
_AGGREGATES = {
    "count_distinct": "count(distinct {})",
    "average": "avg({})",
    "sum_boolean": "sum({})",
    "percentile": "max({})",
}
_Field = tuple[str, str]
Inputs = dict[str, list[Node]]


class SemanticLayer:
    """`namespace`: of the project's jobs, where its exposures are. `dataset`: the name and namespace of a table."""

    def __init__(self, manifest: Manifest, namespace: str, dataset: Callable[[Relation], Node], dialect: str) -> None:
        self.manifest, self.namespace, self.dataset, self.dialect = manifest, namespace, dataset, dialect
        self.models = {id_: node for id_, node in manifest.others.items() if id_.startswith("semantic_model.")}

    def events(self) -> Iterator[Node]:
        """Yield a DatasetEvent for each semantic model, metric and saved query, and for each exposure that depends on metrics."""
        for id_, node in self.manifest.others.items():
            kind = id_.partition(".")[0]
            if kind == "semantic_model":
                yield self._event(node, "SEMANTIC_MODEL", *self._model_inputs(node))
            elif kind == "metric":
                yield self._event(node, "METRIC", *self._metric_inputs(node))
            elif kind == "saved_query":
                yield self._event(node, "SAVED_QUERY", *self._query_inputs(node))
            elif kind == "exposure" and (shown := self._shown_metrics(node)):
                yield self._event(node, str(node.get("type") or "dashboard").upper(), shown, [])

    def _event(self, node: Node, kind: str, fields: Inputs, whole: list[Node]) -> Node:
        facets: dict[str, Any] = {
            "datasetType": event.facet("DatasetTypeDatasetFacet/1-0-1", datasetType=kind),
            "schema": event.schema({"name": name} for name in fields),
            "columnLineage": event.facet(
                "ColumnLineageDatasetFacet", fields={name: {"inputFields": some} for name, some in fields.items()}, dataset=whole
            ),
        }  # fmt: skip
        if described := node.get("description") or node.get("label"):
            facets["documentation"] = event.documentation(str(described))
        owner = _mapping(node.get("owner"))
        if named := owner.get("email") or owner.get("name"):
            facets["ownership"] = event.ownership([(str(named), None)], of="Dataset")
        return event.dataset_event(self.namespace, str(node["unique_id"]), facets=facets)

    # -- semantic models --

    def _model_inputs(self, node: Node) -> tuple[Inputs, list[Node]]:
        found: Inputs = {}
        for group in ("entities", "dimensions"):
            for one in node.get(group) or ():
                found[str(one["name"])] = self._read_columns(node, _expression(one))
        for one in node.get("measures") or ():
            found[str(one["name"])] = self._read_columns(node, _aggregated(one))
        return found, []

    def _read_columns(self, node: Node, expression: str) -> list[Node]:
        """Return the columns of a semantic model's table that an expression is made from, each with how."""
        from headwater.columns.analysis import analyse

        about = _mapping(node.get("node_relation"))
        parts = (about.get("database"), about.get("schema_name"), about.get("alias"))
        table = self.dataset(tuple(str(part) for part in parts if part))
        query = f"select {expression} as found from read_table"  # noqa: S608 - it is read, never run
        return [
            _input(table, each.field, *((kind.type, kind.subtype) for kind in each.transformations))
            for statement in analyse(query, self.dialect)
            for flow in statement.flows
            for column in flow.columns
            for each in column.inputs
        ]

    # -- metrics and saved queries --

    def _metric_inputs(self, node: Node) -> tuple[Inputs, list[Node]]:
        told = _mapping(node.get("type_params"))
        inputs: list[Node] = []
        simple = node.get("type") == "simple"
        how = ("DIRECT", "IDENTITY" if simple else "TRANSFORMATION")
        for name in _measures(told):
            if (model := self._model_with(node, "measures", name)) is not None:
                inputs.append(_input(self._place(model), name, how))
        own = _mapping(told.get("metric_aggregation_params"))
        for model in self.models.values() if own else ():
            if model.get("name") == own.get("semantic_model"):
                inputs += self._read_columns(
                    model, _aggregated({"name": node["name"], **own, "expr": told.get("expr")})
                )
        for name in _metrics(told):
            if (metric := self._metric(node, name)) is not None:
                inputs.append(_input(self._place(metric), name, ("DIRECT", "TRANSFORMATION")))
        return {str(node["name"]): inputs}, self._filters(node, _templates(node))

    def _query_inputs(self, node: Node) -> tuple[Inputs, list[Node]]:
        asked = _mapping(node.get("query_params"))
        found: Inputs = {}
        for name in map(str, asked.get("metrics") or ()):
            if (metric := self._metric(node, name)) is not None:
                found[name] = [_input(self._place(metric), name, ("DIRECT", "IDENTITY"))]
        for name in _CALL.findall(" ".join(map(str, asked.get("group_by") or ()))):
            if (model := self._model_of_field(node, name)) is not None:
                found[name] = [_input(self._place(model), name, ("DIRECT", "IDENTITY"))]
        return found, self._filters(node, str(asked.get("where") or ""))

    def _shown_metrics(self, node: Node) -> Inputs:
        metrics = [self.manifest.others[id_] for id_ in reads(node) if id_.startswith("metric.") and id_ in self.manifest.others]  # fmt: skip
        return {str(one["name"]): [_input(self._place(one), str(one["name"]), ("DIRECT", "IDENTITY"))] for one in metrics}  # fmt: skip

    def _filters(self, node: Node, templates: str) -> list[Node]:
        names = dict.fromkeys(_CALL.findall(templates))
        models = [(name, self._model_of_field(node, name)) for name in names]
        return [_input(self._place(model), name, ("INDIRECT", "FILTER")) for name, model in models if model is not None]

    def _place(self, node: Node) -> Node:
        return {"namespace": self.namespace, "name": str(node["unique_id"])}

    def _metric(self, node: Node, name: str) -> Node | None:
        """Return the metric of this name that a node depends on: projects may have metrics of one name."""
        ids = [id_ for id_ in reads(node) if id_.startswith("metric.") and id_.endswith(f".{name}")]
        return self.manifest.others.get(ids[0]) if ids else None

    def _model_of_field(self, node: Node, name: str) -> Node | None:
        return self._model_with(node, "dimensions", name) or self._model_with(node, "entities", name)

    def _model_with(self, node: Node, group: str, name: str) -> Node | None:
        """Return the semantic model that has this measure or dimension: of those that a node depends on, else the only one that has it."""
        having = [
            model for model in self.models.values() if any(one.get("name") == name for one in model.get(group) or ())
        ]
        below = self._models_below(node)
        return next((model for model in having if model["unique_id"] in below), having[0] if len(having) == 1 else None)

    def _models_below(self, node: Node) -> set[str]:
        found: set[str] = set()
        waiting, seen = reads(node), set[str]()
        while waiting:
            id_ = waiting.pop()
            if id_ in seen:
                continue
            seen.add(id_)
            if id_ in self.models:
                found.add(id_)
            elif id_ in self.manifest.others:
                waiting += reads(self.manifest.others[id_])
        return found


def _expression(element: Mapping[str, Any]) -> str:
    return str(element.get("expr") or element["name"])


def _aggregated(measure: Mapping[str, Any]) -> str:
    kind = str(measure.get("agg") or "sum").lower()
    return _AGGREGATES.get(kind, f"{kind}({{}})" if kind.isidentifier() else "sum({})").format(_expression(measure))


def _measures(told: Node) -> list[str]:
    converted = _mapping(told.get("conversion_type_params"))
    some = (told.get("measure"), converted.get("base_measure"), converted.get("conversion_measure"))
    return _names(some)


def _metrics(told: Node) -> list[str]:
    of_total = _mapping(told.get("cumulative_type_params")).get("metric")
    converted = _mapping(told.get("conversion_type_params"))
    some = (told.get("numerator"), told.get("denominator"), of_total, converted.get("base_metric"), converted.get("conversion_metric"))  # fmt: skip
    return _names((*some, *(told.get("metrics") or ())))


def _names(some: Any) -> list[str]:
    return list(dict.fromkeys(str(one["name"]) for one in some if isinstance(one, dict) and one.get("name")))


def _templates(metric: Node) -> str:
    """Return the conditions of a metric and of what it is made from, as they are written."""
    told = _mapping(metric.get("type_params"))
    some = [metric, told.get("measure"), told.get("numerator"), told.get("denominator"), *(told.get("metrics") or ())]
    filters = [_mapping(_mapping(one).get("filter")).get("where_filters") or () for one in some]
    return " ".join(str(_mapping(one).get("where_sql_template") or "") for listed in filters for one in listed)


def _input(table: Node, field: str, *hows: tuple[str, str]) -> Node:
    kinds = [{"type": type_, "subtype": subtype} for type_, subtype in hows]
    return {"namespace": table["namespace"], "name": table["name"], "field": field, "transformations": kinds}


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
