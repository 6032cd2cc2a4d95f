"""A file of one's own, protected by a plan: what is made, once, and what its owner learns."""

import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniable.analysis import Released
from deniable.channels import KeepOrReplace, SquareWave, SubsetSelection
from deniable.cli import main
from deniable.errors import DeniableError
from deniable.files import read_json
from deniable.plans import ColumnsPlan, make_plan, read_plan, write_plan
from deniable.randomized_response import Protocol
from deniable.release import Ledger, epsilon_text, protect
from deniable.release.counting.entries import head_file
from deniable.release.counting.ledger import LEDGER_VARIABLE
from deniable.release.risk import likeliest_cells
from deniable.schema import schema_from_dict

NUMBER = 3000


COLUMNS = [
    {"name": "sex", "kind": "categorical", "categories": ["F", "M"]},
    {"name": "person", "kind": "identifier"},
    {"name": "region", "kind": "categorical", "categories": ["e", "n", "s", "w", "c"]},
    {"name": "age", "kind": "numeric", "bounds": [0, 40], "step": 2, "type": "int64"},
    {"name": "weight", "kind": "weight", "type": "double"},
]


@pytest.fixture(autouse=True)
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ledger:
    """Return the ledger that is named for all releases of a test."""
    monkeypatch.setenv(LEDGER_VARIABLE, str(tmp_path / "ledger"))
    return Ledger.init(tmp_path / "ledger")


def file_of(folder: Path, seed: int = 1) -> Path:
    generator = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "sex": generator.choice(["F", "M"], NUMBER),
            "person": np.arange(NUMBER),
            "region": generator.choice(["e", "n", "s", "w", "c"], NUMBER),
            "age": generator.integers(0, 41, NUMBER),
            "weight": generator.uniform(1, 2, NUMBER),
        }
    )
    table.to_parquet(folder / f"people{seed}.parquet")
    return folder / f"people{seed}.parquet"


def plan_of(
    order: Any = "permuted", accept: tuple[str, ...] = (), population: str | None = "people"
) -> ColumnsPlan:
    schema = schema_from_dict(
        {"format": "deniable-schema", "version": 1, "population": population}
        | {"file": {"kind": "parquet"}, "columns": COLUMNS}
    )
    channels = (
        KeepOrReplace.of_epsilon(2, 1.0),
        SubsetSelection.of_epsilon(5, 0.5),
        SquareWave.of_epsilon(21, 1.0),
    )
    protocol = Protocol(schema.domain(), (("sex",), ("region",), ("age",)), channels)
    return ColumnsPlan(schema, 2.6, protocol, ("", "", ""), order=order, accept=accept)


@pytest.mark.parametrize("order", ["permuted", "as_in_file"])
def test_progress_knows_how_much_is_left(order: str, tmp_path: Path) -> None:
    told = []
    protect(
        file_of(tmp_path),
        plan_of(order),
        tmp_path / "made",
        progress=lambda *told_now: told.append(told_now),
    )
    assert {of for _, _, of in told} == {NUMBER}
    ends = {what: done for what, done, _ in told}
    steps = ["reading", "randomizing"] + ["writing in random order"] * (order == "permuted")
    assert ends == dict.fromkeys(steps, NUMBER)


def test_types_and_order_of_columns_are_those_of_the_file(tmp_path: Path) -> None:
    protect(file_of(tmp_path), plan_of(accept=("weights_released",)), tmp_path / "made")
    table = pq.read_table(tmp_path / "made" / "public" / "protected.parquet")
    assert table.column_names == ["sex", "region", "age", "weight"]  # no identifier
    assert [str(table.schema.field(name).type) for name in ("sex", "age", "weight")] == [
        *("string", "int64", "double")
    ]
    ages = table["age"].to_numpy()
    assert set(ages % 2) == {
        0
    }  # points of the grid, and as many beyond its ends as the wave is wide
    assert ages.min() < 0
    assert ages.max() > 40
    assert sorted(table["weight"].to_numpy()) == sorted(
        pq.read_table(tmp_path / "people1.parquet")["weight"].to_numpy()
    )


def test_records_are_permuted_with_what_goes_out_as_it_is(tmp_path: Path) -> None:
    file, accept = file_of(tmp_path), ("weights_released",)
    for order, population in (("as_in_file", "people"), ("permuted", "others")):
        plan = plan_of(order, accept, population)
        with warnings.catch_warnings():  # of the records under another population
            warnings.simplefilter("ignore", UserWarning)
            protect(file, plan, tmp_path / order)
    true = pq.read_table(file)["weight"].to_numpy()
    for name, alike in (("as_in_file", True), ("permuted", False)):
        made = pq.read_table(tmp_path / name / "public" / "protected.parquet").to_pandas()
        assert bool((made["weight"].to_numpy() == true).all()) == alike
        # P[u, u] of sex is .731: 2,193 of 3,000 expected, standard deviation 24.3; 6 of them.
        true_sex = pd.read_parquet(file).set_index("weight")["sex"].loc[made["weight"]]
        assert abs((made["sex"].to_numpy() == true_sex.to_numpy()).sum() - 2193) < 146


def test_what_is_given_again_is_not_drawn_again(tmp_path: Path) -> None:
    file = file_of(tmp_path)
    protect(file, plan_of(), tmp_path / "made")
    before = (tmp_path / "made" / "public" / "protected.parquet").read_bytes()
    protect(file, plan_of(), tmp_path / "made")
    assert (tmp_path / "made" / "public" / "protected.parquet").read_bytes() == before
    assert not (tmp_path / "made" / "private" / "key").exists()
    with pytest.raises(DeniableError, match="published from other records"):
        protect(file_of(tmp_path, seed=2), plan_of(), tmp_path / "made")


def test_a_published_release_whose_ledger_is_lost_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the function and by the command; neither makes another ledger."""
    file = file_of(tmp_path)
    protect(file, plan_of(), tmp_path / "made")
    (tmp_path / "ledger").rename(tmp_path / "copy")
    with pytest.raises(DeniableError, match=r"not a ledger.*restore it from a copy"):
        protect(file, plan_of(), tmp_path / "made")
    write_plan(tmp_path / "plan.json", plan_of())
    command = ["protect", str(file), str(tmp_path / "plan.json"), "--out", str(tmp_path / "made")]
    assert main(command) == 2
    assert f"{tmp_path / 'ledger'}: not a ledger" in capsys.readouterr().err
    assert not (tmp_path / "ledger").exists()
    (tmp_path / "copy").rename(tmp_path / "ledger")
    assert main(command) == 0


def other_key(ledger: Ledger) -> None:
    (ledger.folder / "key").write_bytes(bytes(32))


def new_ledger(ledger: Ledger) -> None:
    shutil.rmtree(ledger.folder)
    Ledger.init(ledger.folder)


def no_population(ledger: Ledger) -> None:
    shutil.rmtree(ledger.folder / "populations" / "people")
    (ledger.folder / "heads" / "people.json").unlink()


def older_copy(ledger: Ledger) -> None:
    """Put the ledger back to the one before the last release, head included."""
    folder = ledger.folder / "populations" / "people"
    (folder / "000001.json").unlink()
    head_file(folder).unlink()


@pytest.mark.parametrize("change", [other_key, new_ledger, no_population, older_copy])
@pytest.mark.parametrize("name", ["made", "second"], ids=["this release", "another beside it"])
def test_a_ledger_that_lacks_the_entry_of_a_release_is_refused(
    tmp_path: Path, ledger: Ledger, change: Any, name: str
) -> None:
    """Also for a new release: else its total would leave out the one beside it."""
    file = file_of(tmp_path)
    protect(file, plan_of(), tmp_path / "made")
    change(ledger)
    before = sorted(tmp_path.rglob("*"))
    said = r"made: release 'made' of population 'people'.*restore the ledger from a copy, or name"
    with pytest.raises(DeniableError, match=said):
        protect(file, plan_of(), tmp_path / name)
    after = {*tmp_path.rglob("*")} - {*tmp_path.glob("*/log.jsonl")}  # of refusals, in a ledger
    assert sorted(after) == before


def test_two_folders_share_the_ledger_that_is_named(tmp_path: Path, ledger: Ledger) -> None:
    file = file_of(tmp_path)
    protect(file, plan_of(), tmp_path / "A" / "first")
    with pytest.raises(DeniableError, match=r"total epsilon is 2\.5 and would be 5") as refused:
        protect(file, plan_of(), tmp_path / "B" / "second")
    words = str(refused.value).rpartition("give the consent ")[2].strip("'")
    assert not (tmp_path / "B").exists()
    protect(file, plan_of(), tmp_path / "B" / "second", consent=words)
    block = read_json(tmp_path / "B/second/public/plan.json")["release"]["ledger"]
    private = read_json(tmp_path / "B/second/private/entry.json")
    assert (block["entry"], block["total"]) == (2, epsilon_text(ledger.total("people")))
    assert {name: private[name] for name in block} == block
    assert private["ledger"] == ledger.digest
    text = " ".join((tmp_path / "B/second/public/README.txt").read_text().split())
    assert (
        "release 2 of the population people. The total epsilon of its releases so far is " in text
    )


def test_a_production_release_needs_a_ledger_and_a_population(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is read before: there is no such file."""
    given = tmp_path / "gone.parquet", plan_of(population=None), tmp_path / "made"
    with pytest.raises(DeniableError, match=r"no population is stated.*--population NAME"):
        protect(*given)
    with pytest.raises(DeniableError, match="the population 'a/b'; allowed: a name"):
        protect(*given, population="a/b")
    with pytest.raises(DeniableError, match="population 'b', but the schema states 'people'"):
        protect(given[0], plan_of(), given[2], population="b")
    monkeypatch.delenv(LEDGER_VARIABLE)
    with pytest.raises(DeniableError, match=r"no ledger is named.*deniable ledger init FOLDER"):
        protect(*given, population="people")
    assert {each.name for each in tmp_path.iterdir()} == {"ledger"}


def test_a_population_that_is_stated_for_the_release_is_that_of_its_plan(tmp_path: Path) -> None:
    write_plan(tmp_path / "plan.json", plan_of(population=None))
    file, plan, made = (str(tmp_path / n) for n in ("people1.parquet", "plan.json", "made"))
    file_of(tmp_path)
    assert main(["protect", file, plan, "--out", made, "--population", "people"]) == 0
    assert read_plan(tmp_path / "made" / "public" / "plan.json").schema.population == "people"


def test_a_second_release_of_the_same_people_needs_consent(tmp_path: Path) -> None:
    file = file_of(tmp_path)
    protect(file, plan_of(), tmp_path / "first")
    with pytest.raises(DeniableError, match="release 2 of people named second, total epsilon"):
        protect(file, plan_of(), tmp_path / "second")
    assert not (tmp_path / "second").exists()
    assert float(Ledger(tmp_path / "ledger").total("people")) == pytest.approx(2.5, abs=1e-6)


def test_the_same_records_are_seen_to_be_so_in_another_format(
    tmp_path: Path, ledger: Ledger
) -> None:
    file = file_of(tmp_path)
    protect(file, plan_of(), tmp_path / "first")
    other = schema_from_dict(plan_of().schema.to_json() | {"population": "others"})
    plan = ColumnsPlan(other, 2.6, plan_of().protocol, ("", "", ""))
    with pytest.warns(UserWarning, match="about 100 % of the identifiers were in release 'first'"):
        protect(pq.read_table(file), plan, tmp_path / "second")
    assert ledger.populations() == ("others", "people")


def test_a_fault_of_the_file_leaves_nothing(tmp_path: Path) -> None:
    table = pd.read_parquet(file_of(tmp_path))
    table.loc[17, "sex"] = "X"
    table.to_parquet(tmp_path / "bad.parquet")
    with pytest.raises(DeniableError, match=r"(?s)bad\.parquet.*sex.*'X'"):
        protect(tmp_path / "bad.parquet", plan_of(), tmp_path / "made")
    assert {each.name for each in tmp_path.iterdir()} == {
        "bad.parquet",
        "people1.parquet",
        "ledger",
    }


def test_the_owner_learns_what_the_file_leaves_of_the_risk(tmp_path: Path) -> None:
    file = file_of(tmp_path)
    protect(file, plan_of(), tmp_path / "made", quasi_identifiers=["sex"])
    risk = pd.read_csv(tmp_path / "made" / "private" / "risk.csv").set_index(["about", "measure"])
    shares = pd.read_parquet(file)["sex"].value_counts(normalize=True)
    kept = np.e / (1 + np.e)
    # By hand: a match by sex is right with P[u, u] over the expected number of reports u.
    reports = NUMBER * (shares * kept + (1 - shares) * (1 - kept))
    largest = risk.loc[("sex", "largest probability that a match is right")]
    assert largest["after"] == pytest.approx((kept / reports).max(), rel=1e-6)
    assert largest["before"] == pytest.approx(1 / (NUMBER * shares.min()), rel=1e-6)
    expected = risk.loc[("sex", "expected probability that a match is right")]
    assert expected["after"] == pytest.approx(2 * kept / NUMBER, rel=1e-6)
    posterior = risk.loc[("sex", "largest posterior probability of 'F'")]["after"]
    f = shares["F"]
    assert posterior == pytest.approx(f * kept / (f * kept + (1 - f) * (1 - kept)), rel=1e-6)
    public = [each.read_bytes() for each in (tmp_path / "made" / "public").iterdir()]
    assert not any(b"posterior probability" in each for each in public)


def test_keys_that_are_reported_otherwise_are_taken_for_what_they_likely_are(
    tmp_path: Path,
) -> None:
    file = file_of(tmp_path)
    protect(file, plan_of(), tmp_path / "made", quasi_identifiers=["region", "sex"])
    risk = pd.read_csv(tmp_path / "made" / "private" / "risk.csv").set_index(["about", "measure"])
    expected = risk.loc[("region x sex", "expected probability that a match is right")]
    table = pd.read_parquet(file)
    cells = table.groupby(["region", "sex"]).size()
    # By hand: a set of two categories is taken for the first of them, any category for itself.
    plan = plan_of()
    sets = SubsetSelection.of_epsilon(5, 0.5)
    matrix, likeliest = sets.matrix(), sets.matrix().argmax(axis=0)
    regions = np.array([matrix[:, likeliest == u].sum(axis=1) for u in range(5)]).T
    kept = np.kron(np.diag(regions), np.diag(plan.protocol.channel_of(("sex",)).matrix()))
    assert sets.reports > 5
    assert len(cells) == 10
    assert expected["after"] == pytest.approx(kept.sum() / NUMBER, rel=1e-6)
    assert expected["before"] == pytest.approx(10 / NUMBER, rel=1e-6)
    assert not risk.loc["region x sex"].isna().any().any()


def test_the_owner_is_told_how_many_values_go_out_as_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = pd.read_parquet(file_of(tmp_path)).assign(weight=1.5)
    table.loc[:11, "weight"] = [*(np.arange(10) + 2.0), 99.0, 99.0]
    table.to_parquet(tmp_path / "people1.parquet")
    accepted = ("weights_released", "identifiers_released")
    write_plan(tmp_path / "plan.json", plan_of(accept=accepted))
    names = ("people1.parquet", "plan.json", "made")
    file, plan, made = (str(tmp_path / name) for name in names)
    assert main(["protect", file, plan, "--out", made]) == 0
    said = capsys.readouterr().out
    assert "column weight: different values that are released as is: 12\n" in said
    assert "column weight: of them, values of one record alone: 10\n" in said
    assert f"column person: of them, values of one record alone: {NUMBER}\n" in said


def test_values_that_are_reported_as_they_are_are_counted(tmp_path: Path) -> None:
    file = file_of(tmp_path)
    protect(file, plan_of(order="as_in_file"), tmp_path / "made")
    exact = pd.read_csv(tmp_path / "made" / "private" / "exact_cells.csv").set_index("attribute")
    made = pd.read_parquet(tmp_path / "made" / "public" / "protected.parquet")
    same = int((made["sex"].astype(str) == pd.read_parquet(file)["sex"]).sum())
    assert exact.loc["sex", "exact"] == same > NUMBER / 2
    assert exact.loc["sex", "share"] == pytest.approx(same / NUMBER, rel=1e-8)


def test_a_report_is_taken_for_the_middle_of_what_gives_it_most_often() -> None:
    wave = SquareWave(9, 2, 0.9)
    # Reports run from two cells below the grid to two above; at its ends fewer cells give them.
    assert likeliest_cells(wave).tolist() == [0, 0, 1, 1, 2, 3, 4, 5, 6, 6, 7, 7, 8]
    sets = SubsetSelection(4, 2, 0.7)
    assert likeliest_cells(sets).tolist() == sets.matrix().argmax(axis=0).tolist()
    assert likeliest_cells(KeepOrReplace.uniform(3, 0.5)).tolist() == [0, 1, 2]


def test_records_that_few_are_like_are_counted_by_hand(tmp_path: Path) -> None:
    table = pd.read_parquet(file_of(tmp_path))
    table["region"] = table["region"].replace("c", "e")
    alike = [("F", 1), ("M", 2)]
    for place, (sex, times) in enumerate(alike):
        table.loc[10 * place : 10 * place + times - 1, ["region", "sex"]] = ["c", sex]
    table.to_parquet(tmp_path / "people1.parquet")
    file = tmp_path / "people1.parquet"
    protect(file, plan_of(), tmp_path / "made", quasi_identifiers=["region", "sex"])
    risk = pd.read_csv(tmp_path / "made" / "private" / "risk.csv").set_index("measure")["before"]
    assert risk["records that share their quasi-identifiers with no other"] == 1
    assert risk["records that share their quasi-identifiers with at most one other"] == 3
    assert risk["records that share their quasi-identifiers with at most 3 others"] == 3


def test_zones_that_parquet_itself_does_not_know_are_kept(tmp_path: Path) -> None:
    zone = pa.timestamp("ms", "Europe/Berlin")
    hours = pa.array([0, 3_600_000]).cast(pa.timestamp("ms", "UTC")).cast(zone)
    sexes = pa.array(["F", "M"] * 50).dictionary_encode()
    table = pa.table({"at": hours.take(pa.array([0, 1] * 50)), "sex": sexes})
    pq.write_table(table, tmp_path / "times.parquet")
    at: dict[str, Any] = {"name": "at", "kind": "categorical", "type": str(zone)}
    at["categories"] = hours.cast(pa.string()).to_pylist()
    schema = schema_from_dict(
        {"format": "deniable-schema", "version": 1, "population": "people"}
        | {"file": {"kind": "parquet"}, "columns": [at, COLUMNS[0]]}
    )
    protect(tmp_path / "times.parquet", make_plan(schema, 2.0), tmp_path / "made")
    protected = pq.read_table(tmp_path / "made" / "public" / "protected.parquet")
    assert protected.schema.types == [zone, pa.string()]
    assert set(protected["at"].to_pylist()) == set(table["at"].to_pylist())
    assert len(Released(tmp_path / "made" / "public").margins("at")) == 2
