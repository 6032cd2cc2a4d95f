"""Weighted records and synthetic records, from the estimates of a release."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
import pyarrow as pa

from deniable.analysis.base import ReleaseSource
from deniable.analysis.estimator import refuse_impossible
from deniable.arrays import Codes, Floats, Positions
from deniable.errors import DeniableError
from deniable.estimation import consistent, repeat_cells
from deniable.joint import JointDistribution, drawn_cells, estimate_joint
from deniable.randomized_response import Adjustment, adjust
from deniable.records import Domain
from deniable.responses import Responses, Table, category_columns
from deniable.schema import Schema

Basis = Literal["joint", "weights"]
WRONG_ERRORS = (
    "standard errors computed from synthetic records, as if they were original ones, are too small"
)


@dataclass(frozen=True, eq=False)
class _Stratum:
    """The records of a stratum, with the cells of each cluster of randomized columns."""

    name: str  # empty for all records
    key: dict[str, int]  # the code of each stratum column
    rows: Positions  # of its records
    cells: list[Codes]  # of each cluster, one for each record of the stratum
    domains: list[Domain]  # the attributes of each cluster
    distributions: list[Floats]  # the estimated distribution of each cluster

    def repeated(
        self, domain: Domain, number: int, weights: Floats, source: np.random.Generator
    ) -> dict[str, Codes]:
        """Return the codes of a `number` of its records, repeated by the `weights` of the file.

        They are by column of the `domain`. Systematic sampling goes through the records in the
        order of their cells. So each combination of categories, and each category of the first
        column, is within 1 of its expected number. Largest remainders would drop combinations of
        small weight.
        """
        found = {
            name: column
            for cells, part in zip(self.cells, self.domains, strict=True)
            for name, column in zip(part.names, part.unravel(cells), strict=True)
        }
        within = [name for name in domain.names if name in found]
        by_cell = np.lexsort([found[name] for name in reversed(within)])
        chosen = by_cell[drawn_cells(weights[self.rows][by_cell], number, source, whole=True)]
        chosen = chosen[np.argsort(source.integers(-(2**63), 2**63, number), kind="stable")]
        fixed = {name: np.full(number, code) for name, code in self.key.items()}
        return {name: found[name][chosen] for name in within} | fixed


def _strata_of(protected: Responses, tables: list[Table]) -> list[_Stratum]:
    """Return the `protected` records of each stratum, with a distribution of each cluster.

    It is the distribution of maximum likelihood. For invariant matrices it is the proportions of
    the randomized values, which are unbiased and nearer to the original ones. There is one of the
    `tables` per cluster.
    """
    codes, _ = protected.codes([table.reports for table in tables])
    counted = protected.count([table.reports for table in tables])
    for table, own in zip(tables, counted, strict=True):
        refuse_impossible(table, own)
    domains = [table.blocks[0] if table.strata else table.cells for table in tables]
    names = [name for name in tables[0].cells.names if name not in domains[0].names]
    strata = []
    for each in zip(*(table.strata or (table.all_records,) for table in tables), strict=True):
        size = each[0].at.stop - each[0].at.start
        number = each[0].at.start // size
        rows = np.flatnonzero(codes[0] // size == number)
        if not rows.size:
            continue
        cells = [column[rows] - own.at.start for column, own in zip(codes, each, strict=True)]
        parts = [own.part(at.at) for own, at in zip(counted, each, strict=True)]
        found = [
            part.proportions
            if table.invariant and table.weight == part.weight
            else consistent(part.counts, at.channel).proportions
            for table, at, part in zip(tables, each, parts, strict=True)
        ]
        of_strata = tables[0].cells.project(names).unravel(np.array([number])) if names else ()
        key = {name: int(code[0]) for name, code in zip(names, of_strata, strict=True)}
        strata.append(_Stratum(each[0].name, key, rows, cells, domains, found))
    return strata


class RecordEstimates(ReleaseSource):
    """Weights of the protected records, and synthetic records, from the estimates."""

    def adjusted_weights(self) -> pd.DataFrame:
        """Return weights of the protected records that give the estimated marginal distributions.

        The method is RR-Adjustment ([multirr], Algorithm 2) for the clusters with categories as
        randomized values. Each stratum is adjusted by itself and keeps its proportion of the
        records. There is one row per record, in the order of the file: ``record``, its number from
        1, and ``weight``, with sum 1. ``.attrs`` has ``left_out`` (columns that are not adjusted),
        ``sweeps`` and ``gap`` (the largest of any stratum; see
        `deniable.randomized_response.adjustment.Adjustment`), and ``effective_records`` (equally
        weighted records with the same sum of squared weights). Raises `DeniableError` if no column
        has its categories as randomized values.
        """
        self._refuse_without_records("weights")
        clusters = self.responses.clusters()
        if not (tables := [table for table in clusters if table.returns_categories]):
            raise DeniableError(
                "no column has its own categories as randomized values, so records cannot be "
                "weighted; use the tables, or synthetic records"
            )
        weights, adjustments = _weights_of(_strata_of(self.responses, tables))
        answer = pd.DataFrame({"record": np.arange(1, weights.size + 1), "weight": weights})
        answer.attrs["left_out"] = [
            name for table in clusters if table not in tables for name in table.domain.names
        ]
        answer.attrs["sweeps"] = max(each.sweeps for each in adjustments)
        answer.attrs["gap"] = max(each.gap for each in adjustments)
        answer.attrs["effective_records"] = float(1 / np.sum(weights**2))
        return answer

    def synthetic(
        self,
        records: int | None = None,
        seed: int = 0,
        *,
        basis: Basis = "joint",
        joint: JointDistribution | None = None,
    ) -> pd.DataFrame:
        """Return synthetic records with the randomized columns, in their types.

        With the `basis` "joint", they come from the joint distribution of all columns: `joint`, or
        by default the one of `joint()`. ``.attrs["fidelity"]`` is the mean total variation distance
        between pairs of columns in the records and in this distribution. With "weights", the
        protected records are repeated by their adjusted weights, and strata keep their proportions.

        `records`, at least 1, is their number, by default the number of protected records. The
        `seed`, from 0, decides the draws. Standard errors that are computed from the records as if
        they were original ones are too small. Raises `DeniableError` if `records` is below 1, a
        channel reveals nothing about some categories, or the basis is "weights" and randomized
        values are not categories.
        """
        number, schema = self.records if records is None else records, self._schema()
        if basis == "joint":
            if joint is None:
                answers, weights = self.responses.answers(self.plan.weight)
                joint = estimate_joint(answers, self.domain, weights, seed=seed).distribution
            made = joint.sample(number, np.random.default_rng(seed))
            answer = _typed(schema, {name: made.column(name) for name in joint.domain.names})
            answer.attrs["fidelity"] = joint.distance_of_pairs(made)
            return answer
        self._refuse_without_records("weights by which records are repeated")
        tables = self.responses.clusters()
        if not all(table.returns_categories for table in tables):
            raise DeniableError(
                "the randomized values of some columns are not categories, so records cannot be "
                "repeated; make synthetic records from the joint distribution"
            )
        strata, source = _strata_of(self.responses, tables), np.random.default_rng(seed)
        sizes = np.array([stratum.rows.size for stratum in strata])
        weights, _ = _weights_of(strata)
        numbers = repeat_cells(sizes / sizes.sum(), number).tolist()
        parts = [
            stratum.repeated(schema.domain(), size, weights, source)
            for stratum, size in zip(strata, numbers, strict=True)
            if size
        ]
        order = source.permutation(number) if len(strata) > 1 else np.arange(number)
        codes = {name: np.concatenate([part[name] for part in parts])[order] for name in parts[0]}
        return _typed(schema, codes)

    def _refuse_without_records(self, what: str) -> None:
        if not self.responses.has_randomized_records:
            raise DeniableError(
                f"a {type(self.plan).__name__} leaves no randomized records of all columns, "
                f"so there are no {what}"
            )


def _typed(schema: Schema, codes: Mapping[str, Codes]) -> pd.DataFrame:
    columns = category_columns(schema)
    typed = {each.name: each.values.take(pa.array(codes[each.name])) for each in columns}
    return pd.DataFrame({name: values.to_pandas() for name, values in typed.items()})


def _weights_of(strata: list[_Stratum]) -> tuple[Floats, list[Adjustment]]:
    """Return weights of the records of all `strata`, with sum 1, and how they were found."""
    records = sum(stratum.rows.size for stratum in strata)
    weights, adjustments = np.empty(records), []
    for stratum in strata:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = adjust(stratum.cells, stratum.distributions, domains=stratum.domains)
        for each in caught:
            where = f"stratum {stratum.name}: " if stratum.name else ""
            warnings.warn(f"{where}{each.message}", each.category, stacklevel=2)
        weights[stratum.rows] = found.weights * (stratum.rows.size / records)
        adjustments.append(found)
    return weights, adjustments
