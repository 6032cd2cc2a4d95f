"""Design the channel of least loss that meets given requirements (the entry point)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats
from deniable.channels import (
    MAX_LINEAR_DESIGN,
    MAX_SEARCHED_DESIGN,
    DenseChannel,
    Target,
    distribution,
)
from deniable.design.conflicts import InfeasibleError, refuse_conflicts, refuse_unestimable
from deniable.design.exactness import Exact, exact_matrix, exact_reports
from deniable.design.programs import (
    MAX_ENUMERATED,
    EstimatorName,
    InverseVariance,
    Loss,
    LossName,
    ReportsVariance,
    Requirements,
    certified,
    loss_of,
    polytope,
)
from deniable.design.rectangular import Reports, least_with_reports, report_names
from deniable.design.search import SearchResult, least_concave, least_variance
from deniable.design.starts import feasible_forms
from deniable.errors import ConfigError, DeniableError, refuse_unknown

GLOBAL = 1e-6  # relative distance from the lower bound up to which a loss counts as the least
LEAST_EPSILON = 1e-4  # below it, the rounding of probabilities exceeds their differences
PROVED = 1e-7  # relative distance from the loss up to which no second bound is computed
SAME = 1e-9  # relative change of the loss that is allowed when a matrix is made exact
NEGLIGIBLE = 1e-12


@dataclass(frozen=True, eq=False)
class Design:
    """An optimized transition matrix.

    Attributes
    ----------
    channel : DenseChannel
        Its exact epsilon is at most the required one. With more responses than categories, its own
        left inverse has the least variance at the proportions of the design.
    loss : float
        The loss of one record: n times the variance, or a proportion or cost of a record.
    lower_bound : float or None
        No channel that meets the requirements has a smaller loss, with any number of responses. It
        is None if no bound is known.
    optimality : "global" or "local"
        Global if the relative distance of the loss from the lower bound is at most 1e-6.
    violations : mapping
        The violation of each requirement, at most 1e-9, recomputed from the matrix alone
        (`deniable.design.exactness.violations`).
    loss_name, estimator, target : str
        The minimized loss; see `design`.
    notes : tuple of str
        Remarks for users of the matrix, in sentences.
    report_names : tuple of str
        The categories; if responses are not categories, the likely categories of each, "a|c".
    """

    channel: DenseChannel
    loss: float
    lower_bound: float | None
    optimality: Literal["global", "local"]
    violations: Mapping[str, float]
    loss_name: LossName
    estimator: EstimatorName
    target: Target
    notes: tuple[str, ...] = ()
    report_names: tuple[str, ...] = ()


def design(
    proportions: npt.ArrayLike,
    requirements: Requirements,
    loss: LossName = "trace",
    *,
    estimator: EstimatorName | None = None,
    target: Target | None = None,
    reports: Reports = "square",
) -> Design:
    """Return the channel of least loss that meets the requirements.

    Parameters
    ----------
    proportions : array, shape (size,), not negative, sum 1
        True or expected frequencies of the categories.
    requirements : Requirements
        The requirements that the channel must meet.
    loss : "trace", "worst_cell", "changed" or "distance"
        - ``trace``, ``worst_cell``: sum and largest of the variances of the estimated proportions.
          They are not convex in the matrix. The best result of many starts is returned, with a
          lower bound; ``optimality`` states whether they agree.
        - ``changed``: the expected proportion of records that change category. Linear: global.
        - ``distance``: the expected cost of a record, with the requirements' costs. Linear: global.
    estimator : "inverse" or "reports", optional
        The estimate with this variance: by inversion, (1.2) of [pram], or the responses' own
        proportions. The latter need an invariant matrix and are then the default.
    target : "population" or "file", optional
        Whether variances include sampling (`deniable.channels.base.Target`). By default they
        include it for "inverse" (see (1.3)), and exclude it for "reports" (see (2.4)). Only the
        matrix of the worst cell can depend on it.
    reports : "square" or "any"
        - ``square``: one response for each category. A protected file keeps its categories.
          Retention, invariance, transitions and costs treat a response as a category.
        - ``any``: any number of responses, for variances by inversion with epsilon alone and at
          most 16 categories. This is the best of all channels, with up to size (size + 1) / 2
          responses. Variances are for the left inverse that minimizes them at these proportions.

    Raises
    ------
    InfeasibleError
        If no channel meets the requirements; the error has the requirements that conflict. Also if
        all channels that meet them are singular, and the loss is a variance by inversion.
    ConfigError
        If `reports` is "any" with a loss, an estimator or a requirement that needs categories.
    DeniableError
        If an argument is out of range, or there are too many categories: over 40, over 24 for
        variances, over 16 if `reports` is "any".

    Examples
    --------
    >>> found = design([0.7, 0.2, 0.1], Requirements(epsilon=1.0, invariant=True), "changed")
    >>> found.optimality, round(found.loss, 6)
    ('global', 0.348886)
    >>> found.channel.epsilon <= 1.0
    True
    >>> found = design([0.4, 0.3, 0.2, 0.1], Requirements(epsilon=0.5), reports="any")
    >>> found.optimality, found.channel.reports, round(found.loss, 3)
    ('global', 6, 37.359)
    """
    pi = distribution(proportions)
    pi = pi / pi.sum()
    names = _names(requirements.categories, pi.size)
    chosen, meant = _resolved(requirements, loss, estimator, target)
    _refuse_reports(reports, requirements, loss, chosen, pi.size)
    largest = MAX_LINEAR_DESIGN if loss in ("changed", "distance") else MAX_SEARCHED_DESIGN
    if pi.size > largest:
        other = f" ({MAX_LINEAR_DESIGN} for 'changed')" if largest < MAX_LINEAR_DESIGN else ""
        raise DeniableError(
            f"{pi.size} categories are too many for a design of least {loss!r}: the limit is "
            f"{largest}{other}"
        )
    wanted = polytope(pi, requirements)
    if wanted.corner(np.zeros((pi.size, pi.size))) is None:
        refuse_conflicts(pi, requirements, names)
    if loss in ("trace", "worst_cell") and chosen == "inverse":
        refuse_unestimable(wanted, requirements, names, LEAST_EPSILON)
    costs = None if requirements.cost is None else requirements.cost.costs(pi.size)
    function = loss_of(loss, pi, estimator=chosen, target=meant, costs=costs)
    found = _searched(function, pi, requirements)
    bound = found.bound
    exact, value = _best_exact(function, found.candidates, pi, requirements)
    if isinstance(function, InverseVariance) and reports == "any":
        exact = _with_reports(function, exact, found, requirements)
        value = function.value(exact.P)
        if bound is not None and wanted.ratio > 1 and value - bound > PROVED * abs(value):
            bound = max(bound, certified(function, wanted.ratio, exact.P))
    bound = None if bound is None else min(bound, value)
    least = bound is not None and value - bound <= GLOBAL * abs(value) + NEGLIGIBLE
    optimality: Literal["global", "local"] = "global" if least else "local"
    square = exact.P.shape[1] == pi.size
    channel, notes = DenseChannel(exact.P, None if square else pi), _notes(exact.P, names)
    own = report_names(exact.P, requirements.categories or [str(v) for v in range(pi.size)])
    return Design(
        channel, value, bound, optimality, exact.violations, loss, chosen, meant, notes, own
    )


def _with_reports(
    loss: InverseVariance, square: Exact, found: SearchResult, requirements: Requirements
) -> Exact:
    """Return the better one of the square channel and the best channel of any size."""
    if found.relaxed is None or requirements.epsilon is None:
        return square
    P = least_with_reports(loss, requirements.epsilon, square.P, found.relaxed)
    if P is square.P:
        return square
    exact = exact_reports(P, loss.proportions, requirements)
    return exact if loss.value(exact.P) < loss.value(square.P) else square


def _searched(function: Loss, pi: Floats, requirements: Requirements) -> SearchResult:
    generator = np.random.default_rng(0)  # the same arguments give the same matrix
    if isinstance(function, InverseVariance):
        return least_variance(function, pi, requirements, generator)
    if isinstance(function, ReportsVariance):
        return least_concave(function, pi, requirements, generator)
    wanted = polytope(pi, requirements)
    if (corner := wanted.corner(function.weights)) is None:
        raise DeniableError(
            "the requirements are nearly infeasible: a solver found them first feasible, then "
            "infeasible; relax one of them by 1e-6"
        )
    # A closed form can be better by less than a solver's tolerance. This matters for a small loss.
    matrices = [corner.P, *feasible_forms(wanted, pi, requirements)]
    return SearchResult(sorted(matrices, key=function.value), max(corner.bound, 0.0))


def _best_exact(
    function: Loss, candidates: Sequence[Floats], pi: Floats, requirements: Requirements
) -> tuple[Exact, float]:
    """Make matrices exact, best first, until one keeps its loss; return the best one."""
    best: tuple[Exact, float] | None = None
    fault: DeniableError | None = None
    for P in candidates:
        before = function.value(P)
        try:
            exact = exact_matrix(P, pi, requirements)
        except DeniableError as error:
            fault = error
            continue
        value = function.value(exact.P)
        if best is None or value < best[1]:
            best = exact, value
        if value <= before + SAME * abs(before):
            break
    if best is None:
        raise fault or DeniableError("no matrix was found that meets the requirements")
    if not math.isfinite(best[1]):
        raise InfeasibleError(
            "all channels that were found for the requirements are singular, so nothing can be "
            "estimated by inversion; relax a requirement, or minimise 'changed' or 'distance'"
        )
    return best


def _notes(P: Floats, names: Sequence[str]) -> tuple[str, ...]:
    notes = []
    if never := [names[int(v)] for v in np.flatnonzero(~P.any(axis=0))]:
        notes.append(f"never reported: {', '.join(never)}")
    if DenseChannel(P).singular:
        notes.append(
            "the matrix is singular and cannot be inverted; estimates are the proportions of the "
            "responses themselves; the estimator 'inverse' leads to an invertible matrix"
        )
    return tuple(notes)


def _names(categories: Sequence[str] | None, size: int) -> tuple[str, ...]:
    if categories is None:
        return tuple(f"category {v}" for v in range(size))
    if len(categories) != size:
        raise DeniableError(f"{len(categories)} names of categories for {size} proportions")
    return tuple(repr(name) for name in categories)


def _resolved(
    requirements: Requirements,
    loss: LossName,
    estimator: EstimatorName | None,
    target: Target | None,
) -> tuple[EstimatorName, Target]:
    refuse_unknown("loss", loss, get_args(LossName))
    if estimator is not None:
        refuse_unknown("estimator", estimator, get_args(EstimatorName))
    if target is not None:
        refuse_unknown("target", target, get_args(Target))
    if loss == "distance" and requirements.cost is None:
        raise DeniableError(
            "the loss 'distance' needs costs: give the requirements a cost matrix, or a power of "
            "the distance between ordered categories"
        )
    chosen = estimator or ("reports" if requirements.invariant else "inverse")
    if chosen == "reports" and not requirements.invariant and loss in ("trace", "worst_cell"):
        raise DeniableError(
            "the responses' own proportions are unbiased estimates only if the matrix is "
            "invariant; require invariance, or use the estimator 'inverse'"
        )
    return chosen, target or ("population" if chosen == "inverse" else "file")


def _refuse_reports(
    reports: Reports,
    requirements: Requirements,
    loss: LossName,
    estimator: EstimatorName,
    size: int,
) -> None:
    """Raise `ConfigError` if an option needs categories as responses, or `size` is too large."""
    if reports not in get_args(Reports):
        raise ConfigError(f"reports is {reports!r}; it must be 'square' or 'any'")
    if reports == "square":
        return
    needing = [name for name in ("retention", "change") if requirements.floors(name, size).any()]
    needing += ["invariant"] if requirements.invariant else []
    needing += sorted(set(requirements.zeros(size).values()))
    needing += ["cost"] if requirements.cost and requirements.cost.at_most is not None else []
    needing += [f"the loss {loss!r}"] if loss in ("changed", "distance") else []
    needing += ["the estimator 'reports'"] if estimator == "reports" else []
    if needing:
        raise ConfigError(
            f"reports is {reports!r}, but responses must be categories for {' and '.join(needing)}"
            "; set reports to 'square', or leave that out"
        )
    if size > MAX_ENUMERATED:
        raise ConfigError(
            f"reports is {reports!r} with {size} categories; allowed are up to {MAX_ENUMERATED}: "
            "set reports to 'square', or use deniable.channels.best_protocol, which has no limit"
        )
