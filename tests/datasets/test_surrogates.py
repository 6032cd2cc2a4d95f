"""Tests of deniable.datasets.surrogates."""

import itertools
import json
import math
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import chi2_contingency

from deniable.datasets import networks, surrogates
from deniable.datasets.manifest import Dataset, load_manifest
from deniable.datasets.networks import BayesianNetwork, ConditionalTable
from deniable.datasets.published import read_published
from deniable.errors import DataError
from deniable.files import sha256
from deniable.randomized_response.dependence import absolute_correlation
from deniable.records.categorical import Microdata
from deniable.records.domain import Attribute, Domain

REPOSITORY = Path(__file__).resolve().parents[2]
MANIFEST = {
    name: each
    for name, each in load_manifest(REPOSITORY / "resources" / "datasets.yaml").items()
    if isinstance(each, Dataset)
}
# Of each committed surrogate: mean and largest total variation over pairs. The promise is a mean
# of .02; the largest of adult_numeric is that of education and hours per week. Of adult_age, which
# has no pairs, of its margin.
FIDELITY = {"adult": (0.01, 0.04), "adult_numeric": (0.012, 0.06), "adult_age": (0.003, 0.003)}
A = Attribute("a", ("no", "yes"))
B = Attribute("b", ("low", "middle", "high"), "ordinal")
C = Attribute("c", ("out", "in"))


def by_hand() -> BayesianNetwork:
    return BayesianNetwork(
        Domain((C, A, B)),
        (
            ConditionalTable("a", (), {(): (0.25, 0.75)}),
            ConditionalTable("b", ("a",), {(): (0.0, 0.2, 0.8), (0,): (0.5, 0.5, 0.0)}),
            ConditionalTable(
                "c", ("b", "a"), {(1, 0): (1.0, 0.0), (1,): (0.1, 0.9), (): (0.5, 0.5)}
            ),
        ),
    )


def from_counts(attributes: tuple[Attribute, ...], counts: Any) -> Microdata:
    domain = Domain(attributes)
    joint = np.repeat(np.arange(domain.size), np.asarray(counts).ravel())
    return Microdata(domain, domain.unravel(joint))


def least(support: int, cell: int, parents: int = 3) -> Any:
    """Let small files have networks: replace the limits of records and of parents."""
    return patch.multiple(surrogates, MIN_SUPPORT=support, MIN_CELL=cell, MAX_PARENTS=parents)


def row_used(table: ConditionalTable, codes: tuple[int, ...]) -> tuple[int, ...]:
    return next(codes[:k] for k in range(len(codes), -1, -1) if codes[:k] in table.rows)


@st.composite
def files(draw: st.DrawFn) -> Microdata:
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    records = draw(st.integers(8, 60))
    domain = Domain(tuple(Attribute(f"q{i}", tuple("wxyz"[:size])) for i, size in enumerate(sizes)))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    # Dependent columns, with rare codes: each copies the one before half the time.
    columns: list[Any] = []
    for size in sizes:
        fresh = (size * generator.random(records) ** 2).astype(int)
        copied = np.minimum(columns[-1], size - 1) if columns else fresh
        columns.append(np.where(generator.random(records) < 0.5, copied, fresh))
    return Microdata(domain, tuple(columns))


def test_sample_has_the_expected_counts_where_these_are_whole():
    network = by_hand()
    drawn = surrogates.sample(network, 800, np.random.default_rng(1))
    assert drawn.domain.names == ("c", "a", "b")
    # 200 and 600; 200 = 100 + 100, 600 = 120 + 480.
    assert drawn.counts(["a", "b"]).tolist() == [[100, 100, 0], [0, 120, 480]]
    table = drawn.counts(["b", "a", "c"])
    assert table[1, 0].tolist() == [100, 0]
    assert table[1, 1].tolist() == [12, 108]
    # 580 records share the last row of c: half of them in, whatever their a and b.
    assert (table[0].sum(axis=0) + table[2].sum(axis=0)).tolist() == [290, 290]
    assert drawn.marks == {"data_source": "surrogate"}


def test_quota_is_unbiased_and_falls_on_records_at_random():
    # |z| < 4 in two tests: a sound sampler fails with probability 1.3e-4; the seed is fixed.
    network = BayesianNetwork(Domain((A,)), (ConditionalTable("a", (), {(): (0.3, 0.7)}),))
    generator = np.random.default_rng(2)
    draws = np.array([surrogates.sample(network, 7, generator).columns[0] for _ in range(4000)])
    no = (draws == 0).sum(axis=1)
    assert set(no) == {2, 3}
    assert abs(no.mean() - 2.1) < 4 * np.sqrt(0.1 * 0.9 / 4000)
    assert abs((draws[:, 0] == 0).mean() - 0.3) < 4 * np.sqrt(0.3 * 0.7 / 4000)


def test_children_of_one_parent_are_independent_given_it():
    # Level 1e-4 in each of two strata (the margins are fixed, so it is Fisher's setting).
    rows = {(0,): (0.5, 0.5), (1,): (0.2, 0.8), (): (0.5, 0.5)}
    network = BayesianNetwork(
        Domain((A, C, D := Attribute("d", ("x", "y")))),
        (
            ConditionalTable("a", (), {(): (0.5, 0.5)}),
            ConditionalTable("c", ("a",), rows),
            ConditionalTable(D.name, ("a",), rows),
        ),
    )
    drawn = surrogates.sample(network, 20_000, np.random.default_rng(3))
    for stratum in drawn.counts(["a", "c", "d"]):
        assert chi2_contingency(stratum).pvalue > 1e-4


@given(files(), st.integers(0, 200), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=60)
def test_fit_round_trips_and_draws_by_quota(data, records, seed):
    with least(8, 2, parents=2):
        network = surrogates.fit(data)
    with TemporaryDirectory() as folder:
        networks.write(Path(folder, "network.json"), network)
        assert networks.read(Path(folder, "network.json")) == network
    drawn = surrogates.sample(network, records, np.random.default_rng(seed))
    assert len(drawn) == records
    for table in network.tables:
        child = drawn.column(table.attribute)
        keys = zip(*(drawn.column(name).tolist() for name in table.parents), strict=True)
        used = [row_used(table, key) for key in keys] if table.parents else [()] * records
        for key, probabilities in table.rows.items():
            mine = np.array([other == key for other in used], dtype=bool)
            counts = np.bincount(child[mine], minlength=len(probabilities))
            assert (np.abs(counts - mine.sum() * np.array(probabilities)) < 1).all()
            assert not counts[np.array(probabilities) == 0].any()


def test_fit_by_hand():
    # a and b depend on each other; c is a coin. Either direction has the same AIC, and ties go
    # to the first attribute as the last child.
    halves = np.array([[30, 10, 0], [5, 10, 45]])
    data = from_counts((A, B, C), np.stack([halves, halves], axis=-1))
    with least(20, 1):
        network = surrogates.fit(data, sha256="abc")
    families = {
        frozenset((each.attribute, *each.parents)) for each in network.tables if each.parents
    }
    assert families == {frozenset("ab")}
    tables = {table.attribute: table for table in network.tables}
    assert tables["c"].rows == {(): (0.5, 0.5)}
    assert tables["b"].rows == {(): (0.35, 0.2, 0.45)}
    assert tables["a"].rows == {
        (0,): (0.8571, 0.1429),
        (1,): (0.5, 0.5),
        (2,): (0.0, 1.0),
        (): (0.4, 0.6),
    }
    assert network.provenance["records"] == 200
    assert network.provenance["sha256"] == "abc"
    assert network.provenance["mean_total_variation"] < 0.05


def supported_rows(counts: Any, support: int, cell: int) -> Any:
    with least(support, cell):
        return surrogates._supported_rows(counts)


def test_rare_configurations_share_a_row():
    counts = np.array([[[6, 4], [3, 1]], [[2, 1], [1, 1]], [[0, 1], [1, 0]]])
    keys, weights, records = supported_rows(counts, 5, 1)
    assert keys == [(0, 0), (1,), ()]
    assert records.tolist() == [[6, 4], [3, 2], [4, 2]]  # [3, 1] and the last two: 6 records
    assert weights.tolist() == records.tolist()
    # With 7 needed, 11 records have no row of their own.
    keys, weights, records = supported_rows(counts, 7, 1)
    assert (keys, records.tolist()) == ([(0, 0), ()], [[6, 4], [7, 4]])
    # A last resort with too few records becomes the margin of all.
    keys, weights, records = supported_rows(counts[:2], 6, 1)
    assert (keys, records.tolist()) == ([(0, 0), ()], [[6, 4], [6, 3]])
    keys, weights, records = supported_rows(counts[:1], 5, 1)
    assert (keys, records.tolist(), weights.tolist()) == (
        [(0, 0), ()],
        [[6, 4], [3, 1]],
        [[6, 4], [9, 5]],
    )


@given(st.integers(0, 2**32 - 1), st.integers(1, 5))
@settings(deadline=None)
def test_small_cells_go_and_categories_keep_their_totals(seed, min_cell):
    counts = np.random.default_rng(seed).poisson(1.5, (4, 5, 3))
    counts[..., 0] += 5 * 3
    _, weights, records = supported_rows(counts, 15, min_cell)
    assert not ((weights > 0) & (weights < min_cell)).any()
    if records.sum(axis=1).min() >= 15:
        assert (np.abs(weights.sum(axis=0) - counts.sum(axis=(0, 1))) <= min_cell / 2).all()


def test_units_are_largest_remainders():
    assert surrogates._in_units(np.array([[1, 1, 1], [2, 1, 0]])).tolist() == [
        [3334, 3333, 3333],
        [6667, 3333, 0],
    ]


@pytest.mark.parametrize("seed", range(5))
@least(12, 2, parents=2)
def test_structure_is_the_best_of_all(seed):
    generator = np.random.default_rng(seed)
    counts = generator.poisson(generator.gamma(0.7, 20, (2, 3, 2)))
    data = from_counts((A, B, C), counts)
    score = 0
    for child, parents in surrogates._best_structure(data):
        table = data.counts([data.domain.names[i] for i in (*parents, child)])
        score += surrogates._score(table)
    every = []
    for order in itertools.permutations(range(3)):
        total = 0
        for position, child in enumerate(order):
            total += max(
                surrogates._score(data.counts([data.domain.names[i] for i in (*parents, child)]))
                for k in range(position + 1)
                for parents in itertools.permutations(order[:position], k)
            )
        every.append(total)
    assert score == max(every)


def test_fitting_and_drawing_again_gives_the_same(tmp_path):
    generator = np.random.default_rng(5)
    data = from_counts((A, B, C), generator.poisson(20, (2, 3, 2)))
    again = Microdata(data.domain, tuple(column[::-1] for column in data.columns))
    for name, records in (("one", data), ("two", again)):
        with least(20, 3):
            networks.write(tmp_path / name, surrogates.fit(records))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    network = networks.read(tmp_path / "one")
    first, second = (surrogates.sample(network, 99, np.random.default_rng(7)) for _ in range(2))
    for one, two in zip(first.columns, second.columns, strict=True):
        assert np.array_equal(one, two)


def test_fit_refuses_few_records_and_many_categories():
    with pytest.raises(DataError, match=r"^24 records .*; give at least 200 records"):
        surrogates.fit(from_counts((A, B, C), np.full(12, 2)))
    many = Attribute("m", tuple(map(str, range(67))))
    with pytest.raises(DataError, match=r"up to 67 categories .* at most 66 categories"):
        surrogates.fit(from_counts((many,), np.full(67, 4)))


def test_fit_refuses_too_many_attributes():
    domain = Domain(tuple(replace(A, name=str(i)) for i in range(13)))
    with pytest.raises(DataError, match=r"13 attributes, but .* at most 12"):
        surrogates.fit(Microdata(domain, (np.zeros(300, dtype=int),) * 13))


def test_pairwise_total_variation_by_hand():
    one = from_counts((A, C, B), [[[1, 1, 0], [1, 0, 0]], [[0, 0, 0], [0, 0, 1]]])
    two = from_counts((A, C, B), [[[2, 0, 0], [2, 0, 0]], [[0, 0, 0], [2, 0, 2]]])
    assert surrogates.pairwise_total_variation(one, two).tolist() == [
        0.25,  # a, c: .5 .25 0 .25 against .25 .25 0 .5
        0.25,  # a, b: .5 .25 0 0 0 .25 against .5 0 0 .25 0 .25
        0.25,  # c, b: .25 .25 0 .25 0 .25 against .25 0 0 .5 0 .25
    ]


def table_of(value: dict[str, Any], attribute: str) -> dict[str, Any]:
    return next(table for table in value["tables"] if table["attribute"] == attribute)


def break_rows(attribute: str, rows: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda value: table_of(value, attribute).update(rows=rows)


MALFORMED: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "sum": (
        break_rows("a", [[[], [0.25, 0.74]]]),
        r"table of 'a', row \[\]: the probabilities sum to 0.99, not to 1",
    ),
    "negative": (break_rows("a", [[[], [-0.5, 1.5]]]), "'a', row .*: a probability is outside"),
    "nan": (break_rows("a", [[[], [float("nan"), 1]]]), "'a', row .*: a probability is outside"),
    "too few": (break_rows("b", [[[], [0.5, 0.5]]]), "'b', .* 2 probabilities, but 3 categories"),
    "category": (
        break_rows("b", [[[], [0, 0, 1]], [[2], [0, 0, 1]]]),
        r"'b', row \[2\], parent 'a': the code 2 is outside 0 .. 1",
    ),
    "too long": (break_rows("a", [[[], [0, 1]], [[0], [0, 1]]]), "1 codes, but 0 parents"),
    "no last resort": (break_rows("b", [[[1], [0, 0, 1]]]), r"'b': no row .* add the row \[\]"),
    "twice": (break_rows("a", [[[], [0, 1]], [[], [1, 0]]]), "'a', row .* two rows; keep one"),
    "text": (break_rows("a", [[[], ["0", "1"]]]), "'a', row .*: not .codes of parents, prob"),
    "not a row": (break_rows("a", [7]), "'a', row 7: not .codes of parents, prob"),
    "unknown attribute": (
        lambda value: table_of(value, "a").update(attribute="z"),
        "there is no attribute 'z'; there are 'c', 'a', 'b'",
    ),
    "unknown parent": (
        lambda value: table_of(value, "b").update(parents=["z"]),
        "there is no attribute 'z'",
    ),
    "cycle": (
        lambda value: table_of(value, "a").update(parents=["b"]),
        "table of 'a': the parent 'b' is listed twice, in a cycle, or has its table later",
    ),
    "own parent": (
        lambda value: table_of(value, "a").update(parents=["a"]),
        "table of 'a': the parent 'a' is listed twice, in a cycle",
    ),
    "parent twice": (
        lambda value: table_of(value, "b").update(parents=["a", "a"]),
        "table of 'b': the parent 'a' is listed twice",
    ),
    "missing table": (lambda value: value["tables"].pop(), "attribute 'c' has no table; add one"),
    "two tables": (
        lambda value: value["tables"].append(value["tables"][0]),
        "table of 'a': the attribute has two tables; keep one",
    ),
    "missing entry": (lambda value: value.pop("attributes"), "entry 'attributes' is missing"),
    "category twice": (
        lambda value: value["attributes"][1].update(categories=["no", "no"]),
        "'a' lists the category 'no' twice",
    ),
    "no tables": (lambda value: value.update(tables=None), "not fitted parameters in JSON"),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_json_is_refused_with_what_is_wrong(case, tmp_path):
    spoil, message = MALFORMED[case]
    networks.write(tmp_path / "whole.json", by_hand())
    value = json.loads((tmp_path / "whole.json").read_text(encoding="utf-8"))
    spoil(value)
    (tmp_path / "spoilt.json").write_text(json.dumps(value), encoding="utf-8")
    with pytest.raises(DataError, match=rf"spoilt\.json: .*{message}"):
        networks.read(tmp_path / "spoilt.json")


def test_read_names_a_file_that_is_absent_or_no_json(tmp_path):
    with pytest.raises(DataError, match=r"absent\.json: No such file"):
        networks.read(tmp_path / "absent.json")
    (tmp_path / "half.json").write_text('{"tables": [', encoding="utf-8")
    with pytest.raises(DataError, match=r"half\.json: not fitted"):
        networks.read(tmp_path / "half.json")
    (tmp_path / "list.json").write_text("[]", encoding="utf-8")
    with pytest.raises(DataError, match=r"list\.json: not fitted parameters in JSON"):
        networks.read(tmp_path / "list.json")


def test_written_files_have_a_line_for_each_row(tmp_path):
    network = by_hand()
    networks.write(tmp_path / "n.json", network)
    assert networks.read(tmp_path / "n.json") == network
    lines = (tmp_path / "n.json").read_text(encoding="utf-8").splitlines()
    assert lines[-6:-3] == ["[[],[0.5,0.5]],", "[[1],[0.1,0.9]],", "[[1,0],[1,0]]"]


def committed(dataset: Dataset) -> Path:
    return REPOSITORY / "resources" / dataset.surrogate


def test_each_data_set_has_a_stated_fidelity():
    assert set(FIDELITY) == set(MANIFEST)


@pytest.mark.parametrize("dataset", MANIFEST.values(), ids=MANIFEST)
def test_committed_surrogate_is_small_and_of_the_manifest(dataset):
    network = networks.read(committed(dataset))
    assert network.domain == dataset.domain
    assert network.provenance["sha256"] == dataset.sha256
    assert network.provenance["records"] == dataset.records
    assert committed(dataset).stat().st_size < 30_000
    drawn = surrogates.sample(network, dataset.records, np.random.default_rng(0))
    assert all((counts > 0).all() for counts in map(drawn.counts, zip(drawn.domain.names)))


@pytest.fixture(scope="module")
def adult_file() -> Path:
    folder = Path(os.environ.get("DENIABLE_DATA_MIRROR") or REPOSITORY.parent / "shared" / "data")
    file = folder / "adult.data"
    if not file.is_file():
        pytest.skip(f"NOT TESTED: the fit of Adult's surrogates; {file} is absent")
    return file


@pytest.fixture(scope="module", params=list(MANIFEST))
def original(request: pytest.FixtureRequest, adult_file: Path) -> tuple[Dataset, Microdata]:
    dataset = MANIFEST[request.param]
    return dataset, read_published(dataset, adult_file)


def cramers_v(data: Microdata, pair: tuple[str, str]) -> float:
    counts = data.counts(pair)
    smaller = min(counts.shape) - 1
    return float(np.sqrt(chi2_contingency(counts, correction=False)[0] / len(data) / smaller))


@pytest.mark.real_data
def test_fit_to_the_published_file_gives_the_committed_bytes(original, adult_file, tmp_path):
    dataset, data = original
    fitted = surrogates.fit(data, sha256=sha256(adult_file))
    networks.write(tmp_path / "fitted.json", fitted)
    assert (tmp_path / "fitted.json").read_bytes() == committed(dataset).read_bytes()


@pytest.mark.real_data
@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_drawn_surrogate_is_near_the_published_file(original, seed):
    dataset, data = original
    network = networks.read(committed(dataset))
    drawn = surrogates.sample(network, len(data), np.random.default_rng(seed))
    distance = surrogates.pairwise_total_variation(data, drawn)
    mean, largest = FIDELITY[dataset.name]
    names = data.domain.names
    assert len(distance) == math.comb(len(names), 2)
    if len(names) == 1:
        shares = [each.counts(names) / len(data) for each in (data, drawn)]
        distance = np.array([np.abs(shares[0] - shares[1]).sum() / 2])
    assert distance.mean() < mean
    assert distance.max() < largest
    # Attribute clusters are formed from Cramér's V, and from |r| where both are ordinal.
    for pair in itertools.combinations(data.domain.names, 2):
        assert abs(cramers_v(drawn, pair) - cramers_v(data, pair)) < 0.05, pair
        if all(data.domain[name].scale == "ordinal" for name in pair):
            one, other = (absolute_correlation(each.counts(pair)) for each in (drawn, data))
            assert abs(one - other) < 0.05, pair
