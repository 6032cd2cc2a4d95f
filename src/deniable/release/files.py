"""The lanes of releases: what carries out each step, and its files in a release's folder.

Code is named by strings, "module:function" below `deniable`: every job's process reads this table,
and only the one that takes a step imports its module.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from deniable.study import resolve


@dataclass(frozen=True)
class Step:
    """A step that every lane has.

    Attributes
    ----------
    run : str
        A function. It takes the release, what earlier steps left (by the names of the files,
        without their endings) and what its script reads besides; it returns what is to be left.
    reads, leaves : tuple of str
        Files in the release's folder.
    """

    run: str
    reads: tuple[str, ...]
    leaves: tuple[str, ...]

    def __call__(self, *given: Any) -> Mapping[str, Any]:
        """Carry out the step."""
        made: Mapping[str, Any] = resolve(self.run)(*given)
        return made


@dataclass(frozen=True)
class Lane:
    """What releases of one kind go through.

    Attributes
    ----------
    design, draw : Step
        They read the true records.
    estimate : Step
        From what was drawn alone, as everything ``later``: it costs no privacy.
    later : tuple of str
        Files that are made of the estimates, by rules of the lane's own.
    check : Step
        Of rehearsals only: it reads the true records again.
    shown : tuple of str
        Files that the report's page is made from, besides those of the check.
    """

    design: Step
    draw: Step
    estimate: Step
    later: tuple[str, ...]
    check: Step
    shown: tuple[str, ...]

    @property
    def drawn_once(self) -> tuple[str, ...]:
        """What a release that is no rehearsal keeps for good, once all of it is there."""
        return self.design.leaves + self.draw.leaves

    @property
    def left(self) -> tuple[str, ...]:
        """What every release leaves."""
        return self.drawn_once + self.estimate.leaves + self.later


LANES: Mapping[str, Lane] = {
    "categorical": Lane(
        design=Step("release.categorical.design:designed", (), ("channels.json",)),
        draw=Step(
            "release.categorical.design:protected",
            reads=("channels.json",),
            leaves=("protected.parquet", "protected.csv"),
        ),
        estimate=Step(
            "release.categorical.estimates:estimated",
            reads=("channels.json", "protected.parquet"),
            leaves=("estimates.csv",),
        ),
        later=("adjusted_weights.csv", "adjustment.json", "synthetic.parquet", "synthetic.csv"),
        check=Step(
            "release.categorical.check:checked",
            reads=(
                *("channels.json", "protected.parquet", "estimates.csv"),
                *("adjusted_weights.csv", "synthetic.parquet"),
            ),
            leaves=("check.csv", "synthetic_check.csv"),
        ),
        shown=("channels.json", "estimates.csv", "adjustment.json"),
    ),
    "numeric": Lane(
        design=Step("release.numeric.audit:designed", (), ("release.json", "audit.csv")),
        draw=Step(
            "release.numeric.design:protected",
            reads=("release.json",),
            leaves=("protected.parquet", "protected.csv"),
        ),
        estimate=Step(
            "release.numeric.estimates:estimated",
            reads=("release.json", "protected.parquet"),
            leaves=("estimates.csv",),
        ),
        later=(),
        check=Step(
            "release.numeric.check:checked",
            reads=("release.json", "protected.parquet", "estimates.csv"),
            leaves=("check.csv", "utility.csv"),
        ),
        shown=("release.json", "audit.csv", "estimates.csv"),
    ),
    "collection": Lane(
        design=Step("release.collection.design:designed", (), ("release.json", "views.json")),
        draw=Step(
            "release.collection.design:collected",
            reads=("views.json",),
            leaves=("collection.csv", "clients.csv"),
        ),
        estimate=Step(
            "release.collection.estimates:estimated",
            reads=("release.json", "views.json", "collection.csv"),
            leaves=("tables.csv",),
        ),
        later=("consistent.csv", "margins.csv", "two_step.csv", "independence.csv"),
        check=Step(
            "release.collection.check:checked",
            reads=(
                *("views.json", "tables.csv", "consistent.csv"),
                *("two_step.csv", "independence.csv"),
            ),
            leaves=("check.csv",),
        ),
        shown=("release.json", "margins.csv", "independence.csv"),
    ),
}
