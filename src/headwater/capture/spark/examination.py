"""Find out what a query reads and writes, from its analyzed plan. A plan that was read before is not read again."""

from collections import OrderedDict
from typing import Any

import msgspec

from headwater.capture.spark import analysis, commands, crossing, emission, evolution, inference, plan, recorded
from headwater.capture.spark.analysis import Analysis
from headwater.capture.spark.commands import Write
from headwater.capture.spark.config import Config
from headwater.capture.spark.coverage import Coverage
from headwater.capture.spark.cuts import CutPlans
from headwater.capture.spark.datasets import Catalog
from headwater.capture.spark.predictions import Predictions

CUTS = frozenset({"checkpoint", "localCheckpoint"})
"""Actions that make a plan's end the beginning of another plan."""
_MOST_PLANS = 64
_LONGEST_PLAN = 100_000


class Examined(msgspec.Struct):
    """A query: what it writes, if it does; what it reads, if that is reported; the statement it was. `others`: of one that writes several tables."""

    write: Write | None = None
    analysis: Analysis | None = None
    sql: str = ""
    others: list["Examined"] = []


class _Repeated(msgspec.Struct):
    """A plan that was read, and the ExprIds that it had then. `coverage`: what of its tables could not be read."""

    examined: Examined
    numbers: list[int]
    coverage: Coverage


class Examiner:
    """Reads the plans of one SparkContext. `coverage`: the application's, for queries of which nothing is reported."""

    def __init__(self, config: Config, coverage: Coverage) -> None:
        self.config = config
        self._coverage = coverage
        self.cuts = CutPlans()
        self.predictions = Predictions(config, self.cuts, coverage)
        self._plans: OrderedDict[tuple[str, str, str], _Repeated] = OrderedDict()
        self._namespaces: dict[str, str] = {}

    def examine(self, jqe: Any, action: str = "", started: int = 0) -> Examined:
        """Read a query's plan. `action`: Spark's name for the execution, if it ended; `started`: in milliseconds."""
        facts = recorded.facts_of(jqe)
        key = (facts.body, facts.answers, action) if facts is not None and facts.is_whole else None
        if key is not None and facts is not None and key in self._plans and not self.predictions.any:
            self._plans.move_to_end(key)
            return self._again(self._plans[key], facts.numbers())
        janalyzed, catalog = recorded.analyzed(jqe), Catalog(jqe, self._namespaces, started)
        found = self._read(janalyzed, facts, catalog, action)
        for one in (found, *found.others):
            self._leave_out_models(one)
        covered = found.analysis.leaves.coverage if found.analysis is not None else self._coverage
        covered.add(catalog.coverage)
        if key is not None and facts is not None and self._is_lasting(found, jqe, key, action):
            if found.analysis is not None and found.write is not None:
                emission.column_lineage(found.analysis, self.config.largest_lineage)
            elif found.analysis is not None:
                emission.driver_read(found.analysis)
            self._plans[key] = _Repeated(_copy(found), facts.numbers(), catalog.coverage)
            while len(self._plans) > _MOST_PLANS:
                self._plans.popitem(last=False)
        return found

    def _is_lasting(self, found: Examined, jqe: Any, key: tuple[str, str, str], action: str) -> bool:
        """Return whether another query with these facts has the same answer: the JVM was not asked, and nothing but the plan decided."""
        write = found.write
        return (
            not recorded.is_asked(jqe)
            and len(key[0]) + len(key[1]) <= _LONGEST_PLAN
            and action not in CUTS
            and not self.predictions.any
            and (write is None or (write.jtable is None and write.jname is None and not write.foreach_batch))
            and not (found.analysis is not None and found.analysis.opaque)
        )

    def _again(self, known: _Repeated, numbers: list[int]) -> Examined:
        found = _copy(known.examined)
        if found.analysis is None:
            self._coverage.add(known.coverage)
            return found
        now = {str(old): str(new) for old, new in zip(known.numbers, numbers, strict=True)}
        leaves = found.analysis.leaves
        leaves.ids = {leaf: frozenset(now.get(one, one) for one in ids) for leaf, ids in leaves.ids.items()}
        return found

    def _read(self, janalyzed: Any, facts: recorded.QueryFacts | None, catalog: Catalog, action: str) -> Examined:
        root, why = analysis.tree_of(janalyzed, self.config, facts)
        if root is None:
            return _tables(janalyzed, catalog, why)
        if not commands.are_several(root):
            return self._read_one(janalyzed, root, catalog, action)
        children = janalyzed.children()
        each = [self._read_one(children.apply(i), child, catalog, action) for i, child in enumerate(root.children)]
        each[0].others = each[1:]
        return each[0]

    def _read_one(self, janalyzed: Any, root: plan.Node, catalog: Catalog, action: str) -> Examined:
        write = commands.write(janalyzed, root, catalog)
        if write is None:
            if inference.reads_first_line(action, root):
                return Examined()
            within = self.predictions.within
            return Examined(analysis=analysis.analyse(janalyzed, root, catalog, self.cuts, output=False, within=within))
        found = Examined(write)
        if write.query is not None:
            found.analysis = self._written(write, write.query, catalog)
            found.sql = write.sql or _sql(janalyzed) or _sql(write.jquery)
        else:
            found.sql = write.sql or _sql(janalyzed)
            if write.sources:
                found.analysis = analysis.whole(write.sources)
        if write.foreach_batch and found.analysis is not None:
            self.cuts.remember(found.analysis.columns, found.analysis.rows, found.analysis.leaves)
        if write.target is None:
            # A sink without a dataset (console, noop, memory): its inputs feed nothing.
            found.write = found.analysis = None
        return found

    def _written(self, write: Write, query: plan.Node, catalog: Catalog) -> Analysis:
        found = analysis.analyse(
            write.jquery,
            query,
            catalog,
            self.cuts,
            output=not write.inner,
            inner=write.inner,
            within=self.predictions.within,
        )
        found.gives(write.partitions)
        found.renames(write.renamed)
        if write.columns and write.target is not None:
            found.rewrites(write.target, write.columns, write.added)
        if write.before:
            found.fields = evolution.extended(write.before, found.fields)
        return found

    def _leave_out_models(self, found: Examined) -> None:
        """Forget a query that saves or loads a part of a model, which is reported whole."""
        target = found.write.target if found.write is not None else None
        read = found.analysis.inputs if found.analysis is not None else []
        if target is not None and self.predictions.inside(target):
            found.write = found.analysis = None
        elif found.write is None and read and all(self.predictions.inside(one) for one in read):
            found.analysis = None


def _tables(janalyzed: Any, catalog: Catalog, why: str) -> Examined:
    """Return what a plan names that is not read node by node."""
    kind = str(janalyzed.getClass().getSimpleName())
    plans = [janalyzed]
    found = Examined()
    if commands.writes(kind):
        found.write = commands.write(janalyzed, plan.Node(kind, {"class": kind}, []), catalog)
        if found.write is not None and found.write.jquery is not None:
            plans = found.write.inner or [found.write.jquery]
    found.analysis = analysis.tables_only(plans, catalog, why)
    return found


def _copy(found: Examined) -> Examined:
    """Return a copy whose parts may be changed for one execution."""
    replace = msgspec.structs.replace
    analysed = found.analysis
    if analysed is not None:
        leaves = replace(analysed.leaves, coverage=replace(analysed.leaves.coverage))
        analysed = replace(analysed, leaves=leaves, warnings=list(analysed.warnings))
    return Examined(replace(found.write) if found.write is not None else None, analysed, found.sql)


def _sql(jplan: Any) -> str:
    """Return the statement that the plan was parsed from; Spark keeps it in the plan's origin."""
    return crossing.text(jplan.origin().sqlText())[:100_000]
