"""The results of a run: by the library's own functions, or by hand where they simulate."""

import dataclasses
import itertools
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from tests.reproduction.papers.idp import tables as idp_tables
from tests.reproduction.papers.rrba import tables as rrba_tables
from tests.reproduction.report.made_releases import write_releases

from deniable.datasets.resolve import ResolvedFile
from deniable.display.style import STYLE, canvas
from deniable.files import read_json, write_json, write_table, write_text
from deniable.plans import plan_from_json
from deniable.randomized_response.audit import (
    audit_assessments,
    audit_multirr,
    clusters_table,
    risk_table,
)
from deniable.randomized_response.dependence import cluster_attributes, dependences
from deniable.randomized_response.waiver import waiver_table
from deniable.records.categorical import Microdata

from reproduction.papers.audit import audited_release, one_audit
from reproduction.papers.catalog import (
    AUDITED,
    FIGURES,
    PAPERS,
)
from reproduction.papers.multirr import error_analysis, secure_sum as secure_sum_trials
from reproduction.papers.multirr.catalog import CLUSTER_QUERY_KEYS
from reproduction.papers.multirr.dependence_assessment import secure_assessments
from reproduction.papers.multirr.example_1 import example_1
from reproduction.papers.multirr.verdicts import (
    agreement_by_reading,
    misfit,
    threshold_trend,
    with_variations,
)
from reproduction.papers.pram import breaches as pram_breaches, variance as pram_variance
from reproduction.papers.pram.numbered_results import numbered_results
from reproduction.papers.protocols import audited_protocols
from reproduction.papers.samplers import audit_samplers
from reproduction.study.catalog import resolve
from reproduction.study.claims import Claim, Evidence, by_sentence, decide_claims
from reproduction.study.comparisons import Comparison, Outcome

SPENT = {"attribute_epsilon": 2.0, "record_epsilon": 5.0}
GRID = [(0.1, 0.3, 0.5, 0.7), (0.1, 0.2, 0.3), (50, 100, 300), ("joint", "kronecker")]
PROBABILITIES = [0.1, 0.7]
SIGMAS = [0.1, 0.5, 0.9]
METHODS = [
    *("rr_independent", "rr_clusters"),
    *("rr_independent_adjustment", "rr_clusters_adjustment"),
]
FINDINGS = "# Findings\n\n## On\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n**bold** finding"
FINDINGS += f" on a narrow screen: `{'long_name.' * 9}`"
CONFIG = {"seed": 1, "studies": {}, "releases": [{"name": f"release_{n}"} for n in range(500)]}
DRAWN = [paper.figures[0].id for paper in PAPERS]


def results(dataset: str, surrogate: bool = False) -> pd.DataFrame:
    """Return a table of all 72 cells; every value is one of its own."""
    rows = []
    for number, (p, t_d, t_v, mechanism) in enumerate(itertools.product(*GRID)):
        value = 0.1 + number / 1000
        verdict = "agrees" if number % 3 else "differs"
        key = (dataset, "printed", mechanism, "clip", p, t_d, t_v)
        row = (0.5 + number // 2 / 1000, value, value - 0.01, value + 0.01, 50)
        rows.append((*key, *row, *(("surrogate",) * 2 if surrogate else ("original", verdict))))
    columns = [*CLUSTER_QUERY_KEYS, "published", "regenerated", "ci_low", "ci_high", "replicates"]
    return pd.DataFrame(rows, columns=[*columns, "data_source", "verdict"]).assign(**SPENT)


def simulated(summary: str = "median", **grid: Any) -> pd.DataFrame:
    """Return a table of a grid's cells; every value is one of its own."""
    rows = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    table = pd.DataFrame(rows)
    value = 0.05 + np.arange(len(table)) / 1000
    return table.assign(
        **{summary: value, "ci_low": value - 0.01, "ci_high": value + 0.01},
        replicates=50,
        data_source="original",
    )


def studies() -> dict[str, pd.DataFrame]:
    """Return what the studies would leave."""
    projections = ["clip", "simplex", "likelihood"]
    panel = {"mechanism": ["joint", "kronecker"], "t_v": [50], "t_d": [0.1], "p": PROBABILITIES}
    panel |= {"matrix": ["printed"], "best": ["paper", "ours"]}
    errors = {"measure": ["absolute_error", "relative_error"], "matrix": ["printed"]}
    gains = simulated(
        **errors,
        projection=projections,
        estimator=["randomized", "randomized_joint", "rr_independent"],
        sigma=SIGMAS,
        p=[0.7],
    )
    methods = simulated(**panel, projection=projections, sigma=SIGMAS, method=METHODS)
    work = {"measure": ["sweeps", "gap", "left_out"], "method": METHODS[2:]}
    named = ["randomized_joint", "rr_independent", "pair_unbiased", "pair_likelihood"]
    assessed = {"method": ["attributes", "pairs_joint"], "matrix": ["printed"], "p": PROBABILITIES}
    return {
        "multirr_fig2": gains[gains["projection"] == "clip"],
        "multirr_gains": gains,
        "multirr_gain_ratios": gains.rename(columns={"median": "ratio"}).assign(
            measure=gains["measure"] + "_ratio", against="sigma = 0.5", rounding="up"
        ),
        "multirr_fig3": methods[methods["projection"] == "clip"],
        "multirr_projections": methods,
        "multirr_methods": methods.rename(columns={"median": "compared"}).assign(
            measure="relative_error_ratio", against="rr_independent"
        ),
        "multirr_adjustment": simulated(**panel, projection=projections, **work),
        "multirr_pairs": simulated(**errors, p=PROBABILITIES, estimator=named, sigma=SIGMAS),
        "multirr_assessment": pd.concat(
            simulated("mean", **assessed, measure=[measure], t_v=sizes, t_d=least)
            for measure, sizes, least in (
                ("spearman", [None], [None]),
                ("adjusted_rand", [50, 100], [0.1]),
            )
        ).assign(**SPENT, epsilon_claimed=np.inf),
        "multirr_epsilon": simulated(
            attributes=["all", "few"],
            epsilon=[0.5, 4.0],
            projection=["clip"],
            sigma=[0.1],
            method=["rr_independent", "rr_clusters_joint", "rr_joint", "uniform"],
            t_v=[50],
            t_d=[0.1],
        ).assign(p=0.1, **SPENT),
        "joint_estimation": pd.concat(
            simulated(
                dataset=["adult", "survey"],
                given=["epsilon"],
                value=[2.0, 4.0],
                design=["even", "ask_1"],
                method=["rr_independent", "joint"],
                measure=[f"{measure}{form}" for measure in ("distance_2", "relative_error")],
                against=[against],
            )
            for form, against in (("", None), ("_ratio", "rr_independent, even"))
        ).assign(**SPENT),
        "multirr_attributes": simulated(
            attributes=[2, 3],
            dataset=["adult"],
            matrix=["printed"],
            mechanism=["joint", "kronecker"],
            projection=["clip"],
            p=PROBABILITIES,
            t_d=[0.1],
            t_v=[1, 50],
        ),
        "multirr_sweep": simulated(
            "median_relative_error",
            records=[1000, 5000],
            matrix=["keep"],
            mechanism=["kronecker"],
            projection=["clip"],
            p=PROBABILITIES,
            t_v=[1, 50],
            t_d=[0.1, 0.3],
        ),
    }


def pram_studies() -> dict[str, pd.DataFrame]:
    """Return what the studies of PRAM would leave."""
    truth = {"target": ["population", "file"]}
    covered = {"channel": ["warner", "neighbours"], "records": [5000], **truth}
    covered |= {"method": ["score", "wald"]}
    categories = ["<=50K", ">50K", "every category"]
    weighted = {"design": ["pps", "stratified"], "channel": ["warner"], "records": [5000]}
    estimators = ["hajek", "horvitz_thompson", "unweighted"]
    made = {"attribute": ["colour", "smokes"], "records": [1000, 5000], "p": [0.5, 0.7]}
    made |= {"method": ["two_step", "lazy", "resampling", "two_step_fixed"]}
    claims = ["multinomial", "fixed_matrix", "conditional", "bound"]
    lost = {"first": ["colour"], "second": ["smokes"], "epsilon": [1.0, 4.0]}
    distances = ["distance", "expected_distance", "margin_distance", "cramers_v", "query_error"]
    distances += ["expected_cramers_v"]

    def mean(**grid: Any) -> pd.DataFrame:
        return simulated("mean", **grid)

    found = {
        "pram_coverage": [
            mean(**covered, intervals=["none"], category=categories, measure=["coverage"]),
            mean(
                **covered,
                intervals=["bonferroni", "scheffe"],
                category=categories[-1:],
                measure=["coverage"],
            ),
            mean(
                **covered | {"method": [None]},
                intervals=[None],
                category=categories[-1:],
                measure=["bias", "variance_ratio"],
            ),
        ],
        "pram_weights": [
            mean(
                **weighted,
                **truth,
                estimator=estimators,
                category=categories[-1:],
                measure=["coverage"],
            ),
            mean(
                **weighted,
                target=["population"],
                estimator=estimators,
                category=categories[:2],
                measure=["bias", "variance_ratio"],
            ),
            mean(
                **weighted,
                target=["population"],
                estimator=["horvitz_thompson", "unweighted"],
                category=categories[:2],
                measure=["expected_bias"],
            ),
        ],
        "pram_item_sets": [
            mean(
                epsilon=[1.0, 2.0],
                size=[1, 2],
                records=[20000],
                measure=[
                    "support",
                    "relative_error",
                    "expected_relative_error",
                    "standard_error",
                    "coverage_score",
                    "coverage_wald",
                    "coverage_bonferroni",
                    "told_from_zero",
                ],
            ),
        ],
        "pram_invariant": [
            mean(**made, estimator=["shares", "inverted"], claim=["none"], measure=["inflation"]),
            mean(
                **made,
                estimator=["shares", "inverted"],
                claim=claims,
                measure=[
                    "claimed_to_true",
                    "coverage",
                    "coverage_rarest",
                ],
            ),
        ],
        "pram_joint_loss": [
            mean(**lost, estimator=["true"], measure=["cramers_v"]),
            mean(**lost, estimator=["separate", "separate_inverted", "joint"], measure=distances),
        ],
    }
    return {name: pd.concat(tables) for name, tables in found.items()}


def pram_analyses(data: Microdata) -> dict[str, pd.DataFrame]:
    """Return what the analyses of PRAM leave."""
    names = ["colour", "smokes"]
    data = data.project(names)
    return {
        "pram_results": numbered_results("resources/claims/pram.csv"),
        "pram_variance": pram_variance.variance_inflation(data, [1.0, 6.0]),
        "pram_whole_file": pram_variance.whole_file_epsilons(data, [1.0, 6.0]),
        "pram_breach_bounds": pram_breaches.bound_table(),
        "pram_breach_thresholds": pram_breaches.threshold_table(),
        "pram_approach": pram_breaches.approach_table(),
        "pram_intruder": pram_breaches.intruder_table(data, names),
        "pram_worst_sets": pram_breaches.worst_set_table(data, names),
        "pram_design": designs(),
        "pram_channels": pd.DataFrame(
            [
                ("smokes <b>", u, v, 0.7 if u == v else 0.3)
                for u in data.domain["smokes"].categories
                for v in data.domain["smokes"].categories
            ],
            columns=["design", "true", "reported", "probability"],
        ),
    }


def designs() -> pd.DataFrame:
    """Return a table of designs: one without a rival, one that saves, one that loses."""
    rows = [
        ("colour", 3, 1.0, "trace", "invariant", 1.0, np.nan, 2.0, 0.9, "best of 5 starts (local)"),
        ("colour", 3, 4.0, "trace", "none", 3.0, 4.0, np.nan, 3.0, "global"),
        ("smokes", 2, 1.0, "worst_cell", "none", 5.0, 4.0, np.nan, 3.0, "global"),
        ("smokes", 2, 4.0, "worst_cell", "none", 5.0, np.nan, np.nan, np.nan, "global"),
    ]
    columns = ["attribute", "categories", "epsilon", "loss", "requirements", "designed"]
    columns += ["generalized_rr", "two_step", "lower_bound", "optimality"]
    table = pd.DataFrame(rows, columns=columns)
    return table.assign(exact_epsilon=table["epsilon"])


def claims_tables(surrogate: bool = False) -> dict[str, pd.DataFrame]:
    """Return three sentences: about projections only, about both readings, and about neither."""
    rows = [
        ("gain", "any", "clip", "holds"),
        ("gain", "any", "simplex", "holds"),
        ("best", "joint", "clip", "fails"),
        ("best", "kronecker", "clip", "undecided"),
        ("best", "joint", "simplex", "holds"),
        ("trend", "any", "any", "fails"),
    ]
    scores = {"holds": 9.0, "fails": -9.0, "undecided": 0.5}
    source = "surrogate" if surrogate else "original"
    found = []
    for name in ("gain", "best", "trend"):
        said = ("6.5, Table 1", f"{name} grows with T_v <b>", "every")
        claim = Claim(
            name, *said, "rr_clusters below rr_independent at sigma = .1", "it", lambda each: each
        )
        evidence = [
            Evidence(
                at, source, Outcome((Comparison(scores[verdict], 1.0),), f"rr_clusters: 0.{n}")
            )
            for n, (of, *at, verdict) in enumerate(rows)
            if of == name
        ]
        found.append(decide_claims([claim], {"it": evidence}, "mechanism", "projection"))
    readings = pd.concat(found, ignore_index=True)
    return {"multirr_claims": by_sentence(readings), "multirr_claim_readings": readings}


def analyses(data: Microdata) -> dict[str, pd.DataFrame]:
    """Return what the analyses leave that rest on the records alone."""
    domain, measured = data.domain, dependences(data)
    formed = {t_v: cluster_attributes(domain, measured, t_v, 0.05) for t_v in (6, 12)}
    return {
        "multirr_fig1": error_analysis.figure_1(domain.shape),
        "multirr_accuracy": error_analysis.accuracy_table(domain, [500, 3000]),
        "multirr_propagation": error_analysis.propagation_table(domain, PROBABILITIES),
        "multirr_order": error_analysis.expected_dependence_order(data, PROBABILITIES),
        "multirr_example1": example_1(20),
        "multirr_secure_sum": secure_sum_trials.trials(data, 1, ("colour", "region"), 20, 6),
        "multirr_secure_sum_faults": secure_sum_trials.fault_trials(1, count=2),
        "multirr_secure_assessment": secure_assessments(data, 1, 6),
        "multirr_linkage": secure_sum_trials.linkage_example(data, 1, parties=20, samples=3),
        "multirr_risk": risk_table(domain, formed, PROBABILITIES),
        "multirr_waiver": waiver_table(PROBABILITIES, (1, 3)),
        "multirr_clusters": clusters_table(domain, measured, [50, 100, 300], [0.1, 0.2, 0.3]),
        "multirr_dependences": measured,
    }


def tested_samplers(public: Path) -> pd.DataFrame:
    """Return the comparison of a release's samplers with their matrices, from few draws."""
    document = read_json(public / "plan.json")
    channels = plan_from_json(document).channels()
    return audit_samplers({document["release"]["name"]: channels}, 1, draws=2000)


def write_run(folder: Path, data: Microdata) -> SimpleNamespace:
    """Write all results of a run; return the inputs of the report's rule."""
    tables = studies() | pram_studies() | analyses(data) | claims_tables()
    tables |= {
        name: table.assign(data_source="original") for name, table in pram_analyses(data).items()
    }
    tables |= idp_tables.all_tables() | rrba_tables.all_tables()
    tables["multirr_table1"], tables["multirr_table2"] = results("adult"), results("adult6")
    tables["multirr_sensitivity"] = results("adult").assign(matrix="keep").iloc[:6]
    tables["multirr_exploration"] = results("adult").assign(variation="ordinal").iloc[:6]
    compared = ("table1", "table2", "sensitivity", "exploration")
    printed = [tables[f"multirr_{name}"] for name in compared]
    varied = with_variations(pd.concat(printed))
    tables["multirr_agreement"] = agreement_by_reading(varied)
    tables["multirr_misfit"] = misfit(varied)
    tables["multirr_threshold_trend"] = threshold_trend(
        pd.concat(printed[:2]), tables["multirr_clusters"]
    )
    releases = write_releases(folder, data)
    measured = tables["multirr_dependences"]
    tables["multirr_audit"] = pd.concat(
        [
            audit_multirr(data.domain, measured, PROBABILITIES, [12], [0.05]),
            audit_assessments(data.domain, PROBABILITIES),
        ]
    )
    audits = {
        "privacy": one_audit(AUDITED, tables, map(audited_release, releases), audited_protocols()),
        "samplers": pd.concat([tested_samplers(public) for public in releases]),
    }
    for name, table in tables.items():
        write_table(folder / "tables" / f"{name}.csv", table)
    for name, table in audits.items():
        write_table(folder / "audit" / f"{name}.csv", table)
    (folder / "figures").mkdir()
    for name, of in FIGURES.items():
        given = [pd.read_csv(folder / "tables" / f"{table}.csv") for table in of.tables]
        # Each of them is drawn by the tests of its paper; here one a paper is as it is.
        drawn = resolve(of.draw)(*given, **of.options) if name in DRAWN else canvas(9.4, 2)
        with mpl.rc_context(STYLE):
            drawn.savefig(folder / "figures" / f"{name}.svg", metadata={"Date": None})
    source = ResolvedFile("published", "0" * 64)
    write_json(folder / "adult.data.source.json", dataclasses.asdict(source))
    write_text(folder / "findings.md", FINDINGS)
    return SimpleNamespace(
        tables=[str(folder / "tables" / f"{name}.csv") for name in tables],
        audits=[str(folder / "audit" / f"{name}.csv") for name in audits],
        figures=[str(folder / "figures" / f"{name}.svg") for name in FIGURES],
        releases=[str(public) for public in releases],
        estimates=[str(file) for file in sorted(folder.glob("estimates/*/*"))],
        checks=[str(file) for file in sorted(folder.glob("checks/*"))],
        sources=[str(folder / "adult.data.source.json")],
        findings=str(folder / "findings.md"),
    )
