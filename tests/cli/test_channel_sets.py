"""``deniable channel --set``: bounds and posteriors of a set, by enumeration in fractions."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from deniable.cli import main
from deniable.plans import Plan, StrataPlan, make_plan, write_plan
from deniable.schema import schema_from_dict

ROWS = {"a": ("1/2", "1/4", "1/4"), "b": ("1/8", "3/4", "1/8"), "c": ("1/4", "1/4", "1/2")}
PRIOR = {"a": Fraction(1, 5), "b": Fraction(3, 10), "c": Fraction(1, 2)}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = ["true,a,b,c", *(",".join((name, *row)) for name, row in ROWS.items())]
    Path("m.csv").write_text("\n".join(rows) + "\n")
    lines = ["category,probability", *(f"{name},{p}" for name, p in PRIOR.items())]
    Path("p.csv").write_text("\n".join(lines) + "\n")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("members", "rhos"), [(["a"], "0.3 0.32"), (["a", "c"], "0.45 0.6")])
def test_posteriors_and_bounds_of_a_set(
    members: list[str], rhos: str, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["channel", "m.csv", "--prior", "p.csv", "--set", ",".join(members), "--json"]
    assert main([*options, "--breach", *rhos.split()]) == 0
    found = json.loads(capsys.readouterr().out)["set"]
    rho, eta = sum(PRIOR[name] for name in members), 4  # (1/2) / (1/8), in column a
    joint = {u: [PRIOR[u] * Fraction(p) for p in row] for u, row in ROWS.items()}
    exact = [
        sum(joint[u][v] for u in members) / sum(own[v] for own in joint.values()) for v in range(3)
    ]
    np.testing.assert_allclose(found["posterior"], [float(p) for p in exact], atol=1e-12)
    assert max(exact) <= eta * rho / (1 + (eta - 1) * rho)
    assert min(exact) >= rho / (eta - (eta - 1) * rho)
    assert found["largest_posterior"] == pytest.approx(float(eta * rho / (1 + 3 * rho)), abs=1e-12)
    assert found["smallest_posterior"] == pytest.approx(float(rho / (4 - 3 * rho)), abs=1e-12)
    low, high = map(Fraction, rhos.split())
    up = [v for v, p in zip("abc", exact, strict=True) if rho < low and p > high]
    down = [v for v, p in zip("abc", exact, strict=True) if rho > high and p < low]
    assert (found["upward"], found["downward"]) == (up, down)
    assert up or down


@pytest.mark.usefixtures("folder")
def test_a_set_needs_a_prior_and_known_categories(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["channel", "m.csv", "--set", "a"])
    assert "it needs --prior" in capsys.readouterr().err
    assert main(["channel", "m.csv", "--prior", "p.csv", "--set", "x"]) == 2
    assert "unknown category 'x'; use a, b, c" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_a_column_of_a_plan_is_analysed(capsys: pytest.CaptureFixture[str]) -> None:
    columns = [{"name": n, "kind": "categorical", "categories": list("abc")} for n in ("x", "y")]
    about = {"format": "deniable-schema", "population": "people", "file": {"kind": "arrow"}}
    schema = schema_from_dict(about | {"columns": columns})
    plans: dict[str, Plan] = {
        "x": make_plan(schema, 2.0, mechanism="generalized-rr"),
        "y": make_plan(schema, 1.0, mechanism="subset-selection"),
        "y in b": StrataPlan.from_schema(schema, ["x"], 1.5),
    }
    for column, plan in plans.items():
        write_plan("plan.json", plan)
        options = ["--prior", "p.csv", "--set", "a", "--json"]
        assert main(["channel", "plan.json", "--column", column, *options]) == 0
        found, channel = json.loads(capsys.readouterr().out), plan.channels()[column]
        assert found["epsilon"] == pytest.approx(channel.epsilon, rel=1e-12)
        posterior = channel.posterior(np.array([float(p) for p in PRIOR.values()]))
        np.testing.assert_allclose(found["set"]["posterior"], posterior[:, 0], atol=1e-12)
    assert main(["channel", "plan.json", "--column", "x"]) == 2
    assert "unknown column of the plan 'x'; use y in a, y in b, y in c" in capsys.readouterr().err
