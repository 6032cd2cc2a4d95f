"""How a rehearsal of a release of numbers fares against the truth, which a rehearsal knows."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from deniable.idp.audit import compare_estimates, measure_utility
from deniable.records import NumericMicrodata
from deniable.release import NumericRelease, ReleaseKey, in_true_order, marked
from deniable.release.numeric.design import chosen, domains_from_json, mechanism_of
from deniable.sampling import generator_for


def checked(
    release: NumericRelease,
    made: Mapping[str, Any],
    data: NumericMicrodata,
    key: ReleaseKey,
    seed: int,
) -> dict[str, pd.DataFrame]:
    """Return a rehearsal's estimates beside the truth, and what its file keeps and shows.

    The `release` `made` ``release``, ``protected`` and ``estimates`` of its true `data`; the `key`
    tells their order; the `seed` is that of redraws and forests.
    """
    mechanism = mechanism_of(release, domains_from_json(made["release"]["domains"]))
    own = chosen(release, data)
    redraws, forests = (
        generator_for(seed, {"release": release.name, "check": check})
        for check in ("redraws", "forests")
    )
    protected = in_true_order(release, made["protected"], key.draws(made["release"]))
    measured = measure_utility(mechanism, own, protected, int(forests.integers(2**31)))
    return {
        "check": compare_estimates(mechanism, own, made["estimates"], redraws),
        "utility": marked(measured, release, data),
    }
