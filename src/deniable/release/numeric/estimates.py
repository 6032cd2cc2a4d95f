"""Estimates of a release of numbers, from its public folder alone."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from deniable.idp import Domains, estimate_numbers as estimate_by_mechanism
from deniable.records import NumericMicrodata
from deniable.release import NumericRelease, marked
from deniable.release.numeric.design import HISTOGRAMS, domains_from_json, mechanism_of


def estimated(release: NumericRelease, made: Mapping[str, Any]) -> dict[str, pd.DataFrame]:
    """Return the estimates of a `release`, from ``release`` and ``protected`` that it `made`."""
    stated = domains_from_json(made["release"]["domains"])
    estimates = estimate_numbers(release, stated, made["protected"])
    return {"estimates": marked(estimates, release, made["protected"])}


def estimate_numbers(
    release: NumericRelease, stated: Domains, protected: NumericMicrodata
) -> pd.DataFrame:
    """Return the estimates of a `release` in the `stated` domains from its `protected` file."""
    text = protected.marks.get(HISTOGRAMS)
    counts = None if text is None else np.array(json.loads(text), dtype=np.int64)
    return estimate_by_mechanism(mechanism_of(release, stated), protected, counts)
