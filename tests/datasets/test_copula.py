"""Tests of `datasets.copula` and `datasets.numeric_surrogates`: stand-ins for numeric files."""

import itertools
import json
import os
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import ks_2samp, multivariate_normal, spearmanr
from tests.slow_variants import all_but_first

from deniable.datasets import copula, numeric_surrogates
from deniable.datasets.copula import Copula, MarginModel
from deniable.datasets.manifest import NumericDataset, load_manifest
from deniable.datasets.numeric_surrogates import (
    expected_rank_correlations,
    fit,
    rank_correlations,
    sample,
)
from deniable.datasets.published import draw_surrogate, read_published
from deniable.errors import DataError
from deniable.files import sha256
from deniable.records.numeric import NumericMicrodata

REPOSITORY = Path(__file__).resolve().parents[2]
MANIFEST = {
    name: each
    for name, each in load_manifest(REPOSITORY / "resources" / "datasets.yaml").items()
    if isinstance(each, NumericDataset)
}
SEEDS = range(10)


def margin_distances(one: NumericMicrodata, two: NumericMicrodata) -> list[float]:
    """Return the Kolmogorov distance of each attribute, and of the class if there is one."""
    own, other = ([*each.values.T, *([each.labels] if each.classes else [])] for each in (one, two))
    return [
        float(ks_2samp(*pair, method="asymp").statistic) for pair in zip(own, other, strict=True)
    ]


def by_hand(correlation: float = 0.5, **changes: Any) -> Copula:
    """Two uniform margins and a coin."""
    parts: dict[str, Any] = {
        "probabilities": (0.0, 1.0),
        "margins": (MarginModel("a", (0.0, 1.0)), MarginModel("b", (10.0, 20.0), 1)),
        "class_name": "c",
        "classes": ("no", "yes"),
        "shares": (0.5, 0.5),
        "correlations": np.array([[1, correlation, 0], [correlation, 1, 0], [0, 0, 1.0]]),
    }
    return Copula(**(parts | changes))


def test_margin_interpolates_rounds_and_keeps_atoms() -> None:
    margin = MarginModel("a", (0.0, 2.0, 2.0, 3.0), 1)
    model = Copula((0.0, 0.25, 0.75, 1.0), (margin,), "", (), (), np.eye(1))
    at = np.array([0, 0.125, 0.25, 0.5, 0.75, 0.82, 1])
    assert model.values(margin, at).tolist() == [0, 1, 2, 2, 2, 2.3, 3]
    assert by_hand().values(by_hand().margins[0], np.array([1 / 3])).tolist() == [1 / 3]


@pytest.mark.parametrize("r", [-0.95, -0.3, 0.0, 0.6, 0.99])
def test_rank_correlation_of_uniform_margins_is_that_of_the_normal(r: float) -> None:
    # Spearman's rho of a bivariate normal: (6 / pi) asin(r / 2). The steps are a grid of 2,000.
    expected = expected_rank_correlations(by_hand(r))
    assert expected[0, 1] == pytest.approx(6 / np.pi * np.arcsin(r / 2), abs=1e-3)
    assert expected[0, 2] == 0


@pytest.mark.parametrize("r", [-0.7, 0.2, 0.8])
def test_rank_correlation_of_two_coins_is_that_of_their_orthant(r: float) -> None:
    # Two classes cut at probabilities .3 and .6: phi coefficient from the bivariate normal.
    margins = tuple(MarginModel(name, (0.0, 0.0, 1.0, 1.0), 0) for name in "ab")
    model = np.array([[1, r], [r, 1.0]])
    coins = Copula((0.0, 0.3 - 1e-9, 0.3, 1.0), margins, "", (), (), model)
    expected = expected_rank_correlations(coins)[0, 1]
    cut = -0.5244005127080407  # the .3 quantile of the normal
    both = multivariate_normal(cov=model).cdf(np.array([cut, cut]))
    # 200 terms of a series that converges slowly at such jumps.
    assert expected == pytest.approx((both - 0.09) / 0.21, abs=2e-3)


@given(
    st.integers(0, 2**32 - 1),
    st.integers(20, 300),
    st.sampled_from(["continuous", "whole", "zeros", "constant"]),
    st.sampled_from([0, 2, 3]),
)
@settings(deadline=None, max_examples=25)
def test_fit_and_sample_of_any_file(seed: int, records: int, form: str, classes: int) -> None:
    generator = np.random.default_rng(seed)
    common = generator.standard_normal(records)
    columns = [np.exp(common + generator.standard_normal(records)) for _ in range(3)]
    if form == "whole":
        columns[1] = np.floor(columns[1])
    elif form == "zeros":
        columns[1] = np.where(columns[1] < 1, 0, columns[1])
    elif form == "constant":
        columns[1][:] = 7
    about: tuple[Any, ...] = ()
    if classes:
        labels = np.clip(np.floor(common + 1), 0, classes - 1).astype(int)
        about = ("c", tuple("xyz"[:classes]), labels)
    data = NumericMicrodata(("p", "q", "r"), np.column_stack(columns), *about)
    model = fit(data)
    with TemporaryDirectory() as folder:
        one, two = Path(folder, "one"), Path(folder, "two")
        copula.write(one, model)
        copula.write(two, copula.read(one))
        assert one.read_bytes() == two.read_bytes()
    assert np.linalg.eigvalsh(model.correlations)[0] > 0
    for margin, column in zip(model.margins, columns, strict=True):
        assert len(margin.quantiles) <= 101
        assert min(margin.quantiles) >= 0  # as all values are
        inner = margin.quantiles[1:-1]
        assert column.min() - 1e-6 <= inner[0] <= inner[-1] <= column.max() + 1e-6
    drawn = sample(model, records, np.random.default_rng(1))
    assert drawn.marks == {"data_source": "surrogate"}
    # Quantiles are 5 or more records apart, so that few records have coarse margins.
    assert max(margin_distances(data, drawn)) <= 0.03 + 10 / records
    if form != "constant":
        missed = np.abs(rank_correlations(drawn) - expected_rank_correlations(model)).max()
        assert missed < 0.05 + 2 / records**0.5


def test_no_quantile_is_the_value_of_one_record() -> None:
    # Values of which no two means of five agree: a quantile tells of five records or of none.
    values = np.cumsum(np.random.default_rng(3).exponential(size=1000))
    model = fit(NumericMicrodata(("a",), values[:, None]))
    runs = numeric_surrogates._runs(1000)
    assert all(later - earlier >= 5 for earlier, later in itertools.pairwise(runs))
    assert (runs[0], runs[-1]) == (0, 995)
    quantiles = model.margins[0].quantiles
    assert len(runs) + 2 == len(quantiles) <= 101
    for start, quantile in zip(runs, quantiles[1:-1], strict=True):
        assert quantile == pytest.approx(values[start : start + 5].mean(), rel=1e-8)
    # The end continues the line through the outer means, at 997.5 and `runs[-2]` + 2.5 of 1,000.
    slope = (quantiles[-2] - quantiles[-3]) / (runs[-1] - runs[-2])
    assert quantiles[-1] == pytest.approx(quantiles[-2] + 2.5 * slope, rel=1e-6)


@pytest.mark.parametrize("records", [20, 21, 99, 100, 101, 505, 1080, 4898, 100_000])
def test_runs_are_apart_whatever_the_number_of_records(records: int) -> None:
    runs = numeric_surrogates._runs(records)
    assert 2 <= len(runs) <= 99
    assert runs[0] == 0
    assert runs[-1] == records - 5
    assert (np.diff(runs) >= 5).all()


def test_a_sample_has_exact_margins_and_shares() -> None:
    drawn = sample(by_hand(), 1000, np.random.default_rng(2))
    assert np.sort(drawn.column("a")) == pytest.approx((np.arange(1000) + 0.5) / 1000)
    assert drawn.class_counts().tolist() == [500, 500]
    assert set(np.round(drawn.column("b") * 10) / 10) == set(drawn.column("b"))
    expected = expected_rank_correlations(by_hand())
    assert np.abs(rank_correlations(drawn) - expected).max() < 0.005


def test_the_order_of_a_sample_is_random() -> None:
    # Positions of the largest value in 160 samples of 20: chi-squared with 19 degrees of freedom
    # is below 60.7 with probability 1 - 3e-6.
    generator = np.random.default_rng(7)
    places = [sample(by_hand(), 20, generator).column("a").argmax() for _ in range(160)]
    counts = np.bincount(places, minlength=20)
    assert ((counts - 8) ** 2 / 8).sum() < 60.7


def test_fitting_and_drawing_again_gives_the_same(tmp_path: Path) -> None:
    drawn = sample(by_hand(), 300, np.random.default_rng(5))
    turned = NumericMicrodata(
        drawn.names, drawn.values[::-1], drawn.class_name, drawn.classes, drawn.labels[::-1]
    )
    for name, data in (("one", drawn), ("two", turned)):
        copula.write(tmp_path / name, fit(data, sha256="abc"))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    model = copula.read(tmp_path / "one")
    assert model.provenance["sha256"] == "abc"
    assert model.provenance["records"] == 300
    first, second = (sample(model, 99, np.random.default_rng(7)) for _ in range(2))
    assert np.array_equal(first.values, second.values)
    assert np.array_equal(first.labels, second.labels)
    other = sample(model, 99, np.random.default_rng(8))
    assert not np.array_equal(first.values, other.values)


def test_too_few_records() -> None:
    with pytest.raises(DataError, match="19 records are too few to fit a surrogate"):
        fit(NumericMicrodata(("a",), np.arange(19.0)[:, None]))
    assert len(sample(by_hand(), 1, np.random.default_rng(0))) == 1


@given(st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=30)
def test_correlations_are_those_of_scipy(seed: int) -> None:
    generator = np.random.default_rng(seed)
    data = NumericMicrodata(
        ("a", "b"), generator.poisson(2, (40, 2)), "c", ("x", "y"), generator.integers(0, 2, 40)
    )
    scipys = spearmanr(np.column_stack([data.values, data.labels])).statistic
    assert rank_correlations(data) == pytest.approx(scipys)


def test_nearest_correlations_are_near_and_definite() -> None:
    impossible = np.array([[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1.0]])
    found = numeric_surrogates._nearest_correlations(impossible)
    assert np.linalg.eigvalsh(found)[0] >= 1e-3
    assert np.diag(found).tolist() == [1, 1, 1]
    # Higham's answer has equal correlations in size, by symmetry: .5 at the edge of what is.
    off = np.abs(found[np.triu_indices(3, 1)])
    assert off == pytest.approx(np.full(3, 0.5), abs=2e-3)
    fine = np.array([[1, 0.5], [0.5, 1.0]])
    assert np.array_equal(numeric_surrogates._nearest_correlations(fine), fine)


# ---- files --------------------------------------------------------------------------------------

MALFORMED: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "no margins": (lambda v: v.update(margins=[]), "needs one or more attributes"),
    "missing": (lambda v: v.pop("correlations"), "the entry 'correlations' is missing"),
    "missing in margin": (lambda v: v["margins"][0].pop("name"), "the entry 'name' is missing"),
    "twice": (lambda v: v["margins"][1].update(name="a"), "with different names"),
    "too many": (
        lambda v: (
            v.update(probabilities=np.linspace(0, 1, 102).tolist()),
            v["margins"][0].update(quantiles=list(range(102))),
        ),
        "marginal distribution of 'a': 102 quantiles at 102 probabilities; allowed: 2 to 101",
    ),
    "not one each": (
        lambda v: v["margins"][0].update(quantiles=[1, 2, 3]),
        "marginal distribution of 'a': 3 quantiles at 2 probabilities",
    ),
    "decreasing": (
        lambda v: v["margins"][0].update(quantiles=[2, 1]),
        "marginal distribution of 'a': quantiles must be finite numbers that do not decrease",
    ),
    "nan": (
        lambda v: v["margins"][0].update(quantiles=[0, float("nan")]),
        "marginal distribution of 'a': quantiles must be finite",
    ),
    "probabilities": (lambda v: v.update(probabilities=[0, 0.9]), "must increase from 0 to 1"),
    "decimals": (lambda v: v["margins"][0].update(decimals=-1), "-1 decimals; allowed: 0 to 15"),
    "shares": (lambda v: v["class"].update(shares=[0.5, 0.4]), "the proportions do not sum to 1"),
    "negative share": (lambda v: v["class"].update(shares=[-0.5, 1.5]), "a proportion is outside"),
    "one share": (lambda v: v["class"].update(shares=[1]), "2 classes and 1 proportions"),
    "size": (
        lambda v: v["correlations"].pop(),
        "correlations have the shape (2, 2); there must be 3",
    ),
    "diagonal": (lambda v: v.update(correlations=[[1], [0, 2], [0, 0, 1]]), "1 on the diagonal"),
    "indefinite": (
        lambda v: v.update(correlations=[[1], [0.9, 1], [-0.9, 0.9, 1]]),
        "not positive definite",
    ),
    "row": (
        lambda v: v.update(correlations=[[1], [1], [0, 0, 1]]),
        "row 1 of the correlations has 1 entries",
    ),
    "text": (lambda v: v["margins"][0].update(quantiles="x"), "not fitted parameters in JSON"),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_json_is_refused_with_what_is_wrong(case: str, tmp_path: Path) -> None:
    spoil, words = MALFORMED[case]
    copula.write(tmp_path / "whole.json", by_hand())
    value = json.loads((tmp_path / "whole.json").read_text(encoding="utf-8"))
    spoil(value)
    (tmp_path / "spoilt.json").write_text(json.dumps(value), encoding="utf-8")
    with pytest.raises(DataError) as caught:
        copula.read(tmp_path / "spoilt.json")
    assert str(caught.value).startswith(f"{tmp_path / 'spoilt.json'}: ")
    assert words in str(caught.value)


def test_read_names_a_file_that_is_absent_or_no_json(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"absent\.json: No such file"):
        copula.read(tmp_path / "absent.json")
    (tmp_path / "half.json").write_text('{"margins": [')
    with pytest.raises(DataError, match=r"half\.json: not fitted"):
        copula.read(tmp_path / "half.json")
    (tmp_path / "list.json").write_text("[]")
    with pytest.raises(DataError, match=r"list\.json: not fitted parameters in JSON"):
        copula.read(tmp_path / "list.json")


def test_written_files_have_a_line_for_each_margin_and_row(tmp_path: Path) -> None:
    copula.write(tmp_path / "c.json", by_hand())
    lines = (tmp_path / "c.json").read_text(encoding="utf-8").splitlines()
    assert '{"name":"b","decimals":1,"quantiles":[10,20]}' in lines
    assert lines[-5:] == ["[1.0],", "[0.5,1.0],", "[0.0,0.0,1.0]", "]", "}"]


# ---- the data sets of the project ---------------------------------------------------------------


def committed(dataset: NumericDataset) -> Path:
    return REPOSITORY / "resources" / dataset.surrogate


@pytest.mark.parametrize("dataset", MANIFEST.values(), ids=MANIFEST)
def test_committed_surrogate_is_small_and_of_the_manifest(dataset: NumericDataset) -> None:
    model = copula.read(committed(dataset))
    assert model.provenance["sha256"] == dataset.sha256
    assert model.provenance["records"] == dataset.records
    assert committed(dataset).stat().st_size < 10_000
    assert all(len(margin.quantiles) <= 101 for margin in model.margins)
    drawn = draw_surrogate(dataset, committed(dataset), np.random.default_rng(0))
    assert isinstance(drawn, NumericMicrodata)
    assert (drawn.class_counts() > 0).all()
    for name, (lower, upper) in dataset.bounds.items():
        assert lower <= drawn.column(name).min() <= drawn.column(name).max() <= upper
    fewer = dataset.numeric_attributes[1:]
    other = dataset.model_copy(update={"numeric_attributes": fewer})
    with pytest.raises(DataError, match="categories or classes differ from the manifest"):
        draw_surrogate(other, committed(dataset), np.random.default_rng(0))


Published = tuple[NumericDataset, Path, NumericMicrodata]


def published_data(name: str) -> Published:
    folder = Path(os.environ.get("DENIABLE_DATA_MIRROR") or REPOSITORY.parent / "shared" / "data")
    dataset = MANIFEST[name]
    file = folder / dataset.file
    if not file.is_file():
        pytest.skip(f"NOT TESTED: the fit of the surrogate of {name}; {file} is absent")
    return dataset, file, read_published(dataset, file)


@pytest.fixture(scope="module", params=list(MANIFEST))
def published(request: pytest.FixtureRequest) -> Published:
    return published_data(request.param)


@pytest.mark.real_data
def test_fit_to_the_published_file_gives_the_committed_bytes(
    published: Published, tmp_path: Path
) -> None:
    dataset, file, data = published
    copula.write(tmp_path / "fitted.json", fit(data, sha256=sha256(file)))
    assert (tmp_path / "fitted.json").read_bytes() == committed(dataset).read_bytes()


@pytest.mark.real_data
@pytest.mark.parametrize("records", all_but_first([1, 10]))
def test_drawn_surrogate_is_near_the_published_file(published: Published, records: int) -> None:
    # The promise: margins within .03, rank correlations within .05, the class's among them; in a
    # sample of the file's own size, and in one of ten times that.
    dataset, _, data = published
    model = copula.read(committed(dataset))
    for seed in SEEDS if records == 1 else [0]:
        drawn = sample(model, records * len(data), np.random.default_rng(seed))
        distances, missed = margin_distances(data, drawn), rank_correlations(drawn)
        missed -= rank_correlations(data)
        assert len(distances) == len(missed) == len(data.names) + 1
        assert max(distances) < 0.03
        assert np.abs(missed).max() < 0.05
        assert drawn.values.std(axis=0) == pytest.approx(data.values.std(axis=0), rel=0.03)


@pytest.mark.real_data
def test_a_plain_sample_would_not_do() -> None:
    # Why records are drawn by quota: independent draws miss the bounds by a sample's noise alone.
    _, _, data = published_data("census")
    generator = np.random.default_rng(1)
    samples = [data.values[generator.integers(0, len(data), len(data))] for _ in range(20)]
    true = spearmanr(data.values).statistic
    missed = [np.abs(spearmanr(each).statistic - true).max() for each in samples]
    assert np.median(missed) > 0.05
