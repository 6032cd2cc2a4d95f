"""Protect numeric records by a mechanism with its parameters and the attributes' domains.

Values are clipped to the attribute's domain, shifted to [0, U], and shifted back afterwards. If the
domain does not depend on the records, this uses no privacy budget.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from deniable.arrays import Codes, Counts, Floats
from deniable.errors import DeniableError, refuse_unknown
from deniable.idp import methods
from deniable.idp.microaggregation import Ranking
from deniable.idp.true_dp import TABLE_DISTANCE, noisy_histograms
from deniable.records import NumericMicrodata
from deniable.sampling import Noise

NumericMethod = Literal[methods.Method, "histograms"]
NUMERIC_METHODS: tuple[NumericMethod, ...] = get_args(NumericMethod)
HISTOGRAMS: NumericMethod = "histograms"
DEFAULT_BINS = 20
MAX_EPSILON, MAX_CLUSTER, MAX_BINS, MAX_FACTOR = 30.0, 1_000_000, 1_000, 1_000.0


@dataclass(frozen=True, eq=False)
class Domains:
    """The domains of attributes, `names`, from `lower` to `upper`, shape (attributes,)."""

    names: tuple[str, ...]
    lower: Floats
    upper: Floats

    @property
    def widths(self) -> Floats:
        """The widths of the domains, U_j, shape (attributes,)."""
        return self.upper - self.lower

    def inner(self, values: Floats) -> Floats:
        """Return `values` clipped and shifted to [0, U_j], shape (records, attributes)."""
        return np.asarray(np.clip(values, self.lower, self.upper) - self.lower)

    def outer(self, values: Floats) -> Floats:
        """Return `values` in [0, U_j] in the units of the file, shape (records, attributes).

        The ends of [0, U_j] become the ends of the domain exactly.
        """
        moved = np.clip(values + self.lower, self.lower, self.upper)
        return np.where(values >= self.widths, self.upper, moved)


def domains_by_factor(data: NumericMicrodata, factor: float) -> Domains:
    """Return the domains [0, `factor` * maximum] of the original records `data` ([idp], section 4).

    Raises `DeniableError` if a value is below 0, or all values of an attribute are 0.
    """
    upper = methods.domain_bounds(data.values, factor)
    for name, least, most in zip(data.names, data.values.min(axis=0), upper, strict=True):
        if least < 0 or most == 0:
            raise DeniableError(
                f"the values of {name!r} go from {least:g} to {most / factor:g}; a domain factor "
                "needs values of at least 0, not all 0: give bounds instead of domain_factor"
            )
    return Domains(data.names, np.zeros_like(upper), upper)


@dataclass(frozen=True, eq=False)
class NumericMechanism:
    """A mechanism for numeric records.

    The `method` is one of `deniable.idp.methods`, "dp", "dp_um", "idp_ls" or "idp_cbls", or
    "histograms" (`deniable.idp.true_dp`). The target for a record is `epsilon`, in (0, 30], and
    attributes have equal budgets. Methods that form clusters need `k`, the least number of records
    in each, at least 3. Histograms have 2 to 1,000 `bins`. If the `domains` were made from the
    records, the `domain_factor`, at least 1, is their ratio to the largest values. Raises
    `DeniableError` if a parameter is out of range or missing.
    """

    method: NumericMethod
    epsilon: float
    domains: Domains
    k: int | None = None
    bins: int = DEFAULT_BINS
    domain_factor: float | None = None

    def __post_init__(self) -> None:
        refuse_bad_parameters(self.method, self.epsilon, self.k, self.bins, self.domain_factor)

    @property
    def by_histograms(self) -> bool:
        """Whether records are drawn from noisy histograms."""
        return self.method == HISTOGRAMS

    @property
    def public_domains(self) -> bool:
        """Whether the domains are independent of the records."""
        return self.domain_factor is None

    @cached_property
    def budget(self) -> float:
        """The epsilon that determines noise scales, at most the target.

        It is chosen so that, with floating-point noise scales, the exact epsilon of ``dp`` and of
        histograms is at most the target.
        """
        budget = self.epsilon
        while self.k is None and sum(self._exact(budget)) > Fraction(self.epsilon):
            budget = math.nextafter(budget, 0.0)
        return budget

    @property
    def shares(self) -> Floats:
        """The epsilon of each attribute, shape (attributes,)."""
        return methods.split_budget(self.budget, len(self.domains.names))

    @property
    def scales(self) -> Floats:
        """The noise scale of each attribute, shape (attributes,).

        For ``dp_um`` it is the scale for the sum of a cluster. Scales of ``idp_ls`` and
        ``idp_cbls`` depend on the records; this is an upper bound for ``idp_ls``.
        """
        return np.asarray(self._distances / self.shares)

    @property
    def exact_epsilons(self) -> list[Fraction]:
        """The exact epsilon of each attribute, for ``dp`` and histograms."""
        return self._exact(self.budget)

    def _exact(self, budget: float) -> list[Fraction]:
        distances = self._distances
        scales = distances / methods.split_budget(budget, len(distances))
        pairs = zip(distances.tolist(), scales.tolist(), strict=True)
        return [Fraction(distance) / Fraction(scale) for distance, scale in pairs]

    @property
    def _distances(self) -> Floats:
        widths = self.domains.widths
        return np.full(len(widths), float(TABLE_DISTANCE)) if self.by_histograms else widths


def refuse_bad_parameters(
    method: str, epsilon: float, k: int | None, bins: int, domain_factor: float | None
) -> None:
    """Raise `DeniableError` for parameters that are invalid in a `NumericMechanism`.

    See that class for `method`, `epsilon`, `k`, `bins` and `domain_factor`.
    """
    refuse_unknown("method", method, NUMERIC_METHODS)
    if not 0 < epsilon <= MAX_EPSILON:
        raise DeniableError(f"epsilon: {epsilon}; allowed: above 0, at most {MAX_EPSILON:g}")
    clustered = method not in ("dp", HISTOGRAMS)
    if (k is not None) != clustered:
        given = "k is missing" if k is None else f"k: {k}"
        allowed = "k, the size of clusters" if clustered else "no k, because it forms no clusters"
        raise DeniableError(f"{given}; allowed with method {method!r}: {allowed}")
    if k is not None and not methods.SMALLEST_CLUSTER <= k <= MAX_CLUSTER:
        raise DeniableError(f"k: {k}; allowed: {methods.SMALLEST_CLUSTER} to {MAX_CLUSTER:,}")
    if not 2 <= bins <= MAX_BINS:
        raise DeniableError(f"bins: {bins}; allowed: 2 to {MAX_BINS:,}")
    if domain_factor is not None and (method == HISTOGRAMS or not 1 <= domain_factor <= MAX_FACTOR):
        allowed = "none" if method == HISTOGRAMS else f"1 to {MAX_FACTOR:,g}"
        raise DeniableError(
            f"domain_factor: {domain_factor}; allowed with method {method!r}: {allowed}"
        )


def protect_numbers(
    mechanism: NumericMechanism,
    data: NumericMicrodata,
    noise: Noise,
    generator: np.random.Generator,
) -> tuple[Floats, Counts | None]:
    """Return the protected numbers of the original `data`, and the noisy counts of histograms.

    Numbers have the shape (records, attributes), in the order of the file. Counts have the shape
    (attributes, classes, bins); they are None for a `mechanism` without histograms. The `noise` is
    added to values, centroids or counts. The `generator` draws synthetic records from noisy counts
    (post-processing).
    """
    domains, counts = mechanism.domains, None
    inner, budget = domains.inner(data.values), mechanism.budget
    if mechanism.method == "histograms":
        codes = class_codes(data)
        tables = noisy_histograms(
            inner,
            codes,
            len(data.classes) or 1,
            domains.widths,
            bins=mechanism.bins,
            epsilon=budget,
            noise=noise,
        )
        values, counts = tables.synthesize(codes, generator), tables.counts
    else:
        ranking, k = Ranking.of(inner), mechanism.k or 1
        masked = methods.masking(mechanism.method, ranking, k, domains.widths, budget)
        if mechanism.k:
            values = masked.mask(noise)[0]
        else:  # noise by record number, so that draws do not depend on the ranks of values
            centres, scales = map(masked.clusters.expand, (masked.centres, masked.scales))
            values = np.clip(noise.add(centres, scales, 1)[0], 0.0, masked.upper)
    return domains.outer(values), counts


def class_codes(data: NumericMicrodata) -> Codes:
    """Return the class code of each record of `data`, or 0 without classes."""
    return data.labels if data.classes else np.zeros(len(data), dtype=np.int8)
