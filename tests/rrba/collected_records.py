"""Small records for collections: two attributes that depend on each other, two that do not."""

import numpy as np
import pandas as pd

from deniable.records.categorical import Microdata
from deniable.records.domain import Attribute, Domain
from deniable.rrba import SEPARATOR, CollectionDesign, answers_by_table

DOMAIN = Domain(
    (
        Attribute("a", ("0", "1")),
        Attribute("b", ("x", "y", "z")),
        Attribute("c", ("no", "yes")),
        Attribute("d", ("1", "2", "3", "4")),
    )
)


def some_records(records: int = 600, seed: int = 1, domain: Domain = DOMAIN) -> Microdata:
    """Return records whose first two attributes depend on each other."""
    drawn = np.random.default_rng(seed)
    columns = [drawn.integers(0, attribute.size, records) for attribute in domain]
    columns[1] = np.where(drawn.random(records) < 0.7, columns[0], columns[1])
    return Microdata(domain, tuple(columns), {"data_source": "original"})


def estimate_tables(design: CollectionDesign, answers: pd.DataFrame, clients: int) -> pd.DataFrame:
    """Return the unbiased estimates of all tables, with both standard errors."""
    parts = [
        pd.DataFrame(
            {
                "attributes": SEPARATOR.join(combination),
                "categories": design.domain.project(combination).cell_labels(),
                "answers": found.number,
                "reported": found.reports.sum(axis=0) / found.number,
                "estimate": found.estimate(),
                "standard_error_file": found.standard_errors(clients),
                "standard_error_population": found.standard_errors(),
            }
        )
        for combination, found in answers_by_table(design, answers).items()
    ]
    return pd.concat(parts, ignore_index=True)
