"""What lanes share of the audit: findings on a release as its rows."""

from collections.abc import Sequence

import pandas as pd

from deniable.privacy import Finding
from deniable.randomized_response import audit_row, audit_table


def released(release: str, matrix: str, rows: Sequence[tuple[str, str, Finding]]) -> pd.DataFrame:
    """Return findings on a release, each with its unit and of what it is, as rows of the audit.

    `matrix` says of which kind its channels are.
    """
    return audit_table(audit_row(f"release {release}", matrix, *row) for row in rows)
