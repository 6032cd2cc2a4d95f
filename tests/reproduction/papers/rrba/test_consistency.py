"""Views made consistent with real noise."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest

from deniable.contingency.consistency import largest_disagreement
from deniable.records.categorical import Microdata
from deniable.records.domain import Attribute, Domain
from deniable.rrba.questions import make_views

from reproduction.papers.rrba import consistency
from reproduction.papers.rrba.consistency import COLUMNS, collected, consistency_table


def file_of(records: int) -> Microdata:
    rng = np.random.default_rng(1)
    first = rng.integers(0, 2, records)
    domain = Domain(tuple(Attribute(name, ("0", "1")) for name in "abcd"))
    columns = tuple(np.where(rng.random(records) < 0.8, first, 1 - first) for _ in range(4))
    return Microdata(domain, columns)


@pytest.fixture(scope="module", autouse=True)
def _few_replicates() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(consistency, "REPLICATES", 3)
        yield


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return consistency_table({"file": file_of(300)}, [0.5], 7)


def test_agreement_is_reached_and_tables_come_closer(table: pd.DataFrame) -> None:
    assert tuple(table.columns) == COLUMNS
    together = table[table["method"] != "nearest"]
    assert (together["disagreement_after"] < 1e-9).all()
    assert (together["negative_after"] == 0).all()
    assert (table["disagreement_before"] > 0.01).all()
    assert (table["printed_feasible"] == 0).all()
    observed = together[together["tables"] == "observed"]
    assert (observed["distance_after"] < observed["distance_before"]).all()
    changes = observed["distance_after"] - observed["distance_before"]
    np.testing.assert_allclose(observed["change"], changes, atol=1e-12)
    # In none of three-way tables there is a before.
    assert table.loc[table["tables"] == "in none", "distance_before"].isna().all()
    assert set(table.loc[table["views_of"] == 3, "tables"]) == {"observed", "in several"}


def test_the_same_seed_gives_the_same_table(table: pd.DataFrame) -> None:
    again = consistency_table({"file": file_of(300)}, [0.5], 7)
    numbers = [c for c in COLUMNS if table[c].dtype.kind == "f"]
    np.testing.assert_allclose(again[numbers], table[numbers], atol=1e-9)


def test_almost_no_noise_leaves_only_sampling_of_views() -> None:
    data = file_of(40_000)
    views = make_views(data.domain.names, 2)
    noisy = collected(data, views, 0.999, np.random.default_rng(3))
    assert len(noisy) == 6
    for each in noisy:
        truth = data.counts(each.attributes) / len(data)
        # Each view has 13,333 clients: six standard errors of a cell are at most .026.
        assert np.abs(each.proportions - truth).max() < 0.026
    assert sum(each.precision for each in noisy) == 2 * len(data)
    assert largest_disagreement(noisy) > 0
