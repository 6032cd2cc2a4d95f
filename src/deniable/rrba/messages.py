"""What clients, aggregator and server of RRBA send each other ([rrba], Figure 2)."""

from dataclasses import dataclass

from deniable.rrba.views import Combination, View


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
