"""Releases of numbers: from true records to a protected file, in domains that are stated first."""

import json
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from deniable.errors import DeniableError
from deniable.idp import Domains, NumericMechanism, domains_by_factor, protect_numbers
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


def mechanism_of(release: NumericRelease, stated: Domains) -> NumericMechanism:
    """Return the mechanism of a `release` with its `stated` domains."""
    if isinstance(release, HistogramRelease):
        return NumericMechanism("histograms", release.epsilon, stated, bins=release.bins)
    factor = release.domain_factor
    return NumericMechanism(
        release.method, release.epsilon, stated, release.k, domain_factor=factor
    )


def domains_from_json(described: Sequence[Mapping[str, Any]]) -> Domains:
    """Return the domains that a release has `described`, one mapping per attribute."""
    lower, upper = (np.array([each[end] for each in described]) for end in ("lower", "upper"))
    return Domains(tuple(each["attribute"] for each in described), lower, upper)


def domains(
    release: NumericRelease, data: NumericMicrodata, bounds: Mapping[str, tuple[float, float]]
) -> Domains:
    """Return the domains of a `release`'s attributes.

    The true records of these attributes, `data`, enter only with a domain factor; `bounds` are the
    manifest's, (lower, upper) of attributes. Raises `DeniableError` if an attribute has no bounds;
    if, with a domain factor, a value is below 0 or all are 0.
    """
    if isinstance(release, IdpRelease) and release.domain_factor is not None:
        return domains_by_factor(data, release.domain_factor)
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
    stated, draws = domains_from_json(made["release"]["domains"]), key.draws(made["release"])
    generator = generator_for(0, {"synthesis": draws.subkey("synthesis", ()).hex()})
    drawn = protect(release, stated, data, KeyedNoise(draws), generator)
    exact = {}
    if not isinstance(release, HistogramRelease):
        own = chosen(release, data)
        exact = {name: own.column(name) == drawn.column(name) for name in drawn.names}
    return {"protected": in_order(release, drawn, draws), "exact_cells": exact_cells(exact)}


def protect(
    release: NumericRelease,
    stated: Domains,
    data: NumericMicrodata,
    noise: Noise,
    generator: np.random.Generator,
) -> NumericMicrodata:
    """Protect the numbers of the true `data` and mark the result; see `protect_numbers`.

    By a `release` in the `stated` domains, with `noise`; the `generator` draws synthetic records.
    """
    own = chosen(release, data)
    marks = marks_for(release, data, SAMPLER_MARK)
    values, counts = protect_numbers(mechanism_of(release, stated), own, noise, generator)
    if counts is not None:
        marks |= {"synthetic": "yes", HISTOGRAMS: json.dumps(counts.tolist())}
    return own.with_values(values, marks)
