"""Entries of the config with a `grid`: a test release for each combination of its values."""

import math
import re
from collections.abc import Mapping
from functools import cached_property
from itertools import product
from typing import Annotated, Any, Self

from pydantic import Discriminator, Field, Tag, ValidationError, field_validator, model_validator

from deniable.release import ReleaseSettings
from deniable.validation import Values, fault_lines

MAX_RELEASES = 100  # largest number of releases in a grid


class ReleaseSweep(ReleaseSettings):
    """Test releases of one data set with the plans of a grid (docs/sweeps.md).

    Each combination of values of the grid is a release, with the other options of a release. Its
    name, such as ``sweep-epsilon-0_5``, consists of the name of the entry, options and values.
    """

    plan: dict[str, Any]
    """Options that all plans share, with the `kind`."""
    grid: Annotated[dict[str, Values[Any]], Field(min_length=1)]
    """Further options of the plan, each with the list of its values. At most 100 combinations."""

    @field_validator("mode")
    @classmethod
    def _for_planning(cls, mode: str) -> str:
        if mode == "production":
            raise ValueError(
                "'production'; allowed with a grid: test, because each production release uses "
                "privacy budget; plan on test releases, then publish one"
            )
        return mode

    @field_validator("plan")
    @classmethod
    def _valid_plan(cls, values: Any) -> Any:
        return values  # incomplete without the values of the grid, see `_valid_releases`

    @model_validator(mode="after")
    def _valid_releases(self) -> Self:
        if twice := [name for name in self.grid if name in self.plan]:
            raise ValueError(f"grid: {twice[0]} is also an option of plan; allowed: in one of both")
        number = math.prod(map(len, self.grid.values()))
        if number > MAX_RELEASES:
            raise ValueError(f"grid: {number} releases; allowed: at most {MAX_RELEASES}")
        if len(self.releases) < number:  # this also validates each release
            raise ValueError(
                f"grid: {number} releases have {len(self.settings)} names, such as "
                f"{next(iter(self.settings))!r}; allowed: values that differ in letters or digits"
            )
        return self

    @cached_property
    def settings(self) -> Mapping[str, dict[str, Any]]:
        """The options from the grid, by name of the release."""
        found = {}
        for cell in product(*(enumerate(values, start=1) for values in self.grid.values())):
            labels = (f"-{key}-{_label(*at)}" for key, at in zip(self.grid, cell, strict=True))
            values = dict(zip(self.grid, (value for _, value in cell), strict=True))
            found["".join([self.name, *labels])] = values
        return found

    @cached_property
    def releases(self) -> list[ReleaseSettings]:
        shared, found = self.model_dump(by_alias=True, exclude={"name", "plan", "grid"}), []
        for name, values in self.settings.items():
            entry = shared | {"name": name, "plan": self.plan | values}
            try:
                found.append(ReleaseSettings.model_validate(entry))
            except ValidationError as error:
                lines = fault_lines(error, ReleaseSettings)
                raise ValueError(f"{name}: {'; '.join(lines)}") from None
        return found


def _label(number: int, value: Any) -> str:
    """Return a part of a file name for a `value`, which has a `number` in its list.

    >>> _label(1, 0.5), _label(2, 1.0), _label(3, "no data"), _label(4, ["age", "sex"])
    ('0_5', '1', 'no_data', '4')
    """
    if isinstance(value, list | dict):
        return str(number)
    return re.sub(r"[^A-Za-z0-9-]+", "_", str(value).removesuffix(".0"))


def _kind_of_entry(entry: Any) -> str:
    given = "grid" in entry if isinstance(entry, dict) else isinstance(entry, ReleaseSweep)
    return "ReleaseSweep" if given else "ReleaseSettings"


ReleaseEntry = Annotated[  # an entry of `releases` in the config
    Annotated[ReleaseSettings, Tag("ReleaseSettings")]
    | Annotated[ReleaseSweep, Tag("ReleaseSweep")],
    Discriminator(_kind_of_entry),
]


def releases_of(entry: ReleaseSettings) -> list[ReleaseSettings]:
    """Return the releases of an `entry`: itself, or all releases of its grid."""
    return entry.releases if isinstance(entry, ReleaseSweep) else [entry]
