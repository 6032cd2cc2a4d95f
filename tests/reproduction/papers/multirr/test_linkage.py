"""Records that exact tables give away, by hand, by brute force and on Adult."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from deniable.datasets.manifest import load_manifest
from deniable.datasets.published import read_published
from deniable.records.categorical import Microdata
from deniable.records.domain import Attribute, Domain

from reproduction.papers.multirr.secure_sum import linked_parties

ROOT = Path(__file__).resolve().parents[4]
DOMAIN = Domain(
    (
        Attribute("job", ("clerk", "soldier", "nurse")),
        Attribute("sex", ("f", "m")),
        Attribute("ill", ("no", "yes")),
    )
)
# clerk f no, clerk f no, clerk m no, nurse f no, nurse m yes, nurse f no, soldier f yes
RECORDS = ((0, 0, 0, 2, 2, 2, 1), (0, 0, 1, 0, 1, 0, 0), (0, 0, 0, 0, 1, 0, 1))
PEOPLE = Microdata(DOMAIN, tuple(np.array(column) for column in RECORDS))
TABLES = {
    ("job", "sex"): [[2, 1], [1, 0], [2, 1]],
    ("job", "ill"): [[3, 0], [0, 1], [2, 1]],
    ("sex", "ill"): [[4, 1], [1, 1]],
}


def test_by_hand():
    for pair, table in TABLES.items():
        assert PEOPLE.counts(pair).tolist() == table
    # Nobody is alone with a sex or an illness; the two who are ill are not linked, although only
    # one man is: that is a count of 1 in a combination.
    found = linked_parties(PEOPLE)
    assert found.columns.tolist() == [
        "attribute",
        "category",
        "party",
        "attributes_rebuilt",
        "equals_true_record",
    ]
    assert found.to_numpy().tolist() == [["job", "soldier", 6, 3, True]]


def test_who_is_alone_twice_is_rebuilt_twice():
    people = Microdata(DOMAIN, tuple(np.array(c) for c in ((0, 0, 1), (0, 0, 1), (0, 0, 0))))
    found = linked_parties(people)
    assert found[["attribute", "category", "party"]].to_numpy().tolist() == [
        ["job", "soldier", 2],
        ["sex", "m", 2],
    ]
    assert found["equals_true_record"].all()


def test_nobody_alone():
    people = Microdata(DOMAIN, tuple(np.array([0, 0, 1, 1]) for _ in DOMAIN))
    assert linked_parties(people).empty


@given(st.integers(1, 30), st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_against_a_search_through_the_records(records, seed):
    rng = np.random.default_rng(seed)
    domain = Domain(
        tuple(
            Attribute(n, tuple("pqrstuvw"[:k])) for n, k in zip("abcd", (8, 2, 6, 3), strict=True)
        )
    )
    data = Microdata(domain, tuple(rng.integers(0, size, records) for size in domain.shape))
    expected = [
        [attribute.name, category, int(np.flatnonzero(column == code)[0]), 4, True]
        for attribute, column in zip(domain, data.columns, strict=True)
        for code, category in enumerate(attribute.categories)
        if np.count_nonzero(column == code) == 1
    ]
    assert linked_parties(data).to_numpy().tolist() == expected


@pytest.fixture(scope="module")
def adult() -> Microdata:
    places = [os.environ.get("DENIABLE_DATA_MIRROR"), ROOT.parent / "shared" / "data"]
    mirror = next((Path(p) for p in places if p and (Path(p) / "adult.data").is_file()), None)
    if mirror is None:
        pytest.skip("NOT TESTED: linkage on Adult; adult.data is in no mirror directory")
    return read_published(
        load_manifest(ROOT / "resources" / "datasets.yaml")["adult"], mirror / "adult.data"
    )


@pytest.mark.real_data
def test_random_records_of_adult(adult):
    exposed = 0
    for seed in range(20):
        drawn = np.random.default_rng(seed).choice(len(adult), 2000, replace=False)
        found = linked_parties(Microdata(adult.domain, tuple(c[drawn] for c in adult.columns)))
        assert found["equals_true_record"].all()
        assert (found["attributes_rebuilt"] == 8).all()
        exposed += len(found) > 0
    assert exposed > 10  # in most samples of 2,000 somebody's whole record lies open
    assert linked_parties(adult).empty  # among all 32,561 nobody is alone with a category
