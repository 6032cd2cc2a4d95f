"""Plans that mask the numbers of records, with their proved and their claimed epsilon."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from deniable.channels import fraction_from_json, fraction_to_json, rounded_up
from deniable.errors import DeniableError, refuse_unknown
from deniable.idp import (
    DEFAULT_BINS,
    HISTOGRAMS,
    Domains,
    NumericMechanism,
    NumericMethod,
    domains_by_factor,
    protect_numbers,
)
from deniable.idp.audit import (
    compare_estimates,
    definition,
    measure_utility,
    proved_epsilon,
    verdicts,
)
from deniable.plans.interface import Plan, Watch
from deniable.plans.masked.claims import (
    UNIT,
    audit_claims,
    claims_to_json,
    domains_to_json,
    guarantees,
)
from deniable.plans.risks import BY_CURATOR, RISKS, Guarantee, released_columns, schema_risks
from deniable.records import NumericMicrodata
from deniable.responses import MaskedResponses, counts_in, histogram_table, with_counts
from deniable.sampling import KeyedDraws, KeyedNoise, RandomnessSource, generator_for
from deniable.schema import Part, RecordBatch, RecordsFile, Schema, answering_batches

BYTES_PER_NUMBER = 150
"""Memory of one number of a record while it is masked, measured at 10^6 records."""


@dataclass(frozen=True, eq=False, repr=False)
class MaskedPlan(Plan):
    """The mechanism that masks the numeric columns of a file.

    The target epsilon is the claim of the method; `definition` names its kind of privacy. `epsilon`
    is the proved epsilon of differential privacy for the masked numbers. It is infinite for all
    methods that form clusters ([idp], and docs/findings.md). `from_schema` makes a plan from the
    schema of a whole file.

    Parameters
    ----------
    schema : Schema
        The masked columns, without a step, and the columns that are released unchanged; all
        others are left out. See `Schema.for_masking`.
    target : float, in (0, 30]
        The claimed epsilon of a record. Columns have equal budgets.
    method : "dp", "dp_um", "idp_ls", "idp_cbls" or "histograms"
        See `deniable.idp.methods`, and for histograms `deniable.idp.true_dp`.
    k : int, at least 3, optional
        The number of records per cluster, for methods that form clusters.
    bins : int, 2 to 1,000
        The number of bins per histogram.
    domain_factor : float, at least 1, optional
        The ratio of the domains to the largest values. By default domains are the bounds.
    upper : tuple of float, optional
        The ends of the domains, with a domain factor.
    class_column : str, optional
        A categorical column that is released unchanged, because it is public.
    chosen_from : str
        "the data, by a curator" with a domain factor, else "no data".
    accept, order, part, made_by
        As in `deniable.plans.Plan`.

    Raises
    ------
    DeniableError
        If a parameter is out of range, the schema has other columns, or a risk is not accepted.

    Examples
    --------
    >>> from deniable.schema import schema_from_dict
    >>> about = {"format": "deniable-schema", "population": "all", "file": {"kind": "arrow"}}
    >>> columns = [{"name": "age", "kind": "numeric", "bounds": [18, 90], "type": "int64"}]
    >>> schema = schema_from_dict(about | {"columns": columns})
    >>> plan = MaskedPlan(schema, 1.0, "idp_ls", 5, accept=("no_epsilon_for_records",))
    >>> plan.epsilon, plan.definition
    (inf, 'individual differential privacy ([idp], Definition 3)')
    """

    kind: ClassVar[str] = "masked"
    unit: ClassVar[str] = UNIT

    method: NumericMethod = "dp"
    k: int | None = None
    bins: int = DEFAULT_BINS
    domain_factor: float | None = None
    upper: tuple[float, ...] | None = None
    class_column: str | None = None

    def __post_init__(self) -> None:
        by_data = self.domain_factor is not None
        origin = BY_CURATOR if by_data else "no data"
        refuse_unknown("origin of domains", self.chosen_from, [origin])
        if (self.upper is not None) != by_data:
            raise DeniableError("a domain factor and the ends of domains are given together")
        schema, public = self.schema, self.class_column
        if public is not None and schema[public].kind != "categorical":
            raise DeniableError(
                f"the class column {public!r} is {schema[public].kind}; name a categorical column"
            )
        if not any(each.continuous for each in schema.columns):
            raise DeniableError("no column to mask; name a numeric column")
        for column in schema.randomized:
            if not column.continuous and column.name != public:
                raise DeniableError(
                    f"column {column.name!r} is neither a number without a step nor the class "
                    "column; make the plan by MaskedPlan.from_schema, or leave the column out"
                )
        super().__post_init__()

    @classmethod
    def from_schema(
        cls,
        schema: Schema,
        epsilon: float,
        method: NumericMethod = "dp",
        *,
        columns: Sequence[str] | None = None,
        class_column: str | None = None,
        domain_factor: float | None = None,
        data: RecordsFile | None = None,
        accept: Sequence[str] = (),
        part: Part | None = None,
        **more: Any,
    ) -> "MaskedPlan":
        """Return the plan that masks some columns of a file.

        Parameters
        ----------
        schema : Schema
            Of the whole file.
        epsilon : float, in (0, 30]
            The target.
        columns : sequence of str, optional
            The masked columns; by default all numeric ones with bounds.
        data : RecordsFile, optional
            The original file, from which a domain factor makes domains.
        method, class_column, domain_factor, accept, part, **more
            As in the class, with its errors.
        """
        numeric = [each.name for each in schema.columns if each.bounds is not None]
        kept = [*released_columns(schema, accept), *([class_column] if class_column else [])]
        own = schema.for_masking(numeric if columns is None else columns, kept)
        if domain_factor is not None:
            if data is None:
                raise DeniableError(
                    "a domain factor needs the original records; give them, or leave domain_factor "
                    "out and take the bounds of the schema"
                )
            batches = answering_batches(data.with_schema(own).portions(), part)
            records = _numeric_records(own, [batch for batch, _ in batches])
            upper = domains_by_factor(records, domain_factor).upper
            more |= {"upper": tuple(upper.tolist()), "chosen_from": BY_CURATOR}
        accepted = tuple(dict.fromkeys(accept))
        more |= {"domain_factor": domain_factor, "class_column": class_column, "part": part}
        return cls(own, epsilon, method, accept=accepted, **more)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the masked columns, in the order of the file."""
        return tuple(each.name for each in self.schema.columns if each.continuous)

    @cached_property
    def mechanism(self) -> NumericMechanism:
        """The mechanism with its parameters and domains."""
        ends = np.array([self.schema[name].bounds for name in self.names], dtype=float)
        lower, upper = ends.T
        if self.upper is not None:
            lower, upper = np.zeros(len(ends)), np.array(self.upper, dtype=float)
            if upper.shape != lower.shape or not (np.isfinite(upper) & (upper > 0)).all():
                raise DeniableError("give one finite end above 0 for the domain of each column")
        domains = Domains(self.names, lower, upper)
        return NumericMechanism(
            self.method, self.target, domains, self.k, self.bins, self.domain_factor
        )

    @property
    def schema_of_originals(self) -> Schema:
        if self.upper is None:
            return self.schema
        pairs = zip(self.names, self.upper, strict=True)
        ends = {name: {"bounds": [0.0, end]} for name, end in pairs}
        columns = [each.model_copy(update=ends.get(each.name)) for each in self.schema.columns]
        return self.schema.model_copy(update={"columns": columns})

    @property
    def definition(self) -> str:
        """The privacy definition of the target epsilon."""
        return definition(self.mechanism)

    @cached_property
    def epsilon(self) -> float:
        return proved_epsilon(self.mechanism)

    @property
    def row_by_row(self) -> bool:
        return self.k is None and not self.mechanism.by_histograms

    @property
    def unchanged_groups(self) -> tuple[str, ...]:
        return (self.class_column,) if self.class_column else ()

    def epsilon_by_changed_attribute(self) -> dict[str, float]:
        if math.isinf(self.epsilon):
            return dict.fromkeys(self.names, math.inf)
        return dict(zip(self.names, map(rounded_up, self.mechanism.exact_epsilons), strict=True))

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        return guarantees(self.mechanism, self.class_column)

    @property
    def refuted(self) -> tuple[str, ...]:
        return tuple(each.reading for each in verdicts(self.mechanism) if not each.holds)

    def memory(self, records: int) -> int:
        return BYTES_PER_NUMBER * len(self.names) * records

    def refuse_too_few(self, records: int) -> None:
        answering = len(self.part.positions(records)) if self.part else records
        if self.k is not None and 2 * self.k > answering:
            raise DeniableError(
                f"k is {self.k:,}, and {answering:,} records do not form two such clusters; make a "
                f"plan with k at most {answering // 2:,}, half the records, or a method without k"
            )

    @property
    def risks(self) -> dict[str, str]:
        holds = {
            "no_epsilon_for_records": self.k is not None,
            "original_values_released": self.method == "idp_cbls",
            "largest_values_shown": not self.mechanism.public_domains,
        }
        # A domain factor is the only choice by the data, and it has a risk of its own.
        found = schema_risks(self.schema, "no data", self.accept)
        return found | {name: RISKS[name] for name, so in holds.items() if so}

    @property
    def passed(self) -> tuple[str, ...]:
        released = {*released_columns(self.schema, self.accept), self.class_column}
        return tuple(each.name for each in self.schema.columns if each.name in released)

    def original_records(self, batches: Iterable[RecordBatch]) -> NumericMicrodata:
        held = [batch for batch, _ in answering_batches(batches, self.part)]
        return _numeric_records(self.schema, held, self.class_column)

    def randomize(
        self, batches: Iterable[RecordBatch], source: RandomnessSource, watch: Watch | None = None
    ) -> Iterator[pa.Table]:
        """Yield one table of the protected columns; the parameters are as in `Plan`.

        `watch` is not called, because no categories are randomized by the `source`. Masked numbers
        are doubles for all types of original numbers in `batches`. A CSV file contains the shortest
        texts of these doubles. The table has the noisy counts of histograms in its metadata, and a
        DataFrame made from it has them in its ``attrs``.
        """
        held = [batch for batch, _ in answering_batches(batches, self.part)]
        data, draws = _numeric_records(self.schema, held, self.class_column), KeyedDraws.of(source)
        generator = generator_for(0, {"synthesis": draws.subkey("synthesis", ()).hex()})
        values, counts = protect_numbers(self.mechanism, data, KeyedNoise(draws), generator)
        columns: dict[str, pa.Array] = {}
        for column in self.schema.columns:
            if column.continuous:
                array = pa.array(values[:, self.names.index(column.name)])
            elif column.name in self.passed:
                whole = pa.concat_arrays([each.passed[column.name] for each in held])
                # A null can hide a value in the buffer below it; taking the values removes it.
                array = whole.take(pa.array(np.arange(len(whole))))
            else:
                continue
            if self.schema.file.protected.kind == "csv":
                array = array.cast(pa.string())
                if column.continuous and column.decimal == ",":
                    array = pc.replace_substring(array, ".", ",")
            columns[column.name] = array
        yield with_counts(pa.table(columns), counts)

    def public_tables(self, protected: pa.Table) -> dict[str, pd.DataFrame]:
        if (counts := counts_in(protected)) is None:
            return {}
        classes = self.schema[self.class_column].attribute().categories if self.class_column else ()
        return {HISTOGRAMS: histogram_table(self.mechanism, classes, np.array(counts))}

    def responses(self, source: Any) -> MaskedResponses:
        return MaskedResponses(source, self.schema, self.mechanism, self.class_column)

    def audit(self) -> pd.DataFrame:
        """Compare each claim about the masked numbers with the proved epsilon.

        For ``dp`` and histograms, the mechanism runs on two files that differ as much as possible.
        The changes before noise, divided by the noise scales in use, are the exact epsilon. The
        other rows follow from proofs and counterexamples ([idp], and docs/findings.md). A row
        without an exact epsilon depends on the records.
        """
        return audit_claims(self.mechanism)

    def compare_with_original(
        self,
        protected: MaskedResponses,
        original: NumericMicrodata,
        estimates: Mapping[str, pd.DataFrame],
        generator: np.random.Generator,
    ) -> pd.DataFrame:
        """Compare a test release with the original records; the parameters are as in `Plan`.

        `protected`, in the order of `original`, contains all `estimates`. The `generator` also
        draws the random numbers of the intruder and the classifiers. The rows of
        `deniable.idp.audit.compare_estimates` come first. Then come the measures of
        `deniable.idp.audit.measure_utility`, with their names in ``statistic``. They compare
        records one by one, so they are left out if the order is permuted.
        """
        compared = compare_estimates(self.mechanism, original, protected.estimates(), generator)
        if self.order == "permuted":
            return compared
        seed = int(generator.integers(2**31))
        measures = measure_utility(self.mechanism, original, protected.data, seed)
        return pd.concat([compared, measures.rename(columns={"measure": "statistic"})])

    def to_json(self) -> dict[str, Any]:
        mechanism, factor = self.mechanism, self.domain_factor
        return {
            "method": self.method,
            "definition": self.definition,
            "k": self.k,
            "bins": self.bins if mechanism.by_histograms else None,
            "domain_factor": None if factor is None else fraction_to_json(factor),
            "class_column": self.class_column,
            "columns": domains_to_json(mechanism),
            "claims": claims_to_json(mechanism),
        }

    @classmethod
    def from_json(cls, own: Mapping[str, Any], fields: Mapping[str, Any]) -> "MaskedPlan":
        factor, bins = own["domain_factor"], own["bins"]
        upper = tuple(fraction_from_json(each["upper"]) for each in own["columns"])
        return cls(
            method=own["method"],
            k=own["k"],
            bins=DEFAULT_BINS if bins is None else bins,
            domain_factor=None if factor is None else fraction_from_json(factor),
            upper=None if factor is None else upper,
            class_column=own["class_column"],
            **fields,
        )


def _numeric_records(
    schema: Schema, batches: Sequence[RecordBatch], class_column: str | None = None
) -> NumericMicrodata:
    """Return the numbers in `batches` of a `schema`, and the classes in a `class_column`."""
    names = tuple(each.name for each in schema.columns if each.continuous)
    columns = [np.concatenate([each.numbers[name] for each in batches]) for name in names]
    values = np.stack(columns, axis=1)
    if class_column is None:
        return NumericMicrodata(names, values)
    labels = np.concatenate([each.codes[class_column] for each in batches])
    classes = schema[class_column].attribute().categories
    return NumericMicrodata(names, values, class_column, classes, labels)
