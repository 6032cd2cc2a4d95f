"""Small numeric files and mechanisms for tests."""

from typing import Any

import numpy as np
import pandas as pd

from deniable.idp import Domains, NumericMechanism
from deniable.idp.audit import AuditedFile, audit_file
from deniable.records import NumericMicrodata

BOUNDS = {"width": (-2.0, 18.0), "height": (1.0, 6.0)}
METHODS: dict[str, dict[str, Any]] = {
    "histograms": {"bins": 8},
    "dp": {},
    "dp_um": {"k": 7},
    "idp_ls": {"k": 7},
    "idp_cbls": {"k": 7},
}
WITH_EPSILON = ("histograms", "dp")


def numeric_file(seed: int = 1, records: int = 152) -> NumericMicrodata:
    """Return numbers with ties, within `BOUNDS`; one cluster of 7 has 5 values more."""
    drawn = np.random.default_rng(seed)
    values = np.stack([drawn.gamma(3, 1.5, records), drawn.uniform(1, 6, records)], axis=1)
    values = np.clip(values.round(1), [-2, 1], [18, 6])
    labels = np.arange(records) % 3 == 0
    marks = {"data_source": "original", "source_sha256": "0" * 64}
    return NumericMicrodata(
        tuple(BOUNDS), values, "size", ("small", "large"), labels.astype(int), marks
    )


def stated_domains(*names: str) -> Domains:
    ends = np.array([BOUNDS[name] for name in names or BOUNDS])
    return Domains(names or tuple(BOUNDS), ends[:, 0], ends[:, 1])


def mechanism_by(method: str, epsilon: float = 1.0, **changes: Any) -> NumericMechanism:
    """Return a mechanism in the domains `BOUNDS`."""
    values = {"domains": stated_domains()} | METHODS[method] | changes
    return NumericMechanism(method, epsilon, **values)  # type: ignore[arg-type]


def audited(mechanism: NumericMechanism, data: NumericMicrodata) -> pd.DataFrame:
    """Return the audit of a mechanism without histograms on its original records."""
    domains, factor = mechanism.domains, mechanism.domain_factor or np.nan
    values = domains.inner(data.values)
    file = AuditedFile("small", domains.names, values, domains.widths, factor)
    ks = [mechanism.k] if mechanism.k else []
    table = audit_file(file, ks, [mechanism.epsilon], [mechanism.method])
    return table[table["domain"] == "public"] if mechanism.public_domains else table
