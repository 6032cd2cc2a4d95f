"""Options that the settings of several kinds of plans have."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from deniable.validation import Strict

if TYPE_CHECKING:  # a config is checked without a computation
    from deniable.plans.interface import Part
    from deniable.responses import Responses

Columns = Annotated[list[str], Field(min_length=1)]
Joint = list[Annotated[list[str], Field(min_length=2)]]
"""Groups of columns that share a channel."""
OrderName = Literal["permuted", "as_in_file"]
Released = Mapping[str, "Responses"]
"""The responses of other releases, by their names."""
TargetEpsilon = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class PlanOptions(Strict):
    """The options of a plan, of any kind, and the files that the plan is made from."""

    @property
    def reads_records(self) -> bool:
        """Whether the plan is made from the original records, or needs their number."""
        return False

    @property
    def releases(self) -> tuple[str, ...]:
        """Names of the releases that the plan is made from."""
        return ()

    @property
    def files(self) -> tuple[str, ...]:
        """Paths of further files that the plan is made from."""
        return ()


class PartSettings(Strict):
    """The public part of the respondents that a release is for.

    Attributes
    ----------
    of : int
        Number of parts.
    take : int
        The part that answers, from 1.
    seed : str
        Public text, the same for all parts.
    """

    of: Annotated[int, Field(ge=2, le=1000)] = 2
    take: Annotated[int, Field(ge=1, le=1000)]
    seed: Annotated[str, Field(min_length=1)]

    def part(self) -> "Part":
        """Return the part.

        Raises
        ------
        DeniableError
            If there is no part of this number.
        """
        from deniable.plans.interface import Part  # noqa: PLC0415

        return Part(self.of, self.take, self.seed)


def blocks_in_order(
    joint: Sequence[Sequence[str]], names: Sequence[str]
) -> tuple[tuple[str, ...], ...]:
    """Return the groups of `joint` and all other columns by themselves, in the order of `names`."""
    group_of = {
        name: tuple(sorted(group, key=list(names).index)) for group in joint for name in group
    }
    return tuple(dict.fromkeys(group_of.get(name, (name,)) for name in names))
