"""Who is asked what: groups of persons, the questions of each group, and their channels.

A person belongs to one group, drawn with public probabilities that no record changes, and answers
the questions of that group, each through a channel of its own; attributes of different questions of
a group differ. Splitting a record, sampling an attribute, clusters and pairs are all of this form.

**Epsilon.** With s_g the share of group g and P_q the channels, whoever sees the whole report has

    Pr(g, answers | record) = s_g * product over questions q of g of P_q(record's cell, answer).

For two records and one report s_g cancels, so that the ratio is a product over the questions of one
group. These share no attribute: some two records are at each question's worst at once. Hence the
exact epsilon of a record is the largest over groups of the sum of its questions' epsilons, and that
of one attribute the largest over groups of the epsilon of its own question. That others are
asked something else amplifies nothing, for the group is seen.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod

import numpy as np
import numpy.typing as npt

from deniable.arrays import Codes, Counts, Positions
from deniable.channels import Channel, log_rounded_up, product_of_ratios
from deniable.errors import DataError, DeniableError
from deniable.records import Domain, refuse_foreign_codes
from deniable.sampling import Categories, Chance, KeyedDraws, Numbers, Outcomes

GROUP = ("",)
"""The name of the keyed column that groups are drawn from: no attribute has it."""


@dataclass(frozen=True, eq=False)
class Question:
    """Attributes whose joint cell goes through one channel.

    Parameters
    ----------
    names : tuple of str
    channel : Channel
        Over the cells of the grid, the last attribute running fastest.
    shape : tuple of int
        The grid: into how many consecutive ranges, as even as can be, the categories of each
        attribute fall. Category c of r is in range c * ranges // r.
    """

    names: tuple[str, ...]
    channel: Channel
    shape: tuple[int, ...]

    def cells(self, columns: Sequence[Codes], sizes: Sequence[int]) -> Codes:
        """Return the grid's cell of each record: `columns` are codes of `sizes` categories."""
        ranges = [
            column.astype(np.int64) * cells // size
            for column, size, cells in zip(columns, sizes, self.shape, strict=True)
        ]
        return np.asarray(np.ravel_multi_index(ranges, self.shape))


@dataclass(frozen=True, eq=False)
class Group:
    """Persons who are asked the same.

    Parameters
    ----------
    weight : float or Fraction, above 0
        In proportion to the probability of belonging to it.
    questions : tuple of Question
        Of different attributes.
    """

    weight: float | Fraction
    questions: tuple[Question, ...]


@dataclass(frozen=True, eq=False)
class Reports:
    """What all persons reported.

    Parameters
    ----------
    group : array of int, shape (persons,)
    answers : tuple of tuples of arrays of int
        For each group and each of its questions the answers of that group's persons, in order.
    """

    group: Codes
    answers: tuple[tuple[Codes, ...], ...]

    def __len__(self) -> int:
        return len(self.group)

    def persons(self, group: int) -> int:
        """Return how many persons a `group`, by number, has."""
        return int(np.count_nonzero(self.group == group))


@dataclass(frozen=True, eq=False)
class QuestionPlan:
    """Groups of persons with their questions about one domain; see the module for its epsilon.

    A person belongs to one of the `groups`; questions are about attributes of the `domain`.

    Raises
    ------
    DeniableError
        If there is no group, a weight is not above 0, a group asks for an attribute twice or for an
        unknown one, or a channel does not fit its question.

    See Also
    --------
    deniable.randomized_response.budgets.split_record : and the other makers of plans
    deniable.randomized_response.budgets.estimate_table : what reports say
    """

    domain: Domain
    groups: tuple[Group, ...]

    def __post_init__(self) -> None:
        if not self.groups or not all(0 < group.weight < np.inf for group in self.groups):
            raise DeniableError("a plan needs at least one group, and weights above 0")
        for group in self.groups:
            names = [name for question in group.questions for name in question.names]
            if not names or len(set(names)) < len(names):
                raise DeniableError(
                    f"a group is asked about {', '.join(names) or 'nothing'}; ask about at least "
                    "one attribute, and about each once"
                )
            for question in group.questions:
                self._refuse_misfit(question)

    def _refuse_misfit(self, question: Question) -> None:
        sizes, channel = self.domain.project(question.names).shape, question.channel
        grid = question.shape
        fits = len(grid) == len(sizes) and all(
            1 <= cells <= size for cells, size in zip(grid, sizes, strict=True)
        )
        if not fits or prod(grid) != channel.size or channel.shape not in (grid, (prod(grid),)):
            raise DeniableError(
                f"the question about {' x '.join(question.names)}, of {sizes} categories, has a "
                f"grid of {grid} and a channel over {channel.shape}; make them fit"
            )

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """The exact probability of each group."""
        weights = [Fraction(group.weight) for group in self.groups]
        return tuple(weight / sum(weights) for weight in weights)

    @property
    def exact_parity(self) -> Fraction | None:
        """The exponential of the record's epsilon as a fraction, None if infinite."""
        parities = [
            product_of_ratios(question.channel.exact_parity for question in group.questions)
            for group in self.groups
        ]
        return _largest(parities)

    @property
    def epsilon(self) -> float:
        """Exact epsilon of one whole record, rounded up."""
        return log_rounded_up(self.exact_parity)

    def epsilon_of(self, name: str) -> float:
        """Return the exact epsilon of the attribute `name`, the others unchanged, rounded up."""
        self.domain.position(name)
        parities: list[Fraction | None] = [
            question.channel.parity_of_attribute(question.shape, question.names.index(name))
            for group in self.groups
            for question in group.questions
            if name in question.names
        ]
        return log_rounded_up(_largest([Fraction(1), *parities]))

    def randomize(
        self, records: npt.ArrayLike, chance: Chance, numbers: Numbers | None = None
    ) -> Reports:
        """Draw each person's group and answers.

        Parameters
        ----------
        records : array of int, shape (persons, attributes)
            Codes, a column an attribute of the domain, in its order.
        chance : source or KeyedDraws
            By a key, group and answers are functions of it and of the record's number.
        numbers : range or array, optional
            The records' numbers in the whole file, by default from 0 on.
        """
        codes = self._codes(records)
        members = range(len(codes)) if numbers is None else numbers
        asked = self._drawn_groups(members, chance)
        answers = []
        for number, group in enumerate(self.groups):
            which = np.flatnonzero(asked == number)
            own = _chosen(members, which)
            told = (self._answers(each, codes, which, chance, own) for each in group.questions)
            answers.append(tuple(told))
        return Reports(asked, tuple(answers))

    def _answers(
        self, question: Question, codes: Codes, which: Positions, chance: Chance, own: Numbers
    ) -> Codes:
        columns = [codes[which, self.domain.position(name)] for name in question.names]
        cells = question.cells(columns, self.domain.project(question.names).shape)
        return question.channel.report(cells, chance, question.names, own)

    def _codes(self, records: npt.ArrayLike) -> Codes:
        codes = np.asarray(records)
        if codes.ndim != 2 or codes.shape[1] != len(self.domain):
            raise DataError(
                f"records of shape {codes.shape}; give a row a person and a column for each of the "
                f"{len(self.domain)} attributes"
            )
        for position, attribute in enumerate(self.domain):
            column = np.ascontiguousarray(codes[:, position])
            refuse_foreign_codes(column, attribute.size, f"attribute {attribute.name!r}")
        return codes

    def _drawn_groups(self, numbers: Numbers, chance: Chance) -> Codes:
        if len(self.groups) == 1:
            return np.zeros(len(numbers), dtype=np.uint8)
        exact = Categories.of(self.shares)
        if not isinstance(chance, KeyedDraws):
            return exact.draw(chance, len(numbers))
        drawn = Outcomes(np.array([list(map(float, self.shares))]), lambda _: exact)
        return drawn.draw(chance.column(GROUP, numbers))

    def counts(self, reports: Reports, group: int, question: int) -> Counts:
        """Return how many in `reports` gave each answer to a `group`'s `question`, by number."""
        channel = self.groups[group].questions[question].channel
        return np.bincount(reports.answers[group][question], minlength=channel.reports)


def _largest(parities: Sequence[Fraction | None]) -> Fraction | None:
    finite = [parity for parity in parities if parity is not None]
    return max(finite) if len(finite) == len(parities) else None


def _chosen(numbers: Numbers, which: Positions) -> Numbers:
    if isinstance(numbers, range):
        return numbers if len(which) == len(numbers) else which + numbers.start
    return numbers[which]
