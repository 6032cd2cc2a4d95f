"""The lanes: what carries out each step of the releases of a kind, and its files in a folder."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from deniable.release.settings import AnyRelease


@dataclass(frozen=True)
class Resources:
    """Minutes and megabytes that a job requests from a cluster at its first attempt."""

    minutes: int = 3
    memory_mb: int = 1000


SECONDS, MINUTES = Resources(), Resources(15, 1500)
PUBLIC, PRIVATE = "public", "private"
"""The folders of a release: what may be given away, and what knows the truth."""


@dataclass(frozen=True)
class Step:
    """A step that every lane has.

    Attributes
    ----------
    run : str
        A function, as "module:function" below `deniable`: only the process that takes the step
        imports its module. It takes the release; after the design what earlier steps left (by the
        names of the files, without their endings); for design, draw and check the true records and
        the key; and what a lane needs besides. It returns what is to be left, by name.
    reads, leaves : tuple of str
        Files in the release's folder, below `PUBLIC` or `PRIVATE`; for ``.*`` stands the ending
        that the release has.
    mechanism : str
        That alone has the step; "" is any.
    resources : Resources
        What it asks of a cluster.
    """

    run: str
    reads: tuple[str, ...]
    leaves: tuple[str, ...] = ()
    mechanism: str = ""
    resources: Resources = field(default=SECONDS, repr=False)

    def left_by(self, release: AnyRelease) -> tuple[str, ...]:
        """Return the files that the step leaves of a `release`."""
        return tuple(file.replace(".*", release.ending) for file in self.leaves)

    def __call__(self, *given: Any) -> Any:
        """Carry out the step."""
        module, _, name = self.run.partition(":")
        return getattr(import_module(f"deniable.{module}"), name)(*given)


@dataclass(frozen=True)
class Lane:
    """What releases of one kind go through.

    Attributes
    ----------
    design, draw : Step
        They read the true records.
    audit : Step
        Holds what was drawn to what is claimed: a row a claim, with ``holds``.
    estimates : tuple of Step
        From what was drawn alone, so that they cost no privacy: one after the other, each from
        files that were left before, as whoever has the files can.
    check : Step
        Of rehearsals only: it reads the true records again.
    shown : tuple of str
        Files that the report's page is made from, besides those of the check.
    """

    design: Step
    draw: Step
    audit: Step
    estimates: tuple[Step, ...]
    check: Step
    shown: tuple[str, ...]

    @property
    def resources(self) -> Resources:
        """What a release asks of a cluster: the most that one of the steps does."""
        asking = [each.resources for each in (self.design, self.draw, *self.estimates, self.check)]
        return Resources(
            minutes=max(each.minutes for each in asking),
            memory_mb=max(each.memory_mb for each in asking),
        )

    def steps(self, release: AnyRelease) -> tuple[Step, ...]:
        """Return the steps that a `release` takes, in order."""
        last = (self.check,) if release.rehearsal else ()
        taken = (self.design, self.draw, self.audit, *self.estimates, *last)
        return tuple(step for step in taken if step.mechanism in ("", release.mechanism))


PROTECTED = ("public/protected.parquet", "public/protected.csv")
SAID = "public/release.json"
VIEWS = "public/views.json"
DRAWN = (SAID, "public/protected.parquet")  # what all estimates from a file are made from
PLAN = "public/plan.json"
LANES: Mapping[str, Lane] = {
    "categorical": Lane(
        design=Step("release.categorical.design:designed", (), (SAID,)),
        draw=Step(
            "release.categorical.design:protected",
            reads=(SAID,),
            leaves=(*PROTECTED, "private/exact_cells.csv"),
        ),
        audit=Step("release.categorical.check:audited", reads=(SAID,)),
        estimates=(
            Step(
                "release.categorical.design:written_matrices",
                reads=(SAID,),
                leaves=("public/matrices.csv", "public/channels"),
                mechanism="pram",
            ),
            Step(
                "release.categorical.pairs:estimated",
                reads=DRAWN,
                leaves=("public/estimates.csv", "public/pairs.csv"),
            ),
            Step(
                "release.categorical.estimates:adjusted",
                reads=(*DRAWN, "public/estimates.csv"),
                leaves=("public/adjusted_weights.csv", "public/adjustment.json"),
            ),
            Step(
                "release.categorical.estimates:synthesized",
                reads=(*DRAWN, "public/estimates.csv", "public/adjusted_weights.csv"),
                leaves=("public/synthetic.parquet", "public/synthetic.csv"),
            ),
        ),
        check=Step(
            "release.categorical.check:checked",
            reads=(
                *DRAWN,
                "public/estimates.csv",
                "public/pairs.csv",
                "public/adjusted_weights.csv",
                "public/synthetic.parquet",
            ),
            leaves=("private/check.csv", "private/synthetic_check.csv"),
            resources=MINUTES,
        ),
        shown=(SAID, "public/estimates.csv", "public/adjustment.json"),
    ),
    "asked": Lane(
        design=Step("release.asked.design:designed", (), (SAID,)),
        draw=Step("release.asked.design:protected", reads=(SAID,), leaves=PROTECTED),
        audit=Step("release.asked.check:audited", reads=(SAID,)),
        estimates=(
            Step(
                "release.asked.estimates:written_matrices",
                reads=(SAID,),
                leaves=("public/matrices.csv",),
            ),
            Step(
                "release.categorical.pairs:estimated",
                reads=DRAWN,
                leaves=("public/estimates.csv", "public/pairs.csv"),
            ),
            Step(
                "release.asked.estimates:synthesized",
                reads=(*DRAWN, "public/estimates.csv"),
                leaves=("public/synthetic.parquet", "public/synthetic.csv"),
            ),
        ),
        check=Step(
            "release.asked.check:checked",
            reads=(
                *DRAWN,
                "public/estimates.csv",
                "public/pairs.csv",
                "public/synthetic.parquet",
            ),
            leaves=("private/check.csv", "private/synthetic_check.csv"),
            resources=MINUTES,
        ),
        shown=(SAID, "public/estimates.csv"),
    ),
    "planned": Lane(
        design=Step("release.planned.design:designed", (), (SAID, PLAN)),
        draw=Step(
            "release.planned.design:protected",
            reads=(SAID,),
            leaves=("public/protected.*", "private/exact_cells.csv", "private/risk.csv"),
            resources=MINUTES,
        ),
        audit=Step("release.planned.design:audited", reads=(SAID, PLAN)),
        estimates=(),
        check=Step("release.planned.design:checked", reads=(SAID,)),
        shown=(SAID,),
    ),
    "numeric": Lane(
        design=Step("release.numeric.promises:designed", (), (SAID, "private/audit.csv")),
        draw=Step(
            "release.numeric.design:protected",
            reads=(SAID,),
            leaves=(*PROTECTED, "private/exact_cells.csv"),
        ),
        audit=Step("release.numeric.promises:audited", reads=(SAID, "private/audit.csv")),
        estimates=(
            Step(
                "release.numeric.estimates:estimated",
                reads=DRAWN,
                leaves=("public/estimates.csv",),
            ),
        ),
        check=Step(
            "release.numeric.check:checked",
            reads=(*DRAWN, "public/estimates.csv"),
            leaves=("private/check.csv", "private/utility.csv"),
            resources=MINUTES,
        ),
        shown=(SAID, "private/audit.csv", "public/estimates.csv"),
    ),
    "collection": Lane(
        design=Step("release.collection.design:designed", (), (SAID, VIEWS)),
        draw=Step(
            "release.collection.design:collected",
            reads=(SAID, VIEWS),
            leaves=("public/collection.csv", "private/clients.csv"),
        ),
        audit=Step(
            "release.collection.check:audited", reads=(SAID, VIEWS, "public/collection.csv")
        ),
        estimates=(
            Step(
                "release.collection.estimates:estimated",
                reads=(SAID, VIEWS, "public/collection.csv"),
                leaves=("public/tables.csv",),
            ),
            Step(
                "release.collection.estimates:reconciled",
                reads=(VIEWS, "public/tables.csv"),
                leaves=("public/consistent.csv", "public/margins.csv"),
            ),
            Step(
                "release.collection.estimates:fitted",
                reads=(VIEWS, "public/tables.csv"),
                leaves=("public/two_step.csv",),
            ),
            Step(
                "release.collection.independence:examined",
                reads=(VIEWS, "public/collection.csv"),
                leaves=("public/independence.csv",),
                resources=MINUTES,
            ),
        ),
        check=Step(
            "release.collection.check:checked",
            reads=(
                VIEWS,
                "public/tables.csv",
                "public/consistent.csv",
                "public/two_step.csv",
                "public/independence.csv",
            ),
            leaves=("private/check.csv",),
        ),
        shown=(SAID, "public/margins.csv", "public/independence.csv"),
    ),
}
