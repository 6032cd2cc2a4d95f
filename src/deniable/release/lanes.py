"""The lanes: what carries out each step of the releases of a kind, and its files in a folder."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from deniable.study import MINUTES, SECONDS, Resources, resolve


@dataclass(frozen=True)
class Step:
    """A step that every lane has.

    Attributes
    ----------
    run : str
        A function, as "module:function" below `deniable`: only the process that takes the step
        imports its module. It takes the release; after the design what earlier steps left (by the
        names of the files, without their endings); for design, draw and check the true records and
        the root seed, which is looked at for rehearsals only; and what its script reads besides. It
        returns what is to be left, by name.
    reads, leaves : tuple of str
        Files in the release's folder.
    seeded : bool
        Whether a step that estimates takes the root seed, as the others do.
    resources : Resources
        What it asks of a cluster.
    """

    run: str
    reads: tuple[str, ...]
    leaves: tuple[str, ...]
    seeded: bool = False
    resources: Resources = field(default=SECONDS, repr=False)

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
    estimates : mapping of tuples of Step
        From what was drawn alone, so that they cost no privacy. A rule of each name takes its steps
        one after the other, each from files that were left before, as whoever has the files can.
    check : Step
        Of rehearsals only: it reads the true records again.
    shown : tuple of str
        Files that the report's page is made from, besides those of the check.
    """

    design: Step
    draw: Step
    estimates: Mapping[str, tuple[Step, ...]]
    check: Step
    shown: tuple[str, ...]

    @property
    def drawn_once(self) -> tuple[str, ...]:
        """What a release that is no rehearsal keeps for good, once all of it is there."""
        return self.design.leaves + self.draw.leaves

    @property
    def left(self) -> tuple[str, ...]:
        """What every release leaves."""
        return self.drawn_once + sum((left_by(each) for each in self.estimates.values()), ())


def left_by(steps: Iterable[Step]) -> tuple[str, ...]:
    """Return the files that steps leave."""
    return tuple(file for step in steps for file in step.leaves)


def read_by(steps: Sequence[Step]) -> tuple[str, ...]:
    """Return the files that steps read and do not leave themselves."""
    read = dict.fromkeys(file for step in steps for file in step.reads)
    return tuple(file for file in read if file not in left_by(steps))


PROTECTED = ("protected.parquet", "protected.csv")
DRAWN = ("channels.json", "protected.parquet")  # what all estimates from categories read
LANES: Mapping[str, Lane] = {
    "categorical": Lane(
        design=Step("release.categorical.design:designed", (), ("channels.json",)),
        draw=Step("release.categorical.design:protected", ("channels.json",), PROTECTED),
        estimates={
            "estimate": (
                Step(
                    "release.categorical.pairs:estimated",
                    reads=DRAWN,
                    leaves=("estimates.csv", "pairs.csv"),
                ),
                Step(
                    "release.categorical.estimates:adjusted",
                    reads=(*DRAWN, "estimates.csv"),
                    leaves=("adjusted_weights.csv", "adjustment.json"),
                ),
                Step(
                    "release.categorical.estimates:synthesized",
                    reads=(*DRAWN, "estimates.csv", "adjusted_weights.csv"),
                    leaves=("synthetic.parquet", "synthetic.csv"),
                    seeded=True,
                ),
            )
        },
        check=Step(
            "release.categorical.check:checked",
            reads=(
                *DRAWN,
                "estimates.csv",
                "pairs.csv",
                "adjusted_weights.csv",
                "synthetic.parquet",
            ),
            leaves=("check.csv", "synthetic_check.csv"),
            resources=MINUTES,
        ),
        shown=("channels.json", "estimates.csv", "adjustment.json"),
    ),
    "numeric": Lane(
        design=Step("release.numeric.promises:designed", (), ("release.json", "audit.csv")),
        draw=Step("release.numeric.design:protected", ("release.json",), PROTECTED),
        estimates={
            "estimate": (
                Step(
                    "release.numeric.estimates:estimated",
                    reads=("release.json", "protected.parquet"),
                    leaves=("estimates.csv",),
                ),
            )
        },
        check=Step(
            "release.numeric.check:checked",
            reads=("release.json", "protected.parquet", "estimates.csv"),
            leaves=("check.csv", "utility.csv"),
            resources=MINUTES,
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
        estimates={
            "estimate": (
                Step(
                    "release.collection.estimates:estimated",
                    reads=("release.json", "views.json", "collection.csv"),
                    leaves=("tables.csv",),
                ),
            ),
            "reconcile": (
                Step(
                    "release.collection.estimates:reconciled",
                    reads=("views.json", "tables.csv"),
                    leaves=("consistent.csv", "margins.csv"),
                ),
            ),
            "fit": (
                Step(
                    "release.collection.estimates:fitted",
                    reads=("views.json", "tables.csv"),
                    leaves=("two_step.csv",),
                ),
            ),
            "examine": (
                Step(
                    "release.collection.independence:examined",
                    reads=("views.json", "collection.csv"),
                    leaves=("independence.csv",),
                    seeded=True,
                    resources=MINUTES,
                ),
            ),
        },
        check=Step(
            "release.collection.check:checked",
            reads=(
                "views.json",
                "tables.csv",
                "consistent.csv",
                "two_step.csv",
                "independence.csv",
            ),
            leaves=("check.csv",),
        ),
        shown=("release.json", "margins.csv", "independence.csv"),
    ),
}
