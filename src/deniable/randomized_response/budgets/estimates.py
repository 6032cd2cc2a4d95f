"""What the reports of a plan say of margins, of pairs, of any table: with standard errors.

**Weights.** A report's score for a cell is a number whose mean, given the true record, is 1 if the
record is in that cell, else 0: the columns of a left inverse of the channel, summed over what the
table leaves out; for attributes of several questions, which are answered independently, the product
of their scores. The mean of the scores of a group is unbiased. Groups that all tell of a table are
averaged with weights fixed by the plan, in inverse proportion to their variances at uniform truth.

**Variances**, given the numbers of persons n_g of N. Groups are simple random samples of the file.
With V_g the mean over records of the variance of a score given the record, and S^2 the variance of
the cell's indicator in the file (N - 1 in the denominator), for weights a_g of sum 1,

    file:       sum of a_g^2 (V_g + S^2) / n_g - S^2 / N

by the covariance -S^2 / N of the means of two disjoint samples, and for the population without the
last term. Both have unbiased estimates: the sample variance of the scores over n_g, less, for V_g,
the part that the true cell makes.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import scipy

from deniable.arrays import Codes, Floats
from deniable.channels import Channel, Target, roots_of_variances
from deniable.errors import DeniableError, refuse_unknown
from deniable.estimation import CONFIDENCE, refuse_bad_confidence
from deniable.randomized_response.budgets.plan import Question, QuestionPlan, Reports

TARGETS: tuple[Target, ...] = ("file", "population")
CHUNK_PERSONS = 1 << 13
NO_VARIANCE = 1e-12  # what rounding leaves of the variance of a table of one cell
FEWEST_PERSONS = 2  # of a group that is used: one says nothing of how persons differ


@dataclass(frozen=True, eq=False)
class TableEstimate:
    """Estimated proportions of a table.

    Parameters
    ----------
    names : tuple of str
        Its axes.
    proportions, standard_errors : array, a cell each
        Unbiased where no grid is coarse; proportions sum to 1 (but for channels whose own
        estimates do not) and may leave [0, 1]. A variance estimated below 0 gives NaN.
    persons : int
        Those whose answers were used.
    """

    names: tuple[str, ...]
    proportions: Floats
    standard_errors: Floats
    persons: int

    def intervals(self, confidence: float = CONFIDENCE) -> tuple[Floats, Floats]:
        """Return the limits, low and high, of cells' normal intervals of a `confidence`."""
        refuse_bad_confidence(confidence)
        reach = float(scipy.special.ndtri((1 + confidence) / 2)) * self.standard_errors
        return self.proportions - reach, self.proportions + reach


@dataclass(frozen=True, eq=False)
class _Source:
    """A group that tells of a table: its number, and those of its questions that are needed."""

    group: int
    questions: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class _Told:
    """What one group says, a cell each: the estimate, and its variances for both targets."""

    values: Floats
    population: Floats
    file: Floats
    persons: int


def estimate_table(
    plan: QuestionPlan, reports: Reports, names: Sequence[str], target: Target = "population"
) -> TableEstimate:
    """Estimate the proportions of a table from all groups that tell of it.

    Parameters
    ----------
    plan : QuestionPlan
    reports : Reports
        What `plan.randomize` returned.
    names : sequence of str
        One attribute for a margin, two for a pair; some group must be asked about all of them.
    target : "population" or "file"
        What the standard errors are about. ``file`` leaves out the sampling of the file, but not
        that of a group's persons from it.

    Raises
    ------
    DeniableError
        If no group is asked about all these attributes, or none of them has two persons.
    """
    refuse_unknown("target", target, TARGETS)
    sources = [
        source
        for source in _sources(plan, names)
        if reports.persons(source.group) >= FEWEST_PERSONS
    ]
    if not sources:
        raise DeniableError(
            f"no group that is asked about {' x '.join(names)} has {FEWEST_PERSONS} persons; "
            "ask more of them"
        )
    told = [_told(plan, reports, source, names) for source in sources]
    weights = _weights(plan, sources, names)
    pairs = list(zip(weights, told, strict=True))
    values = sum(a * each.values for a, each in pairs)
    variance = sum(a**2 * each.population for a, each in pairs)
    scale = np.max([np.abs(each.population) for each in told], axis=0)
    if target == "file":
        sampling = sum(a * each.persons * (each.population - each.file) for a, each in pairs)
        variance = variance - sampling / len(reports)
    shape = plan.domain.project(names).shape
    errors = roots_of_variances(np.asarray(variance), 1e-12 * scale)
    persons = sum(each.persons for each in told)
    return TableEstimate(
        tuple(names), np.reshape(values, shape), np.reshape(errors, shape), persons
    )


def planned_variances(plan: QuestionPlan, names: Sequence[str], persons: int) -> Floats:
    """Return the variance of each cell of a table at uniform truth, for the target "population".

    Groups are taken to have the persons that are expected: n times their share. What a coarse grid
    leaves out is no variance; at uniform truth it is nothing. `plan` and `names` are those of
    `estimate_table`, n is `persons`, at least 1; the array has a cell each.
    """
    if persons < 1:
        raise DeniableError(f"persons must be at least 1, not {persons}")
    sources = _sources(plan, names)
    weights, shares = _weights(plan, sources, names), plan.shares
    total = sum(
        a**2 * _uniform_variances(plan, source, names) / float(persons * shares[source.group])
        for a, source in zip(weights, sources, strict=True)
    )
    return np.reshape(total, plan.domain.project(names).shape)


def _sources(plan: QuestionPlan, names: Sequence[str]) -> list[_Source]:
    """Return the groups that tell of a table; those alone, if any, that keep its categories."""
    plan.domain.project(names)  # refuses unknown and repeated ones
    found: list[_Source] = []
    for number, group in enumerate(plan.groups):
        needed = tuple(
            position
            for position, question in enumerate(group.questions)
            if set(question.names) & set(names)
        )
        known = {name for position in needed for name in group.questions[position].names}
        if names and set(names) <= known:
            found.append(_Source(number, needed))
    if not found:
        raise DeniableError(
            f"no group is asked about {' and '.join(names) or 'nothing'} together, so that this "
            "table cannot be estimated; use a plan whose groups are (see split_record, share_pairs)"
        )
    full = [source for source in found if _keeps(plan, source, names)]
    return full or found


def _keeps(plan: QuestionPlan, source: _Source, names: Sequence[str]) -> bool:
    return all(
        cells == plan.domain[name].size
        for position in source.questions
        for name, cells in _axes(plan.groups[source.group].questions[position])
        if name in names
    )


def _axes(question: Question) -> list[tuple[str, int]]:
    return list(zip(question.names, question.shape, strict=True))


def _weights(plan: QuestionPlan, sources: Sequence[_Source], names: Sequence[str]) -> Floats:
    if len(sources) == 1:
        return np.ones(1)
    shares = np.array([float(plan.shares[source.group]) for source in sources])
    variances = [_uniform_variances(plan, source, names).mean() for source in sources]
    precisions = shares / np.maximum(variances, NO_VARIANCE)
    return np.asarray(precisions / precisions.sum())


# -- scores ----------------------------------------------------------------------------------------


def _uniform_variances(plan: QuestionPlan, source: _Source, names: Sequence[str]) -> Floats:
    """Return n times the variance of each cell's estimate by one group at uniform truth."""
    means, moments = [], []
    for position in source.questions:
        question = plan.groups[source.group].questions[position]
        weights, truth = _functionals(plan, question, names), _uniform(plan, question)
        channel = question.channel.of_least_variance(truth)
        means.append(weights @ truth)
        moments.append(channel.solve(weights) ** 2 @ channel.reported(truth))
    flat = reduce(_kron, moments) - reduce(_kron, means) ** 2
    return _in_order(plan, source, names, flat)


def _uniform(plan: QuestionPlan, question: Question) -> Floats:
    """Return the distribution of the grid's cells when the true one is uniform."""
    axes = [
        np.bincount(_ranges(plan.domain[name].size, cells)) / plan.domain[name].size
        for name, cells in _axes(question)
    ]
    return reduce(_kron, axes)


def _ranges(size: int, cells: int) -> np.ndarray:
    return np.arange(size) * cells // size


def _functionals(plan: QuestionPlan, question: Question, names: Sequence[str]) -> Floats:
    """Return the weights of a table's cells over the grid's, shape (table, grid).

    Of the attributes of the question that the table has, in the question's order; a cell of a range
    has its even part of it.
    """
    axes = []
    for name, cells in _axes(question):
        if name in names:
            ranges = _ranges(plan.domain[name].size, cells)
            own = ranges[:, None] == np.arange(cells)
            axes.append(own / np.bincount(ranges))
        else:
            axes.append(np.ones((1, cells)))
    return reduce(_kron, axes)


def _in_order(plan: QuestionPlan, source: _Source, names: Sequence[str], values: Floats) -> Floats:
    """Return a table's values, flat, with the axes as named instead of as asked."""
    questions = [plan.groups[source.group].questions[position] for position in source.questions]
    asked = [name for question in questions for name in question.names if name in names]
    table = values.reshape(plan.domain.project(asked).shape)
    return table.transpose([asked.index(name) for name in names]).reshape(-1)


def _told(plan: QuestionPlan, reports: Reports, source: _Source, names: Sequence[str]) -> _Told:
    questions = [plan.groups[source.group].questions[position] for position in source.questions]
    persons = reports.persons(source.group)
    if len(questions) == 1 and _is_whole(plan, questions[0], names):
        counts = plan.counts(reports, source.group, source.questions[0])
        channel = questions[0].channel
        found = [
            channel.estimate(counts),
            channel.standard_errors(counts) ** 2,
            channel.standard_errors(counts, "file") ** 2,
        ]
    else:
        answers = [reports.answers[source.group][position] for position in source.questions]
        found = _by_scores(plan, questions, answers, names)
    values, population, file = (_in_order(plan, source, names, each) for each in found)
    return _Told(values, population, file, persons)


def _is_whole(plan: QuestionPlan, question: Question, names: Sequence[str]) -> bool:
    """Return whether a table is that of all cells of a question, none of them a range."""
    return set(question.names) == set(names) and question.shape == (
        plan.domain.project(question.names).shape
    )


def _by_scores(
    plan: QuestionPlan,
    questions: Sequence[Question],
    answers: Sequence[Codes],
    names: Sequence[str],
) -> list[Floats]:
    """Return estimates and their variances for both targets, through fixed left inverses."""
    scores, within = [], []
    for question in questions:
        weights = _functionals(plan, question, names)
        channel: Channel = question.channel.of_least_variance(_uniform(plan, question))
        channel.refuse_singular()
        scores.append(channel.solve(weights))
        within.append(channel.solve(weights**2))
    persons = len(answers[0])
    values = _mean_products(scores, answers)
    moments = _mean_products([score**2 for score in scores], answers)
    squares = _mean_products(within, answers)
    return [values, (moments - values**2) / (persons - 1), (moments - squares) / persons]


def _mean_products(scores: Sequence[Floats], answers: Sequence[Codes]) -> Floats:
    """Return the mean over persons of all products of their scores, flat, the last fastest."""
    persons = len(answers[0])
    if len(scores) == 1:
        counts = np.bincount(answers[0], minlength=scores[0].shape[1])
        return np.asarray(scores[0] @ counts / persons)
    total = np.zeros(math.prod(len(score) for score in scores))
    for start in range(0, persons, CHUNK_PERSONS):
        part = slice(start, start + CHUNK_PERSONS)
        own = [score[:, told[part]] for score, told in zip(scores, answers, strict=True)]
        first = reduce(
            lambda a, b: (a[:, None, :] * b[None, :, :]).reshape(-1, a.shape[1]), own[:-1]
        )
        total += (first @ own[-1].T).reshape(-1)
    return np.asarray(total / persons)


def _kron(left: Floats, right: Floats) -> Floats:
    return np.asarray(np.kron(left, right))
