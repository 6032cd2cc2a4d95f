"""What the report's first page says of [multirr]."""

import pandas as pd

from reproduction.papers.multirr.in_short import in_short


def risk(joint: bool, kronecker: bool) -> pd.DataFrame:
    rows = [
        ("joint", 50, "none", 3.0, joint),
        ("joint", 100, "none", 1.0, True),
        ("joint", 50, "4.1", 3.0, joint),
        ("kronecker", 50, "none", 1.0, kronecker),
    ]
    columns = ["mechanism", "t_v", "assessment", "attribute_ratio", "equal_risk_attribute"]
    table = pd.DataFrame(rows, columns=columns)
    return table.assign(
        matrix="printed",
        p=0.1,
        attribute="sex",
        equal_risk_record=True,
        equal_risk_with_assessment=table.index == 0,
    )


def waiver(holds: bool) -> pd.DataFrame:
    times = 1.0 if holds else 2.0
    table = {"claimed_epsilon": 0.5, "exact_epsilon": 0.5 * times, "holds": holds}
    table |= {"matrix": "keep", "releases": 2}
    return pd.DataFrame([table | {"parties": n, "p": p} for n, p in ((1, 0.1), (1000, 0.7))])


def test_equal_risk_is_told_by_mechanism() -> None:
    (told,) = in_short({"multirr_risk": risk(joint=False, kronecker=True)}).privacy
    assert (told.verdict, told.times) == ("fails", 3.0)
    assert "under joint up to 3.00 times" in told.found
    assert "in 1 of 2 settings" in told.found
    assert "under kronecker up to 1.00 times" in told.found
    assert "in 0 of 1 settings" in told.found
    assert told.instead.startswith("Randomize clusters by kronecker,")


def test_equal_risk_names_the_rows_that_its_numbers_cover() -> None:
    """A larger ratio under another matrix is left out, and the sentence says so."""
    shown = risk(joint=False, kronecker=True)
    other = shown.assign(matrix="keep", p=0.7, attribute_ratio=9.0)
    (told,) = in_short({"multirr_risk": pd.concat([shown, other], ignore_index=True)}).privacy
    assert told.times == 3.0
    assert "(sex, p = 0.1, T_v = 50; " in told.found
    assert "These numbers cover matrix printed, p = 0.1 and T_v = 50 and 100, and the" in told.found
    assert "the attribute with the largest ε in each setting. Others can" in told.found
    assert told.found.endswith("Not covered: matrix keep.")


def test_equal_risk_holds_if_it_does_under_every_mechanism() -> None:
    (told,) = in_short({"multirr_risk": risk(joint=True, kronecker=True)}).privacy
    assert (told.verdict, told.instead) == ("holds", "")
    (told,) = in_short({"multirr_risk": risk(joint=False, kronecker=False)}).privacy
    assert (told.verdict, told.instead) == ("fails", "")


def test_the_waiver_is_told_with_what_assessing_costs() -> None:
    tables = {"multirr_waiver": waiver(holds=False), "multirr_risk": risk(True, True)}
    told = in_short(tables).privacy[1]
    assert (told.verdict, told.times) == ("fails", 2.0)
    assert "in 0 of 2 cases, from 1 to 1,000 parties" in told.found
    assert "one binary attribute in 2 pairs, matrix keep and p = 0.1 and 0.7." in told.found
    assert "Larger files are not covered" in told.found
    assert "equal in 0 of 1 settings" in told.instead
    (told,) = in_short({"multirr_waiver": waiver(holds=True)}).privacy
    assert (told.verdict, told.times) == ("holds", 1.0)


def test_what_is_stated_of_records_is_counted_by_mechanism() -> None:
    units = ["record", "record", "one attribute in its cluster"]
    audited = pd.DataFrame({"mechanism": "rr_clusters joint", "unit": units, "holds": True})
    audited.loc[2, "holds"] = False  # equal risk, which is told by itself
    (told,) = in_short({"multirr_audit": audited}).privacy
    assert told.verdict == "holds"
    assert "joint 2 of 2" in told.found
    (told,) = in_short({"multirr_audit": audited.assign(holds=False)}).privacy
    assert told.verdict == "fails"


def test_surrogate_data_have_no_agreement() -> None:
    steps = pd.DataFrame({"verdict": ["agrees", "not printed", "differs"]})
    printed = pd.DataFrame({"mechanism": "joint", "verdict": ["surrogate"] * 36})
    numbers = in_short({"multirr_example1": steps, "multirr_table1": printed}).numbers
    assert [(each.what, each.agrees, each.of) for each in numbers] == [
        ("Table 1, joint", None, 36),
        ("Example 1, steps", 1, 2),
    ]
