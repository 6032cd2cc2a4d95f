"""What a release of numbers promises, what is proved of it, and what fails whatever the records.

Promises and verdicts follow from the mechanism, its parameters and the number of records: they may
be published. What the audit finds on the records themselves tells of them, and is for the owner.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import pandas as pd

from deniable.idp import Domains, split_budget
from deniable.idp.audit import audit_numbers, definition, proved_epsilon, verdicts
from deniable.records import NumericMicrodata
from deniable.release import (
    FOR_ALL,
    HistogramRelease,
    NumericRelease,
    ReleaseKey,
    described,
    marked,
    spreadsheets,
)
from deniable.release.numeric.design import SAMPLER_MARK, chosen, domains, mechanism_of

FOR_THE_OWNER = "for the owner: computed on the true records"
LARGEST_VALUES_SHOWN = (
    "the upper ends of the domains: divided by domain_factor they are the largest value of each "
    "attribute, exactly"
)


def describe(
    release: NumericRelease, stated: Domains, data: NumericMicrodata, data_source: str
) -> dict[str, Any]:
    """Return what a `release` says of itself: `stated` domains, promises, verdicts.

    `data` is of the release's attributes; its number of records and its classes are taken as
    public. It is published or a surrogate by the `data_source`.
    """
    mechanism = mechanism_of(release, stated)
    shares = split_budget(release.epsilon, len(stated.names)).tolist()
    ends = stated.lower.tolist(), stated.upper.tolist()
    kept = f"the class {data.class_name} of each record and " if data.classes else ""
    stated_first = isinstance(release, HistogramRelease) or release.domain_factor is None
    public = ", which are taken as public" + (", as are the domains" if stated_first else "")
    texts = [*data.names, *([data.class_name] if data.classes else []), *data.classes]
    said = described(release, data_source, SAMPLER_MARK) | spreadsheets(texts)
    return said | {
        "records": len(data),
        "domains": [
            {"attribute": name, "lower": low, "upper": high, "epsilon": share}
            for name, low, high, share in zip(stated.names, *ends, shares, strict=True)
        ],
        "privacy": {
            "unit": "the numbers of one record, whatever they change to",
            "not_protected": f"{kept}the number of records{public}",
            "claimed_epsilon": release.epsilon,
            "claimed": definition(mechanism),
            "proved_epsilon": _in_json(proved_epsilon(mechanism)),
            "proved": "differential privacy of the released records, from the noise's scale as it "
            "is in floating point, rounded up",
            "verdicts": [
                asdict(each) | {"proved_epsilon": _in_json(each.proved_epsilon)}
                for each in verdicts(mechanism)
            ],
            "depends_on_the_records": [] if stated_first else [LARGEST_VALUES_SHOWN],
            "figures_for_these_records": "for the owner alone: computed on the true records, so "
            "that they tell of them; verdicts here follow from the mechanism alone",
        },
    }


def _in_json(epsilon: float | None) -> float | str | None:
    return "infinite" if epsilon == math.inf else epsilon


def designed(
    release: NumericRelease,
    data: NumericMicrodata,
    key: ReleaseKey,
    bounds: Mapping[str, tuple[float, float]],
) -> dict[str, Any]:
    """Return what the design of a `release` leaves: what it says of itself, and its audit.

    The audit is on the true `data`. Nothing of it is random; the `key` is not looked at. `bounds`
    are the manifest's, (lower, upper) of attributes.
    """
    own = chosen(release, data)
    stated = domains(release, own, bounds)
    audit = marked(audit_numeric_release(release, stated, own), release, own)
    said = describe(release, stated, own, own.marks["data_source"])
    return {"release": said, "audit": audit}


def audited(made: Mapping[str, Any]) -> pd.DataFrame:
    """Return the ``audit`` of a release, which was `made` with its design."""
    table: pd.DataFrame = made["audit"]
    return table


def audit_numeric_release(
    release: NumericRelease, stated: Domains, data: NumericMicrodata
) -> pd.DataFrame:
    """Return claimed and exact epsilons of a `release` on its true `data`, in `stated` domains.

    As `audit_numbers`, and ``use``: who may see the row.
    """
    table = audit_numbers(mechanism_of(release, stated), data, release.data)
    return table.assign(use=FOR_ALL if isinstance(release, HistogramRelease) else FOR_THE_OWNER)
