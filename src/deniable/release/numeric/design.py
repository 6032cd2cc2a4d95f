"""Releases of numbers: from true records to a protected file, in domains that are stated first.

Two mechanisms. ``idp`` adds Laplace noise to values or to centroids of clusters ([idp],
`deniable.idp.methods`); ``numeric_dp`` publishes noisy histograms, and records drawn from them
(`deniable.idp.true_dp`). Both know an attribute as [0, U]: values are taken into their bounds
and moved to begin at 0 before, and moved back after. Where bounds are stated without a look at the
records, this is done record by record and costs no privacy.
"""

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deniable.arrays import Floats
from deniable.errors import DeniableError
from deniable.idp import Masking, Ranking, domain_bounds, masking, noisy_histograms
from deniable.records import NumericMicrodata
from deniable.release import (
    HistogramRelease,
    IdpRelease,
    NumericRelease,
    ReleaseKey,
    exact_cells,
    in_order,
    marks_for,
)
from deniable.sampling import KeyedNoise, Noise, generator_for

SAMPLER_MARK = "noise drawn once, by a secret key of its own"
HISTOGRAMS = "histograms"
"""The mark of a protected file that holds the noisy counts its records were drawn from."""


@dataclass(frozen=True, eq=False)
class Domains:
    """Between which values attributes are taken to lie: `lower` and `upper` of each of `names`."""

    names: tuple[str, ...]
    lower: Floats
    upper: Floats

    @classmethod
    def from_json(cls, described: Sequence[Mapping[str, Any]]) -> "Domains":
        """Return the domains that a release has `described`, a mapping an attribute."""
        lower, upper = (np.array([each[end] for each in described]) for end in ("lower", "upper"))
        return cls(tuple(each["attribute"] for each in described), lower, upper)

    @property
    def widths(self) -> Floats:
        """U_j, shape (attributes,)."""
        return self.upper - self.lower

    def inner(self, values: Floats) -> Floats:
        """Return `values` as a mechanism sees them, in [0, U_j]; shape (records, attributes)."""
        return np.asarray(np.clip(values, self.lower, self.upper) - self.lower)

    def outer(self, values: Floats) -> Floats:
        """Return a mechanism's `values` as the file has them; what is at an end is exactly there.

        Their shape is (records, attributes).
        """
        moved = np.clip(values + self.lower, self.lower, self.upper)
        return np.where(values >= self.widths, self.upper, moved)


def domains(
    release: NumericRelease, data: NumericMicrodata, bounds: Mapping[str, tuple[float, float]]
) -> Domains:
    """Return the domains of a `release`'s attributes.

    The true records of these attributes, `data`, enter only with a domain factor; `bounds` are the
    manifest's, (lower, upper) of attributes. Raises `DeniableError` if an attribute has no bounds;
    if, with a domain factor, a value is below 0 or all are 0.
    """
    if isinstance(release, IdpRelease) and release.domain_factor is not None:
        upper = domain_bounds(data.values, release.domain_factor)
        for name, least, most in zip(data.names, data.values.min(axis=0), upper, strict=True):
            if least < 0 or most == 0:
                raise DeniableError(
                    f"release {release.name!r}: the values of {name!r} go from {least:g} to "
                    f"{most / release.domain_factor:g}; a domain factor needs values of 0 and "
                    "above, not all 0: state bounds in the manifest and leave domain_factor out"
                )
        return Domains(data.names, np.zeros_like(upper), upper)
    missing = [name for name in data.names if name not in bounds]
    if missing:
        raise DeniableError(
            f"release {release.name!r}: the manifest has no bounds of {missing[0]!r}; state them "
            "from public knowledge"
        )
    stated = np.array([bounds[name] for name in data.names])
    outside = np.sum((data.values < stated[:, 0]) | (data.values > stated[:, 1]), axis=0)
    for name, number in zip(data.names, outside.tolist(), strict=True):
        if number:
            warnings.warn(
                f"release {release.name!r}: {number} values of {name!r} lie outside its bounds and "
                "are taken as the nearer bound (how many there are is for the owner alone)",
                stacklevel=2,
            )
    return Domains(data.names, stated[:, 0], stated[:, 1])


def chosen(release: NumericRelease, data: NumericMicrodata) -> NumericMicrodata:
    """Return the `data` of the `release`'s attributes, with their class."""
    return data.select(release.attributes) if release.attributes else data


def protected(
    release: NumericRelease, made: Mapping[str, Any], data: NumericMicrodata, key: ReleaseKey
) -> dict[str, Any]:
    """Return what the draw of a `release` leaves: its protected file, by the ``release`` it `made`.

    Of the true `data`, drawn by the `key`. For the owner alone, ``exact_cells``: how many values
    are true, unless no record of the file is anybody's.
    """
    stated, draws = Domains.from_json(made["release"]["domains"]), key.draws(made["release"])
    generator = generator_for(0, {"synthesis": draws.subkey("synthesis", ()).hex()})
    drawn = protect(release, stated, data, KeyedNoise(draws), generator)
    exact = {}
    if not isinstance(release, HistogramRelease):
        own = chosen(release, data)
        exact = {name: own.column(name) == drawn.column(name) for name in drawn.names}
    return {"protected": in_order(release, drawn, draws), "exact_cells": exact_cells(exact)}


def masking_of(release: IdpRelease, stated: Domains, data: NumericMicrodata) -> Masking:
    """Return centroids of the `data` and scales of a `release`'s noise, in the `stated` domains."""
    ranking = Ranking.of(stated.inner(data.values))
    return masking(release.method, ranking, release.k or 1, stated.widths, release.epsilon)


def protect(
    release: NumericRelease,
    stated: Domains,
    data: NumericMicrodata,
    noise: Noise,
    generator: np.random.Generator,
) -> NumericMicrodata:
    """Protect the numbers of the true `data` and mark the result; the class stays as it is.

    By a `release` in the `stated` domains, with `noise`. Synthetic records are made of what is
    protected already: the choice of their `generator` touches no promise.
    """
    own = chosen(release, data)
    marks = marks_for(release, data, SAMPLER_MARK)
    if isinstance(release, HistogramRelease):
        inner, codes, classes = stated.inner(own.values), class_codes(own), len(own.classes) or 1
        budget, bins = release.epsilon, release.bins
        tables = noisy_histograms(
            inner, codes, classes, stated.widths, bins=bins, epsilon=budget, noise=noise
        )
        values = tables.synthesize(codes, generator)
        marks |= {"synthetic": "yes", HISTOGRAMS: json.dumps(tables.counts.tolist())}
    else:
        masked = masking_of(release, stated, own)
        values = (
            _record_by_record(masked, noise) if release.method == "dp" else masked.mask(noise)[0]
        )
    return own.with_values(stated.outer(values), marks)


def _record_by_record(masked: Masking, noise: Noise) -> Floats:
    """Return values with noise by the number of each record, whatever the ranks of its values."""
    values, scales = (masked.clusters.expand(each) for each in (masked.centres, masked.scales))
    return np.asarray(np.clip(noise.add(values, scales, 1)[0], 0.0, masked.upper))


def class_codes(data: NumericMicrodata) -> np.ndarray[Any, np.dtype[np.int8]]:
    """Return the class of each record of the `data`; without classes all are of one."""
    return data.labels if data.classes else np.zeros(len(data), dtype=np.int8)
