"""What the report's first page says of [multirr]."""

import math

import pandas as pd

from reproduction.papers.multirr.in_short import in_short
from reproduction.study import PrivacyVerdict, Worst

SHARE, ONCE = "one attribute in its cluster", ", as if released once"


def audited(*more: tuple[object, ...]) -> pd.DataFrame:
    """Return an audit by hand; `more` rows are added."""
    joint, pairs = "rr_clusters joint", "assessment pairs_joint"
    rows = [
        ("rr_independent", "printed", 0.1, math.nan, "record", "all attributes", 4.0, 4.0),
        (joint, "printed", 0.1, 50, "record", "all attributes", 4.0, 4.0),
        (joint, "printed", 0.7, 50, SHARE, "sex in a x sex", 1.5, 8.5),
        (joint, "printed", 0.1, 100, SHARE, "a in a x sex", 0.1, 2.0),
        (joint, "keep", 0.1, 100, SHARE, "b in a x b", 0.0, 0.5),
        ("rr_clusters kronecker", "printed", 0.7, 50, SHARE, "sex in a x sex", 1.5, 1.5),
        (pairs, "printed", 0.7, math.nan, "record", f"all attributes{ONCE}", 20.0, 140.0),
        (pairs, "printed", 0.5, math.nan, "record", f"all attributes{ONCE}", 10.0, 70.0),
        (pairs, "keep", 0.1, math.nan, "record", f"all attributes{ONCE}", 5.0, 35.0),
        (pairs, "printed", 0.7, math.nan, "attribute", f"sex{ONCE}", 1.0, 60.0),
        (pairs, "printed", 0.1, math.nan, "attribute", f"a{ONCE}", 0.0, 5.0),
        *more,
    ]
    columns = ["mechanism", "matrix", "p", "t_v", "unit", "of", "claimed_epsilon", "exact_epsilon"]
    table = pd.DataFrame(rows, columns=columns)
    return table.assign(holds=table["exact_epsilon"] <= table["claimed_epsilon"])


def kept() -> pd.DataFrame:
    table = audited()
    return table.assign(exact_epsilon=table["claimed_epsilon"], holds=True)


def waiver(holds: bool) -> pd.DataFrame:
    times = 1.0 if holds else 2.0
    table = {"claimed_epsilon": 0.5, "exact_epsilon": 0.5 * times, "holds": holds}
    table |= {"matrix": "keep", "releases": 2}
    return pd.DataFrame([table | {"parties": n, "p": p} for n, p in ((1, 0.1), (1000, 0.7))])


def told(audit: pd.DataFrame, holds: bool = False) -> list[PrivacyVerdict]:
    return [*in_short({"multirr_audit": audit, "multirr_waiver": waiver(holds)}).privacy]


def test_equal_risk_names_the_worst_of_all_rows_by_matrix() -> None:
    risk = told(audited())[0]
    assert (risk.verdict, risk.beyond) == ("fails", 7.0)
    assert "in 3 of 3 cases under joint and 0 of 1 cases under kronecker" in risk.found
    assert "p = 0.1 and 0.7, T_v = 50 and 100, matrix printed and keep" in risk.found
    assert (
        "Under joint, matrix printed: 1.50 → 8.50 at worst (sex, p = 0.7, T_v = 50: odds × 1,100) "
        "and at most 20.0 times the claimed ε (0.100 → 2.00: a, p = 0.1, T_v = 100); matrix "
        "keep: 0 → 0.500 at worst (b, p = 0.1, T_v = 100: odds × 1.65) and up to 0.500 where 0 is "
        "claimed (b, p = 0.1, T_v = 100)."
    ) in risk.found
    assert risk.instead.startswith("Randomize clusters by kronecker,")


def test_a_worse_row_of_any_setting_changes_equal_risk() -> None:
    worse = ("rr_clusters joint", "keep", 0.3, 300, SHARE, "c in c x d", 2.0, 22.0)
    risk = told(audited(worse))[0]
    assert risk.beyond == 20.0
    assert "matrix keep: 2.00 → 22.0 at worst (c, p = 0.3, T_v = 300: odds × " in risk.found


def test_claims_that_are_kept_hold() -> None:
    risk, once, stated = told(kept(), holds=True)
    assert [each.verdict for each in (risk, once, stated)] == ["holds"] * 3
    assert (risk.instead, risk.beyond, once.beyond) == ("", 0.0, 0.0)


def test_the_waiver_covers_files_and_one_attribute() -> None:
    once = told(audited())[1]
    assert (once.verdict, once.beyond) == ("fails", 120.0)
    each = "matrix printed: 20.0 → 140 at worst (all attributes, joint pairs, p = 0.7: odds × "
    assert f"For each record of a file, {each}" in once.found
    assert once.found.count("always 7.00 times the claimed ε") == 1  # of two records, printed
    each = "matrix printed: 1.00 → 60.0 at worst (sex, joint pairs, p = 0.7: odds × "
    assert f"For each attribute of a file, {each}" in once.found
    assert "at most 60.0 times the claimed ε (1.00 → 60.0: sex" in once.found
    assert "up to 5.00 where 0 is claimed (a, joint pairs, p = 0.1)" in once.found
    assert "in 0 of 2 cases, from 1 to 1,000 parties. Their ε is at most 2.00 times" in once.found
    assert "(matrix keep, p = 0.1 and 0.7)" in once.found


def test_the_waiver_is_told_with_what_assessing_costs() -> None:
    risk = pd.DataFrame(
        {"assessment": ["none", "4.1"], "equal_risk_with_assessment": [True, False]}
    )
    tables = {"multirr_audit": audited(), "multirr_waiver": waiver(False), "multirr_risk": risk}
    assert "equal in 0 of 1 settings" in in_short(tables).privacy[1].instead


def test_what_is_stated_of_records_is_counted_by_mechanism() -> None:
    stated = told(audited())[2]
    assert stated.verdict == "holds"
    assert "RR-Independent 1 of 1, joint 1 of 1" in stated.found
    assert told(audited().assign(holds=False))[2].verdict == "fails"


def test_surrogate_data_have_no_agreement() -> None:
    steps = pd.DataFrame({"verdict": ["agrees", "not published", "differs"]})
    printed = pd.DataFrame({"mechanism": "joint", "verdict": ["surrogate"] * 36})
    numbers = in_short({"multirr_example1": steps, "multirr_table1": printed}).numbers
    assert [(each.what, each.agrees, each.of) for each in numbers] == [
        ("Table 1, joint", None, 36),
        ("Example 1, steps", 1, 2),
    ]


def test_the_first_page_has_the_worst_case_of_all_matrices() -> None:
    worse = ("rr_clusters joint", "keep", 0.3, 300, SHARE, "c in c x d", 2.0, 22.0)
    risk, once, _ = told(audited(worse))
    assert (risk.worst, once.worst) == (
        Worst(2.0, 22.0, "c, matrix keep, p = 0.3, T_v = 300"),
        Worst(20.0, 140.0, "all attributes, matrix printed, joint pairs, p = 0.7"),
    )
