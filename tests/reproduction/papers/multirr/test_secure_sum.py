"""Tables about the secure sum: what they say, and that they say it again."""

import itertools

import numpy as np
import pytest

from deniable.randomized_response.dependence import cramers_v
from deniable.records.categorical import Microdata
from deniable.records.domain import Attribute, Domain
from deniable.sampling import generator_for

from reproduction.papers.multirr.secure_sum import (
    FAULTS,
    MARGINS,
    MISSING,
    PAIR,
    TOTAL,
    fault_trials,
    linkage_example,
    linked_parties,
    small_records,
    trials,
)

SEED = 20211121
# What each fault of the table is noticed by; nothing: a limit that the module's docstring names.
NOTICED = {
    "a party leaves before it sends a share": MISSING,
    "a party leaves while it sends its shares": MISSING,
    "a party leaves between shares and broadcast": MISSING,
    "a party sends shares that do not sum to 0": TOTAL,
    "a party broadcasts a wrong sum": TOTAL,
    "a party counts itself in two cells": TOTAL,
    "a party counts itself in no cell": TOTAL,
    "one party counts itself twice, another not at all; one pair is counted": "nothing",
    "a party moves all records like its own to another cell; one pair is counted": "nothing",
    "the same, while all pairs are counted and the others are answered truly": MARGINS,
    "the same in all pairs alike": "nothing",
    "a party moves more records to another cell than there are": TOTAL,
    "a party waits until all others have broadcast and sets the counts as it likes": "nothing",
}


def test_trials(small_data):
    table = trials(small_data, SEED, ("colour", "region"), 200, 12)
    assert table["pair"].tolist() == [
        "colour and region",
        *(f"{a} and {b}" for a, b in itertools.combinations(small_data.domain.names, 2)),
        "all 6 pairs",
    ]
    assert table["parties"].tolist() == [200] + [12] * 7
    assert table["cells"].tolist() == [12, 6, 12, 6, 8, 4, 8, 44]
    assert table["equals_direct_counts"].all()
    assert (table["inconsistencies"] == 0).all()
    n, cells = table["parties"], table["cells"]
    assert (table["share_messages"] == cells * n * (n - 1)).all()
    assert (table["broadcasts"] == cells * n).all()
    assert (table["messages"] == table["formula_in_all"]).all()
    assert (table["formula_in_all"] == n * table["formula_per_party"]).all()
    assert (table["formula_per_party"] == cells * n).all()
    bits = np.ceil(np.log2(n + 1))
    assert (table["bits"] == cells * 2 * n * (n - 1) * bits).all()
    counted = table.iloc[:-1]
    assert (counted["cramers_v_from_sum"] == counted["cramers_v_direct"]).all()
    assert counted["cramers_v_direct"].notna().all()
    assert table.iloc[-1][["cramers_v_from_sum", "cramers_v_direct"]].isna().all()


def test_trials_of_all_records(small_data):
    table = trials(small_data, SEED, ("colour", "smokes"), len(small_data), 3)
    assert table["cramers_v_from_sum"][0] == cramers_v(small_data.counts(["colour", "smokes"]))


@pytest.fixture(scope="module")
def faults():
    return fault_trials(SEED, 100)


def test_each_fault_is_noticed_always_or_never_as_documented(faults):
    assert dict(zip(faults["fault"], faults["by_what"], strict=True)) == NOTICED
    assert len(FAULTS) == len(NOTICED)
    for row in faults.to_dict("records"):
        assert row["detected"] == (row["by_what"] != "nothing"), row["fault"]
        assert row["party_named"] == (row["by_what"] == MISSING), row["fault"]
        assert row["trials"] == 100
        assert row["remedy_or_limit"]


@pytest.mark.parametrize("fault", [row[:2] for row in FAULTS], ids=lambda value: str(value)[:50])
def test_a_fault_touches_who_is_there(fault):
    name, spoil = fault
    for seed in range(30):
        generator = generator_for(seed, {"fault": name})
        data = small_records(generator)
        assert 4 <= len(data) <= 9
        assert np.count_nonzero(data.counts(PAIR)) >= 3
        for pair, cells in spoil(data, generator).items():
            size = data.domain.project(pair).size
            assert cells
            assert all(0 <= party < len(data) and 0 <= cell < size for party, cell in cells)


def test_linkage(small_data):
    found = linkage_example(small_data, SEED, parties=8, samples=40)
    last = found.iloc[-1]
    assert (last["attribute"], last["category"]) == ("any", "any")
    assert len(found) > 3
    assert (found["parties"] == 8).all()
    assert (found["samples"] == 40).all()
    assert found["equals_true_record"].all()
    assert (found["attributes_rebuilt"] == 4).all()
    each = found.iloc[:-1]
    assert each["share_of_samples"].max() <= last["share_of_samples"] <= 1
    # A party that is alone in two attributes counts once among any, a category once a sample.
    assert last["share_of_parties_exposed"] <= each["share_of_parties_exposed"].sum()
    np.testing.assert_allclose(each["share_of_samples"] / 8, each["share_of_parties_exposed"])


def test_linkage_of_all_records(small_data):
    # All 500 are in each sample, and none of them is alone with a category.
    assert linked_parties(small_data).empty
    found = linkage_example(small_data, SEED, parties=500, samples=3)
    assert found[
        ["attribute", "share_of_samples", "share_of_parties_exposed"]
    ].to_numpy().tolist() == [["any", 0, 0]]
    alone = Microdata(
        Domain((Attribute("a", ("x", "y")), Attribute("b", ("x", "y")))),
        (np.array([0] * 9 + [1]), np.array([0, 1] * 5)),
    )
    found = linkage_example(alone, SEED, parties=10, samples=3)
    assert found["share_of_samples"].tolist() == [1, 1]
    assert found["share_of_parties_exposed"].tolist() == [0.1, 0.1]


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes(small_data, faults):
    def bytes_of(seed: int) -> list[str]:
        tables = [
            trials(small_data, seed, ("colour", "smokes"), 30, 5),
            linkage_example(small_data, seed, 8, 5),
        ]
        return [table.to_csv(index=False) for table in tables]

    assert bytes_of(1) == bytes_of(1)
    assert bytes_of(1) != bytes_of(2)
    assert fault_trials(SEED, 100).to_csv() == faults.to_csv()
