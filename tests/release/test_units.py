"""Units with several records: their epsilon, limits, releases and ledger entries."""

import json
import math
import re
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import stats
from tests.plans.patterns import COLUMNS, records, schema

from deniable.cli import main
from deniable.errors import DeniableError
from deniable.files import read_json
from deniable.plans import (
    MaskedPlan,
    PlanInputs,
    StrataPlan,
    compare,
    make_plan,
    plan_from_json,
    plan_to_json,
    randomize,
    randomized,
    settings_from,
)
from deniable.privacy import Requirement
from deniable.release import Ledger, protect, protect_test
from deniable.sampling import KeyedDraws
from deniable.schema import RecordsFile

THREE = {"records_per_unit": 3}
DRAWS = KeyedDraws(bytes(32), b"")


def with_units(form: str = "arrow", **options: Any) -> Any:
    return schema(form=form, unit=THREE | options)


def homes(number: int = 600, seed: int = 1) -> pa.Table:
    return pa.Table.from_pandas(records(number, seed), preserve_index=False)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 6.0, 7.7])
@pytest.mark.parametrize("most", [1, 2, 3, 7])
def test_the_epsilon_of_a_unit_is_the_sum_over_its_records(epsilon: float, most: int) -> None:
    plan = make_plan(with_units(records_per_unit=most), epsilon)
    unit, record = plan.guarantees
    assert record.epsilon == plan.epsilon <= Fraction(epsilon) / most
    assert Fraction(unit.epsilon) >= Fraction(plan.epsilon) * most
    assert math.nextafter(unit.epsilon, 0) < Fraction(plan.epsilon) * most
    assert epsilon * (1 - 1e-9) < unit.epsilon <= epsilon
    assert unit.unit == f"all records of one home, at most {most}"
    assert plan.schema.records_per_unit == most
    audit = plan.audit().set_index("unit")
    assert audit["holds"].all()
    assert audit.loc["unit", "exact_epsilon"] == unit.epsilon


def test_two_records_by_enumeration() -> None:
    made = schema(
        columns=[{"name": "home", "kind": "unit", "records_per_unit": 2}, *COLUMNS[1:2]],
        impossible=[],
        form="arrow",
    )
    plan = make_plan(made, 2.0)
    (channel,) = plan.protocol.channels
    P = channel.matrix()
    # All pairs of a unit's original values (u1, u2), (w1, w2), and of its randomized ones.
    ratio = max(
        P[u1, v1] * P[u2, v2] / (P[w1, v1] * P[w2, v2])
        for u1, u2, w1, w2 in product(range(2), repeat=4)
        for v1, v2 in product(range(channel.reports), repeat=2)
    )
    assert plan.guarantees[0].epsilon == pytest.approx(np.log(ratio), rel=1e-12)
    assert plan.guarantees[0].epsilon == pytest.approx(2.0, rel=1e-12)


def test_documents_state_the_unit_first() -> None:
    plan = make_plan(with_units(), 6.0)
    document = json.loads(json.dumps(plan_to_json(plan)))
    assert document["unit"] == "all records of one home, at most 3"
    assert document["epsilon"]["unit"] == plan.guarantees[0].epsilon
    assert [each["epsilon"] for each in document["guarantees"]] == pytest.approx([6.0, 2.0])
    assert plan_to_json(plan_from_json(document)) == document
    forged = json.loads(json.dumps(document))
    forged["schema"]["columns"][0]["records_per_unit"] = 2
    with pytest.raises(DeniableError, match="unit"):
        plan_from_json(forged)
    assert "unit" not in plan_to_json(make_plan(schema(), 6.0))["epsilon"]


def test_strata_configs_and_the_comparison_divide_epsilon() -> None:
    own = with_units()
    plain = own.model_copy(update={"impossible": []}).only(["age", "sex"])
    strata = StrataPlan.from_schema(plain, ["sex"], 6.0)
    assert strata.epsilon == pytest.approx(2.0)
    assert strata.guarantees[0].unit == (
        "all records of one home, at most 3, that stay in their strata of sex"
    )
    kept = StrataPlan.from_schema(plain, ["sex"], retention=1)
    assert kept.guarantees[0].epsilon == math.inf
    assert kept.audit().set_index("unit").loc["unit", "exact_epsilon"] == math.inf
    each = StrataPlan.from_schema(plain, ["sex"], {("f",): 6.0, ("m",): 3.0})
    assert [p.epsilon for p in each.protocols.values()] == pytest.approx([2.0, 1.0])
    made = settings_from({"kind": "columns", "epsilon": 6}).plan(PlanInputs(own))
    assert made.guarantees[0].epsilon == pytest.approx(6.0)
    table = compare(homes(), own, [6.0]).table
    assert table["exact_epsilon"].max() == pytest.approx(6.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda s: make_plan(s, Requirement(2.0)), "allows no part, beta or breach"),
        (
            lambda s: MaskedPlan.from_schema(s, "noise", 1.0),
            "'home' is a unit with several records",
        ),
        (
            lambda s: plan_from_json(
                plan_to_json(make_plan(s, 3.0)) | {"part": {"of": 2, "take": 1, "seed": "x"}}
            ),
            "allows no part, beta or breach",
        ),
        (
            lambda s: randomized(
                homes().to_batches()[0],
                np.arange(600),
                make_plan(s, 3.0),
                KeyedDraws(bytes(32), b""),
            ),
            "a unit with several records may be in other batches",
        ),
    ],
)
def test_what_divides_or_ignores_units_is_refused(make: Any, message: str) -> None:
    with pytest.raises(DeniableError, match=message):
        make(with_units())


BAD: dict[str, tuple[list[dict[str, Any]], str]] = {
    "no number": ([{"name": "u", "kind": "unit"}], "allowed for unit: records_per_unit, a whole"),
    "no records": ([{"name": "u", "kind": "unit", "records_per_unit": 0}], "records_per_unit: 0"),
    "half": ([{"name": "u", "kind": "unit", "records_per_unit": 2.5}], "a whole number"),
    "two": ([{"name": n, "kind": "unit"} | THREE for n in "uv"], "columns u, v are units"),
    "other kind": ([COLUMNS[1] | THREE], "records_per_unit or excess of 'sex'; allowed for"),
    "excess": ([{"name": "u", "kind": "unit", "excess": "drop"} | THREE], "excess: 'drop'"),
    "categories": ([{"name": "u", "kind": "unit", "categories": ["x"]} | THREE], "categories of"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_units_get_one_message(name: str) -> None:
    columns, text = BAD[name]
    with pytest.raises(DeniableError) as error:
        schema(columns=[*columns, COLUMNS[0]], impossible=[])
    assert text in str(error.value)
    assert str(error.value).count("allowed") <= 1


def test_units_with_too_many_records_are_refused() -> None:
    table = homes()
    with pytest.raises(DeniableError, match=r"unit 'h\d+' has 3 records, over records_per_unit 2"):
        RecordsFile.open(table, with_units(records_per_unit=2)).check()
    RecordsFile.open(table, with_units(records_per_unit=2, excess="limit")).check()
    empty = records()
    empty.loc[[4, 6], "home"] = ""
    with pytest.raises(DeniableError, match=r"record 5, column 'home' has no value.*\(2 records"):
        RecordsFile.open(pa.Table.from_pandas(empty), with_units()).check()
    numbers = table.set_column(0, "home", pa.array(np.arange(600) // 3))
    RecordsFile.open(numbers, with_units()).check()
    floats = table.set_column(0, "home", pa.array(np.arange(600) / 2))
    with pytest.raises(DeniableError, match="has double, which does not name units"):
        RecordsFile.open(floats, with_units()).check()


def kept(frame: pd.DataFrame, draws: KeyedDraws, most: int = 1) -> list[int]:
    """Return the numbers of the records that are kept, of a file that shows them."""
    columns = [
        {"name": "home", "kind": "unit", "records_per_unit": most, "excess": "limit"},
        {"name": "number", "kind": "identifier"},
        COLUMNS[1],
    ]
    made = schema(columns=columns, impossible=[], form="arrow")
    plan = make_plan(made, 2.0, accept=["identifiers_released"])
    out = randomize(pa.Table.from_pandas(frame[["home", "number", "sex"]]), plan, draws)
    assert list(out) == ["number", "sex"]
    return [int(each) for each in out["number"]]


def test_the_kept_records_are_random_and_do_not_depend_on_values() -> None:
    frame = records(900).assign(number=[str(each) for each in range(900)])
    frame = frame.assign(home=[f"h{each % 300}" for each in range(900)])
    draws = KeyedDraws(bytes(32), b"one")
    first = kept(frame, draws)
    assert sorted(each % 300 for each in first) == list(range(300))
    other = frame.assign(sex=np.where(frame["sex"] == "f", "m", "f"))
    assert kept(other, draws) == first
    assert kept(frame, KeyedDraws(bytes(32), b"two")) != first
    # Each of three records is kept in a third of all homes.
    counts = np.bincount([each // 300 for each in first], minlength=3)
    assert stats.chisquare(counts).pvalue > 1e-4
    assert len(kept(frame, draws, most=2)) == 600
    assert len(kept(frame, draws, most=3)) == 900
    # Names of homes do not decide either: only which records share one.
    renamed = frame.assign(home=[f"x{(each * 7) % 300}" for each in range(900)])
    assert kept(renamed, draws) == first
    assert len(kept(frame, np.random.default_rng(1))) == 300  # type: ignore[arg-type]


def test_a_release_counts_the_epsilon_of_the_unit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, form, plan = tmp_path / "people.csv", tmp_path / "schema.yaml", tmp_path / "plan.json"
    records().to_csv(file, index=False)
    made = schema(unit=THREE, file={"kind": "csv", "delimiter": ","})
    form.write_text(json.dumps(made.to_json()))
    ledger, out = tmp_path / "ledger", tmp_path / "release"
    for command in (
        ["plan", form, "--epsilon", "6", "--out", plan],
        ["plan", "--verify", plan],
        ["ledger", "init", ledger],
        ["protect", file, plan, "--out", out, "--ledger", ledger],
        ["verify", out / "public"],
    ):
        assert main([*map(str, command)]) == 0, command
    printed = capsys.readouterr().out
    assert "total epsilon 6, of which this release has 6" in printed
    assert "epsilon of all records of one home, at most 3: 6, exact" in printed
    assert "epsilon of one whole record of a respondent: 2" in printed
    assert "left out: home" in printed
    assert float(Ledger(ledger).total("people")) == pytest.approx(6.0)
    text = " ".join((out / "public" / "README.txt").read_text().split())
    assert "Epsilon of all records of one home, at most 3: 6, proved" in text
    for path in (out / "public").iterdir():
        assert not re.search(r"\bh\d", path.read_text()), path
    assert "home" not in (out / "public" / "protected.csv").read_text().splitlines()[0]
    # The same records in other homes are other records for the release.
    moved = records()
    moved["home"] = moved["home"].iloc[::-1].to_numpy()
    again = make_plan(made, 6.0)
    moved.to_csv(tmp_path / "moved.csv", index=False)
    with pytest.raises(DeniableError, match="published from other records"):
        protect(tmp_path / "moved.csv", again, out, ledger=ledger)


def test_the_ledger_adds_units_and_a_limited_release_states_its_records(tmp_path: Path) -> None:
    ledger = Ledger.init(tmp_path / "ledger")
    limited = make_plan(with_units(records_per_unit=2, excess="limit"), 4.0)
    table = homes()
    sizes = table["home"].to_pandas().value_counts()
    consents = {"one": None, "two": "release 2 of people named two, total epsilon 8"}
    for name, consent in consents.items():
        protect(table, limited, tmp_path / name, ledger=ledger.folder, consent=consent)
        document = read_json(tmp_path / name / "public" / "plan.json")
        assert document["release"]["records"] == sizes.clip(upper=2).sum() < 600
        assert str(600 - sizes.clip(upper=2).sum()) not in document["release"].values()
    assert float(ledger.total("people")) == pytest.approx(8.0)
    protect_test(table, limited, tmp_path / "test", 1)
    drawn = pa.ipc.open_file(tmp_path / "test" / "public" / "protected.arrow").read_all()
    assert len(drawn) == sizes.clip(upper=2).sum()


def test_the_page_to_choose_by_and_the_readme_name_the_unit(tmp_path: Path) -> None:
    file, form = tmp_path / "page.html", tmp_path / "schema.yaml"
    made = schema(unit=THREE, file={"kind": "csv", "delimiter": ","})
    form.write_text(json.dumps(made.to_json()))
    command = ["explore", form, "--records", 900, "--epsilon", 3, "--out", file]
    assert main([*map(str, command)]) == 0
    text = file.read_text()
    assert "ε of all records of one home, at most 3<" in text
    # The row has a third of epsilon: e^1, rounded up.
    assert re.search(r">2\.72</[a-z]+>-fold", text)
