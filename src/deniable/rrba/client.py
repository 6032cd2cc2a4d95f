"""What is sent in RRBA ([rrba], Figure 2), and a client: who alone knows its values."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from deniable.channels import KeepOrReplace, ProductChannel
from deniable.errors import DeniableError
from deniable.records import Domain, refuse_foreign_codes
from deniable.rrba.tables import table_channel
from deniable.rrba.views import Combination, View
from deniable.sampling import RandomSource


@dataclass(frozen=True)
class Question:
    """From the aggregator to one client.

    Attributes
    ----------
    number : int
        No two questions have the same. A question sent again keeps its own.
    client : str
    keep : float
        p, the probability of a true answer.
    view : tuple of combinations
        The combinations of attributes that are asked.
    tables : tuple of tuple of float
        For each combination the distribution over its cells that fake answers are drawn from.
    """

    number: int
    client: str
    keep: float
    view: View
    tables: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Answer:
    """From a client to the aggregator: one cell for each combination, through the channel.

    Attributes
    ----------
    question : int
    client : str
    cells : tuple of int
    """

    question: int
    client: str
    cells: tuple[int, ...]


@dataclass(frozen=True)
class Refusal:
    """From a client to the aggregator. It depends on the questions alone, not on true values.

    Attributes
    ----------
    question : int
    client : str
    reason : str
    """

    question: int
    client: str
    reason: str


@dataclass(frozen=True)
class BlockReport:
    """From the aggregator to the server: what one block's answers say of one combination.

    Attributes
    ----------
    block : int
    combination : tuple of str
    keep : float
        p.
    table : tuple of float
        Which the clients were sent.
    counts : tuple of int
        Answers, a cell each.
    """

    block: int
    combination: Combination
    keep: float
    table: tuple[float, ...]
    counts: tuple[int, ...]


class Client:
    """A person or device that answers through the channel P = p I + (1 - p) 1 q'.

    It trusts nobody. It computes the exact epsilon of what it is asked from the tables it was sent,
    and refuses what its budget does not cover: a table with a zero cell, for one, which would give
    the truth away. A question that it has answered gets the same answer again, so that a lost
    message costs no privacy.

    Epsilon is spent by sequential composition: that of a view is the sum over its combinations,
    exactly so, because their answers are independent; that of several questions is at most their
    sum.

    Parameters
    ----------
    name : str
    domain : Domain
    values : sequence of int
        The true codes, one an attribute. They leave through the channel only.
    budget : float, > 0
        Epsilon that all answers together may cost; infinite for a client that minds nothing.
    source : numpy.random.Generator or SystemSource
    """

    def __init__(
        self,
        name: str,
        domain: Domain,
        values: Sequence[int],
        budget: float,
        source: RandomSource,
    ) -> None:
        if len(values) != len(domain):
            raise DeniableError(
                f"client {name!r} has {len(values)} values for {len(domain)} attributes; give one "
                "each"
            )
        for attribute, value in zip(domain, values, strict=True):
            what = f"client {name!r}, attribute {attribute.name!r}"
            refuse_foreign_codes(np.asarray([value]), attribute.size, what)
        if not budget > 0:
            raise DeniableError(f"client {name!r} has the budget {budget}; it must be above 0")
        self.name = name
        self.domain = domain
        self.budget = budget
        self.__values = dict(zip(domain.names, map(int, values), strict=True))
        self._source = source
        self._spent = 0.0
        self._answered: dict[int, tuple[Question, Answer]] = {}

    def __repr__(self) -> str:
        return f"Client({self.name!r}, spent={self.spent:.6g}, budget={self.budget:.6g})"

    @property
    def spent(self) -> float:
        """Epsilon of all answers so far, rounded up."""
        return self._spent

    def answer(self, question: Question) -> Answer | Refusal:
        """Answer a question, or refuse it."""
        before = self._answered.get(question.number)
        if before is not None:
            known, given = before
            if known == question:
                return given
            return self._refusal(question, "another question of that number was answered")
        if question.client != self.name:
            return self._refusal(question, f"the question is for {question.client!r}")
        try:
            channels = self._channels(question)
        except DeniableError as error:
            return self._refusal(question, str(error))
        epsilon = ProductChannel(channels).epsilon if channels else 0.0
        if math.isinf(epsilon):
            return self._refusal(question, "a table has a cell of probability 0: epsilon infinite")
        spent = _sum_rounded_up(self._spent, epsilon)
        if spent > self.budget:
            return self._refusal(
                question, f"epsilon would be {spent:.6g}, above the budget of {self.budget:.6g}"
            )
        given = Answer(question.number, self.name, self._through(channels, question))
        self._spent = spent
        self._answered[question.number] = question, given
        return given

    def _through(self, channels: tuple[KeepOrReplace, ...], question: Question) -> tuple[int, ...]:
        """Report through the channels: the one place where true values are read."""
        cells = []
        for channel, combination in zip(channels, question.view, strict=True):
            values = [np.array([self.__values[name]]) for name in combination]
            true = self.domain.project(combination).ravel(values)
            cells.append(int(channel.randomize(true, self._source)[0]))
        return tuple(cells)

    def _channels(self, question: Question) -> tuple[KeepOrReplace, ...]:
        asked = [name for combination in question.view for name in combination]
        if len(asked) != len(set(asked)):
            raise DeniableError("the view asks an attribute twice")
        if len(question.view) != len(question.tables):
            raise DeniableError("combinations and tables differ in number")
        channels = []
        for combination, table in zip(question.view, question.tables, strict=True):
            if len(table) != self.domain.project(combination).size:
                raise DeniableError(
                    f"the table of {', '.join(combination)} has {len(table)} cells, not "
                    f"{self.domain.project(combination).size}"
                )
            channels.append(table_channel(table, question.keep))
        return tuple(channels)

    def _refusal(self, question: Question, reason: str) -> Refusal:
        return Refusal(question.number, self.name, reason)


def _sum_rounded_up(a: float, b: float) -> float:
    nearest = a + b
    return (
        nearest
        if Fraction(nearest) >= Fraction(a) + Fraction(b)
        else math.nextafter(nearest, math.inf)
    )
