"""Invariant matrices that the data owner keeps back: nothing published gives them."""

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.release.small_releases import but_for_the_entry, ledger_in

from deniable.analysis import Released, compare_test_release
from deniable.channels import channel_to_json, conditional_covariance
from deniable.cli import main
from deniable.errors import DataError, DeniableError
from deniable.estimation import WeightedCounts, bounded_proportions
from deniable.files import read_json
from deniable.plans import (
    PlanInputs,
    plan_from_json,
    plan_to_json,
    randomize,
    read_plan,
    settings_from,
    write_plan,
)
from deniable.release import Ledger, protect, protect_test
from deniable.release.counting.entries import canonical
from deniable.schema import RecordsFile, schema_from_dict

CATEGORIES = {"sex": ["F", "M"], "town": ["a", "b", "c"]}
COLUMNS: list[dict[str, Any]] = [
    {"name": name, "kind": "categorical", "categories": own} for name, own in CATEGORIES.items()
]
ABOUT = {"format": "deniable-schema", "population": "people", "file": {"kind": "arrow"}}
SCHEMA = schema_from_dict(ABOUT | {"columns": COLUMNS})
WEIGHTED = schema_from_dict(ABOUT | {"columns": [*COLUMNS, {"name": "w", "kind": "weight"}]})
TINY = pd.DataFrame({"sex": list("FMFM"), "town": list("abca"), "w": [1.0, 2.5, 4.0, 0.5]})
MATRICES: list[dict[str, Any]] = [
    {"kind": "two_step", "epsilon": 1.5},
    {"kind": "two_step", "retention": 0.6},
    {"kind": "two_step", "beta": 4.0},
    {"kind": "designed", "epsilon": 1.5},
]
WAYS: list[dict[str, Any]] = [
    {"kind": "columns"},
    {"kind": "columns", "joint": [["sex", "town"]]},
    {"kind": "strata", "strata": ["sex"]},
]


def plan_of(frame: pd.DataFrame, matrix: Any = MATRICES[0], **options: Any) -> Any:
    schema = WEIGHTED if "weight" in matrix else SCHEMA
    data = RecordsFile.open(frame[[each.name for each in schema.columns]], schema)
    accept = ("chosen_by_data", *(["weights_released"] if "weight" in matrix else []))
    given = {"kind": "columns", "matrix": matrix | {"keep_back": True}} | options
    return settings_from(given).plan(PlanInputs(schema, data, accept=accept))


def tiny_files() -> list[pd.DataFrame]:
    """Return all files of four records, but for the order of the records."""
    cells = list(product(*CATEGORIES.values()))
    chosen = {tuple(sorted(each)) for each in product(cells, repeat=4)}
    return [pd.DataFrame(each, columns=["sex", "town"]) for each in sorted(chosen)]


@pytest.mark.parametrize(("way", "matrix"), [*zip(WAYS, MATRICES, strict=False)], ids=str)
def test_all_files_of_four_records_have_the_same_public_plan(
    matrix: Any, way: Any, tmp_path: Path
) -> None:
    files, published, matrices = tiny_files(), set[bytes](), set[str]()
    for number, frame in enumerate(files):
        plan = plan_of(frame, matrix, **way)
        published.add(canonical(plan_to_json(plan.published)))
        matrices.add(str([channel.matrix() for channel in plan.channels().values()]))
        if number == 0:
            write_plan(tmp_path / "plan.json", plan.published)
            again = plan_from_json(plan_to_json(plan))
            assert plan_to_json(again) == plan_to_json(plan)
            assert plan.audit()["holds"].all()
            read = read_plan(tmp_path / "plan.json")
            assert plan_to_json(read) == plan_to_json(plan.published)
            assert plan.epsilon <= read.epsilon == plan.target
    assert len(files) == 126
    assert len(matrices) > 10
    assert len(published) == 1
    (text,) = published
    assert b"channel" not in text.replace(b"channels", b"")


def test_designed_matrices_are_within_their_bounds() -> None:
    plan = plan_of(TINY, MATRICES[3])
    assert plan.audit()["holds"].all()
    assert plan.published.epsilon == plan.target == 3.0
    assert plan_to_json(plan.published) == plan_to_json(plan_of(TINY[1:], MATRICES[3]).published)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_estimates_are_unbiased_and_variances_within_the_bound(way: Any) -> None:
    plan, records = plan_of(TINY, **way), RecordsFile.open(TINY[["sex", "town"]], SCHEMA)
    table = plan.owner_tables(records.portions())["variance"]
    for stratum, protocol in plan.protocols.items():
        for block, channel in zip(protocol.clusters, protocol.channels, strict=True):
            label = " x ".join(block), " x ".join(stratum)
            own = table[(table["block"] == label[0]) & (table["stratum"] == label[1])]
            within = TINY[TINY["sex"] == stratum[0]] if stratum else TINY
            texts = within[list(block)].agg(" x ".join, axis=1)
            counts = texts.value_counts().reindex(own["value"], fill_value=0).to_numpy()
            P, n = channel.matrix(), int(counts.sum())
            original = np.repeat(np.arange(counts.size), counts)
            mean, second, errors = (np.zeros(counts.size) for _ in range(3))
            for drawn in product(range(counts.size), repeat=n):
                chance = np.prod(P[original, list(drawn)])
                found = np.bincount(drawn, minlength=counts.size)
                values, stated, *_ = bounded_proportions(found, np.eye(counts.size), "file", 0.95)
                mean, second = mean + chance * values, second + chance * values**2
                errors += chance * stated**2
            np.testing.assert_allclose(mean, counts / n, rtol=0, atol=1e-12)
            variance = np.diag(conditional_covariance(counts, channel))
            np.testing.assert_allclose(own["original"], counts / n, rtol=0, atol=1e-12)
            np.testing.assert_allclose(second - mean**2, variance, rtol=0, atol=1e-12)
            np.testing.assert_allclose(own["standard_error"] ** 2, variance, rtol=0, atol=1e-12)
            assert (errors >= variance - 1e-12).all()


def survey(records: int, generator: np.random.Generator) -> pd.DataFrame:
    town = generator.choice(3, records, p=[0.6, 0.37, 0.03])
    sex = np.array(list("FM"))[generator.integers(0, 2, records)]
    w = generator.gamma(4.0, 0.25, records) * (1 + town) + 0.1
    return pd.DataFrame({"sex": sex, "town": np.array(list("abc"))[town], "w": w})


@pytest.mark.parametrize(
    ("target", "weight"), [("file", None), ("population", None), ("file", "w"), ("population", "w")]
)
def test_intervals_by_the_bound_cover(target: Any, weight: str | None) -> None:
    """60 protections with three intervals at 95 %, by fixed seeds.

    If intervals cover at their level, fewer than 50 of 60 do so with probability 2e-4 (binomial).
    """
    generator = np.random.default_rng(7)
    frame, covered = survey(800, generator), []
    matrix = MATRICES[0] | ({"weight": weight} if weight else {})
    for _ in range(60):
        own = frame if target == "file" else survey(800, generator)
        plan = plan_of(own, matrix)
        columns = [each.name for each in plan.schema.columns]
        protected = randomize(own[columns], plan, generator)
        table = Released(protected, plan.published).margins("town", target=target, weight=weight)
        w = own["w"] if weight else pd.Series(1.0, own.index)
        truth = w.groupby(own["town"]).sum().to_numpy() / w.sum()
        if target == "population":  # with the mean weights of the towns
            mean = np.array([1.1, 2.1, 3.1]) ** (weight is not None)
            truth = np.array([0.6, 0.37, 0.03]) * mean / (np.array([0.6, 0.37, 0.03]) @ mean)
            assert (table["standard_error"] < 0.05).all()
        np.testing.assert_array_equal(table["estimate"], table["reported"])
        covered.append(((table["ci_low"] <= truth) & (truth <= table["ci_high"])).to_numpy())
        assert "bound (2.6)" in table["consistent_by"][0]
    assert (np.sum(covered, axis=0) >= 50).all()


def test_weighted_bounds_hold_for_all_files_and_with_equal_weights() -> None:
    """The stated sampling variance is at least the linearized one, for each original category."""
    generator, eye = np.random.default_rng(5), np.eye(3)
    for _ in range(200):
        x, w = generator.integers(0, 3, 12), generator.gamma(0.5, 2.0, 12)
        counts = replace(WeightedCounts.of_records(x, w, 3), largest=w.max())
        values, beyond, low, high = bounded_proportions(counts, eye, "population", 0.95)
        _, within, *_ = bounded_proportions(counts, eye, "file", 0.95)
        sampling = w**2 @ (eye[x] - values) ** 2 / w.sum() ** 2
        assert (beyond**2 - within**2 >= sampling - 1e-12).all()
        assert ((low <= values) & (values <= high) & (low < high)).all()  # of no records, too
    equal = replace(WeightedCounts.of_records(x, np.full(12, 2.0), 3), largest=2.0)
    values, errors, *_ = bounded_proportions(equal, eye, "population", 0.95)
    np.testing.assert_allclose(errors**2, 2 * values * (1 - values) / 12, rtol=1e-12)


def test_estimates_that_need_the_matrices_are_refused() -> None:
    frame = survey(300, np.random.default_rng(1))
    plan = plan_of(frame)
    released = Released(randomize(frame[["sex", "town"]], plan), plan.published)
    refused: list[Any] = [
        lambda: released.table(["sex", "town"]),
        lambda: released.pairs([["sex", "town"]]),
        released.pairs,
        lambda: released.query("sex=F,town=a"),
        lambda: released.independence(["sex", "town"]),
        lambda: released.supports([["sex"]]),
        released.adjusted_weights,
    ]
    for ask in refused:
        with pytest.raises(DeniableError, match=r"keeps.*back"):
            ask()
    assert released.query("town=a")["estimate"][0] == released.margins("town")["estimate"][0]
    joint = plan_of(frame, joint=[["sex", "town"]])
    pair = Released(randomize(frame[["sex", "town"]], joint), joint.published)
    assert len(pair.table(["sex", "town"])) == 6
    assert len(pair.pairs()) == 6
    with pytest.raises(DeniableError, match="keeps the matrices back"):
        pair.independence(["sex", "town"])
    within = plan_of(frame, kind="strata", strata=["sex"])
    strata = Released(randomize(frame[["sex", "town"]], within), within.published)
    table = strata.margins("town", by_stratum=True)
    assert table["stratum"].tolist() == [""] * 3 + ["F"] * 3 + ["M"] * 3
    weighted = plan_of(frame, MATRICES[0] | {"weight": "w"})
    own = Released(randomize(frame, weighted), weighted.published)
    with pytest.raises(DeniableError, match="give --weight w, in Python weight='w'"):
        own.margins("town")
    with pytest.raises(DeniableError, match="keeps back"):
        randomize(frame[["sex", "town"]], plan.published)


def test_releases_are_published_verified_and_continued(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = survey(200, np.random.default_rng(2))[["sex", "town"]]
    plan, ledger = plan_of(frame), ledger_in(tmp_path / "ledger")
    given = (frame, plan, tmp_path / "small")
    protect(*given, ledger=ledger)
    public, private = tmp_path / "small/public", tmp_path / "small/private"
    before = {file.name: file.read_bytes() for file in public.iterdir()}
    for channel in plan.protocols[()].channels:
        entries = str(channel_to_json(channel))
        assert all(entries.encode() not in content for content in before.values())
    exact = repr(plan.epsilon).encode()
    assert all(exact not in content for content in before.values())
    assert "channel" not in str(read_json(public / "plan.json")["kept_back"])
    assert plan_to_json(read_plan(private / "plan.json")) == plan_to_json(plan)
    assert (private / "plan.json").stat().st_mode & 0o077 == 0
    table = pd.read_csv(private / "variance.csv")
    assert table["block"].tolist() == ["sex"] * 2 + ["town"] * 3
    protect(*given, ledger=ledger)  # verifies
    assert before == {file.name: file.read_bytes() for file in public.iterdir()}
    assert len(Ledger(ledger).entries("people")) == 1
    assert main(["plan", "--verify", str(private / "plan.json")]) == 0
    capsys.readouterr()
    assert main(["plan", "--verify", str(public / "plan.json")]) != 0
    shown = capsys.readouterr()
    assert "unknown" in shown.out
    assert "the bounds of sex, town cannot be verified" in shown.err
    assert main(["estimate", str(public)]) == 0
    assert "bound (2.6)" in capsys.readouterr().out
    other = plan_of(frame.iloc[::-1])
    assert plan_to_json(other) == plan_to_json(plan)  # of the same frequencies
    changed = plan_of(frame.assign(town="a"))
    with pytest.raises(DeniableError, match="published by another plan"):
        protect(frame, changed, tmp_path / "small", ledger=ledger)
    again = plan_to_json(plan)
    again["columns"]["keep_back"] = [0.1, 1.5]
    with pytest.raises(DataError, match="above its bound"):
        plan_from_json(again)


class Killed(BaseException):
    """Stands for the end of the process."""


@pytest.mark.parametrize("step", ["store_entry", "store_journal", "_finish", "write_once"])
def test_a_release_continues_after_a_kill(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: Any, **__: Any) -> None:
        raise Killed

    frame = survey(200, np.random.default_rng(2))[["sex", "town"]]
    plan, ledger = plan_of(frame), ledger_in(tmp_path / "ledger")
    given = (frame, plan, tmp_path / "small")
    with monkeypatch.context() as patched:
        patched.setattr(f"deniable.release.making.{step}", killed)
        with pytest.raises(Killed):
            protect(*given, ledger=ledger)
    private, public = tmp_path / "small/private", tmp_path / "small/public"
    drawn = but_for_the_entry(public) if public.exists() else None
    protect(*given, ledger=ledger)
    assert drawn in (None, but_for_the_entry(public))
    assert plan_to_json(read_plan(private / "plan.json")) == plan_to_json(plan)
    assert (private / "variance.csv").exists()
    assert (private / "receipt.json").exists()
    assert len(Ledger(ledger).entries("people")) == 1


@pytest.mark.parametrize("weight", [None, "w"])
def test_a_test_release_is_compared_by_the_owner(weight: str | None, tmp_path: Path) -> None:
    # 1,500 records, because normal intervals of the rare category cover less with few.
    frame = survey(1500, np.random.default_rng(3))[["sex", "town", *([weight] if weight else [])]]
    plan = plan_of(frame, MATRICES[0] | ({"weight": weight} if weight else {}))
    protect_test(frame, plan, tmp_path / "small", 5, to="test")
    table = compare_test_release(tmp_path / "small/test", frame, 5)
    covered = table[table["check"] == "coverage"]
    assert len(covered) == 5
    assert (covered["reported_coverage"] > 0.9).all()
    assert covered["covered"].sum() >= 4
    w = frame[weight] if weight else pd.Series(1.0, frame.index)
    truth = w.groupby(frame["town"]).sum() / w.sum()
    np.testing.assert_allclose(covered["original"].iloc[2:], truth, rtol=0, atol=1e-12)
    distances = table[table["check"] == "distance"].set_index("columns")
    own = covered["estimate"].iloc[2:] - covered["original"].iloc[2:]
    assert distances.loc["town", "protected"] == pytest.approx(own.abs().sum() / 2)
    assert read_plan(tmp_path / "small/test/plan.json").kind == "kept_back"


def test_a_file_with_a_grid_and_a_column_left_out_is_estimated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    grid = {"name": "age", "kind": "numeric", "type": "int64", "bounds": [20, 80], "step": 20}
    schema = schema_from_dict(
        ABOUT | {"columns": [COLUMNS[0], grid, {"name": "id", "kind": "left_out"}]}
    )
    generator = np.random.default_rng(4)
    ages = generator.choice([20, 40, 60, 80], 400)
    frame = pd.DataFrame({"sex": "F", "age": ages, "id": range(400)})
    data = RecordsFile.open(frame, schema)
    matrix = {"kind": "two_step", "epsilon": 3.0, "keep_back": True}
    settings = settings_from({"kind": "columns", "columns": ["sex", "age"], "matrix": matrix})
    plan = settings.plan(PlanInputs(schema, data, accept=("chosen_by_data",)))
    protect_test(frame, plan, tmp_path / "small", 5, to="test")
    public = str(tmp_path / "small/test")
    assert main(["estimate", public]) == 0
    assert "numbers" not in capsys.readouterr().out
    assert main(["estimate", public, "--numbers"]) == 2
    assert "keeps the matrices back" in capsys.readouterr().err
    found = Released(public).query("age>=50", target="file")
    assert found["ci_low"][0] <= (ages >= 50).mean() <= found["ci_high"][0]


def test_impossible_requests_are_refused() -> None:
    with pytest.raises(DeniableError, match="keep_back with invariant: false"):
        plan_of(TINY, {"kind": "designed", "epsilon": 1.0, "invariant": False})
    with pytest.raises(DeniableError, match="keep_back"):
        plan_of(TINY, {"kind": "epsilon", "epsilon": 1.0})
