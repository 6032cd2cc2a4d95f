"""The page that people read: complete, self-contained, honest about its data."""

import dataclasses
import html
import html.parser
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from jinja2 import FileSystemBytecodeCache
from tests.papers.idp import tables as idp_tables
from tests.papers.rrba import tables as rrba_tables

from deniable.datasets.resolve import Source
from deniable.display.page import SIGN
from deniable.display.style import STYLE, canvas
from deniable.files import write_json, write_table, write_text
from deniable.papers.catalog import (
    ANALYSES,
    AUDITS,
    COMPUTED_TABLES,
    DRAWN_BY,
    FIGURES,
    MADE_BY,
    PAPERS,
    PARTS,
    TABLES,
)
from deniable.papers.multirr import error_analysis, secure_sum as secure_sum_trials
from deniable.papers.multirr.catalog import CLUSTER_QUERY_KEYS
from deniable.papers.multirr.dependence_assessment import secure_assessments
from deniable.papers.multirr.example_1 import example_1
from deniable.papers.multirr.verdicts import threshold_trend
from deniable.papers.pram import breaches as pram_breaches, variance as pram_variance
from deniable.papers.pram.numbered_results import numbered_results
from deniable.pipeline.config import release_from
from deniable.randomized_response.assessment_audit import audit_assessments, risk_table
from deniable.randomized_response.audit import (
    audit_multirr,
    audit_release,
    clusters_table,
)
from deniable.randomized_response.dependence import cluster_attributes, dependences
from deniable.randomized_response.waiver import waiver_table
from deniable.records.categorical import Microdata
from deniable.records.numeric import NumericMicrodata
from deniable.release.categorical.check import (
    audit_release_samplers,
    check_against_truth,
    coverage_of_redraws,
    distances_from_truth,
)
from deniable.release.categorical.design import describe, design, protect
from deniable.release.categorical.estimates import (
    adjust_reports,
    describe_adjustment,
    estimate,
    synthesize_release,
)
from deniable.release.collection import design as release_rrba
from deniable.release.collection.check import check_collection
from deniable.release.collection.estimates import estimate_tables, fit_in_two_steps, make_consistent
from deniable.release.collection.independence import independence_tests
from deniable.release.lane import source_for
from deniable.release.numeric import design as release_numeric
from deniable.release.numeric.check import check_numbers, measure_utility
from deniable.release.numeric.estimates import estimate_numbers
from deniable.release.numeric.promises import (
    audit_numeric_release,
    describe as describe_numbers,
    with_figures,
)
from deniable.report import render as report
from deniable.report.releases import ReleaseFiles, distances
from deniable.report.render import Contents, gather, is_run_of_findings, render
from deniable.study.catalog import resolve
from deniable.study.claims import CLAIM_COLUMNS
from deniable.study.engine import agreement
from deniable.study.origin import Origin

ROOT = Path(__file__).resolve().parents[2]
GRID = [(0.1, 0.3, 0.5, 0.7), (0.1, 0.2, 0.3), (50, 100, 300), ("joint", "kronecker")]
PROBABILITIES = [0.1, 0.7]
SIGMAS = [0.1, 0.5, 0.9]
METHODS = [
    *("rr_independent", "rr_clusters"),
    *("rr_independent_adjustment", "rr_clusters_adjustment"),
]
FINDINGS = "# Findings\n\n## On\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n**bold** finding"
DRAWN = [paper.figures[0].id for paper in PAPERS]
SECTIONS = [section for sections in PARTS.values() for section in sections]


# -- a run, made by the library's own functions, or by hand where they simulate --------------------


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
    return pd.DataFrame(rows, columns=[*columns, "data_source", "verdict"])


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
    named = ["randomized_joint", "rr_independent", "pair_unbiased", "pair_shrunk"]
    assessed = {"method": ["attributes", "pairs_joint"], "matrix": ["printed"], "p": PROBABILITIES}
    return {
        "multirr_fig2": gains[gains["projection"] == "clip"],
        "multirr_gains": gains,
        "multirr_fig3": methods[methods["projection"] == "clip"],
        "multirr_projections": methods,
        "multirr_adjustment": simulated(**panel, projection=projections, **work),
        "multirr_pairs": simulated(**errors, p=PROBABILITIES, estimator=named, sigma=SIGMAS),
        "multirr_assessment": pd.concat(
            simulated("mean", **assessed, measure=[measure], t_v=sizes, t_d=least)
            for measure, sizes, least in (
                ("spearman", [None], [None]),
                ("adjusted_rand", [50, 100], [0.1]),
            )
        ).assign(epsilon=5.0, epsilon_claimed=np.inf),
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
        ],
        "pram_item_sets": [
            mean(
                epsilon=[1.0, 2.0],
                size=[1, 2],
                records=[20000],
                measure=[
                    "support",
                    "relative_error",
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
        "pram_results": numbered_results(),
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
    return pd.DataFrame(rows, columns=columns)


def claims_table(surrogate: bool = False) -> pd.DataFrame:
    """Return three claims: about projections only, about both readings, and about neither."""
    rows = [
        ("gain", "any", "clip", "holds"),
        ("gain", "any", "simplex", "holds"),
        ("best", "joint", "clip", "fails"),
        ("best", "kronecker", "clip", "undecided"),
        ("best", "joint", "simplex", "holds"),
        ("trend", "any", "any", "fails"),
    ]
    table = pd.DataFrame(rows, columns=["claim", "mechanism", "projection", "verdict"])
    table = table.assign(section="6.5, Table 1", printed=table["claim"] + " grows with T_v <b>")
    table = table.assign(test="rr_clusters below rr_independent at sigma = .1")
    table = table.assign(figure=[f"rr_clusters: 0.{n}" for n in range(len(table))])
    table = table.assign(comparisons=27, support=18, contradict=0, data_source="original")
    if surrogate:
        table = table.assign(verdict="surrogate", data_source="surrogate")
    return table[list(CLAIM_COLUMNS)]


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


def write_release(folder: Path, data: Microdata, kind: str) -> dict[str, Any]:
    """Write the files of a release that the page shows; return what it says of itself."""
    release = release_from(
        {"name": "tried", "data": "adult", "mechanism": "rr_clusters", "matrix": "keep", "p": 0.6}
        | {"cluster_mechanism": "joint", "t_v": 12, "t_d": 0.05, "rehearsal": True}
    )
    protocol = design(release, data)
    reports = protect(release, protocol, data, source_for(release, 1))
    estimates = estimate(protocol, reports)
    generator = np.random.default_rng(1)
    described = describe(release, protocol, kind)
    adjusted = adjust_reports(protocol, reports, estimates)
    synthetic = synthesize_release(
        "clusters", protocol, reports, estimates, adjusted.weights, generator
    )
    checked = distances_from_truth(protocol, data, reports, synthetic, adjusted.weights)
    coverage = coverage_of_redraws(protocol, data, generator, redraws=20)
    write_json(folder / "channels.json", described)
    write_table(folder / "estimates.csv", estimates)
    write_json(folder / "adjustment.json", describe_adjustment(described, protocol, adjusted))
    write_table(folder / "check.csv", check_against_truth(estimates, coverage))
    write_table(folder / "synthetic_check.csv", checked.assign(synthetic_from="clusters"))
    return described


def write_numeric_release(folder: Path, **settings: Any) -> list[str]:
    """Write the files of a rehearsal of a release of numbers; return their paths."""
    place = folder / "releases" / f"numbers_{settings['mechanism']}"
    given = {"name": place.name, "data": "made", "epsilon": 1.0, "rehearsal": True}
    chosen = release_from(given | settings)
    drawn = np.random.default_rng(3)
    values = drawn.gamma(3, 1, (200, 2)).round(1)
    labels = (values[:, 0] > 2.5).astype(int)
    data = NumericMicrodata(("width", "height"), values, "size", ("small", "large"), labels)
    stated = release_numeric.domains(chosen, data, {"width": (0, 20), "height": (0, 20)})
    protected = release_numeric.protect(
        chosen, stated, data, release_numeric.noise_for(chosen, 1), 1
    )
    audit = audit_numeric_release(chosen, stated, data)
    estimates = estimate_numbers(chosen, stated, protected)
    described = describe_numbers(chosen, stated, data, "original")
    write_json(place / "release.json", with_figures(described, audit.to_dict("records")))
    tables = {
        "audit": audit,
        "estimates": estimates,
        "check": check_numbers(chosen, stated, data, estimates, drawn, redraws=2),
        "utility": measure_utility(chosen, data, protected, 1),
    }
    for name, table in tables.items():
        write_table(place / f"{name}.csv", table)
    return [str(place / name) for name in ("release.json", *(f"{each}.csv" for each in tables))]


def write_collection(folder: Path, data: Microdata) -> list[str]:
    """Write the files of a rehearsal of a collection that the page shows; return their paths."""
    place = folder / "releases" / "collected"
    given = {"name": "collected", "data": "made", "mechanism": "rrba", "p": 0.5}
    chosen = release_from(given | {"block": 200, "rehearsal": True})
    asked = release_rrba.design_collection(chosen, data.domain)
    answers, _ = release_rrba.collect_answers(chosen, asked, data, source_for(chosen, 1))
    tables = estimate_tables(asked, answers, len(data))
    consistent, margins = make_consistent(asked, tables)
    tests = independence_tests(asked, answers, np.random.default_rng(1), 19)
    fitted = fit_in_two_steps(asked, tables)
    checked = check_collection(asked, data, tables, consistent, fitted, tests)
    # As of a network in which every other table is independent.
    checked["dependent"] = np.arange(len(checked)) % 2 == 0
    write_json(place / "release.json", release_rrba.describe(chosen, asked, data))
    written = {"margins": margins, "independence": tests, "check": checked}
    for name, table in written.items():
        write_table(place / f"{name}.csv", table)
    return [str(place / name) for name in ("release.json", *(f"{each}.csv" for each in written))]


def write_run(folder: Path, data: Microdata) -> SimpleNamespace:
    """Write all results of a run; return the inputs of the report's rule."""
    tables = studies() | pram_studies() | analyses(data) | {"multirr_claims": claims_table()}
    tables |= {
        name: table.assign(data_source="original") for name, table in pram_analyses(data).items()
    }
    tables |= idp_tables.all_tables() | rrba_tables.all_tables()
    tables["multirr_table1"], tables["multirr_table2"] = results("adult"), results("adult6")
    tables["multirr_sensitivity"] = results("adult").assign(matrix="keep").iloc[:6]
    printed = [tables[f"multirr_{name}"] for name in ("table1", "table2", "sensitivity")]
    tables["multirr_agreement"] = agreement(
        pd.concat(printed), ["dataset", "matrix", "mechanism", "projection"]
    )
    tables["multirr_threshold_trend"] = threshold_trend(
        pd.concat(printed[:2]), tables["multirr_clusters"]
    )
    described = write_release(folder / "releases" / "tried", data, "original")
    measured = tables["multirr_dependences"]
    audits = {
        "privacy": pd.concat(
            [
                audit_multirr(data.domain, measured, PROBABILITIES, [12], [0.05]),
                audit_assessments(data.domain, PROBABILITIES),
                audit_release(described),
            ]
        ),
        "samplers": audit_release_samplers(described, 1, draws=2000),
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
    source = Source("adult", "original", "0" * 64, "mirror", "")
    write_json(folder / "adult.source.json", dataclasses.asdict(source))
    write_text(folder / "findings.md", FINDINGS)
    release = folder / "releases" / "tried"
    return SimpleNamespace(
        tables=[str(folder / "tables" / f"{name}.csv") for name in tables],
        audits=[str(folder / "audit" / f"{name}.csv") for name in audits],
        figures=[str(folder / "figures" / f"{name}.svg") for name in FIGURES],
        releases=[
            *(str(release / name) for name in ("channels.json", "adjustment.json")),
            *(str(release / f"{name}.csv") for name in ("estimates", "check", "synthetic_check")),
            *write_numeric_release(folder, mechanism="idp", method="idp_cbls", k=10),
            *write_numeric_release(folder, mechanism="numeric_dp", bins=5),
            *write_collection(folder, data),
        ],
        sources=[str(folder / "adult.source.json")],
        findings=str(folder / "findings.md"),
    )


@pytest.fixture(scope="module", autouse=True)
def _compiled_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Compile each template once, for all pages."""
    cache = FileSystemBytecodeCache(str(tmp_path_factory.mktemp("templates")))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report, "environment", partial(report.environment, cache))
        yield


@pytest.fixture(scope="module")
def contents(small_data: Microdata, tmp_path_factory: pytest.TempPathFactory) -> Contents:
    files = write_run(tmp_path_factory.mktemp("run"), small_data)
    return gather(files, {"seed": 1, "studies": {}})


@pytest.fixture(scope="module")
def of_surrogate(contents: Contents) -> Contents:
    tables = {
        name: table.assign(data_source="surrogate") if "data_source" in table else table
        for name, table in contents.tables.items()
    }
    changed = {
        "multirr_table1": results("adult", surrogate=True),
        "multirr_table2": results("adult6", surrogate=True),
        "multirr_sensitivity": tables["multirr_sensitivity"].assign(verdict="surrogate"),
        "multirr_claims": claims_table(surrogate=True),
    }
    counted = tables["multirr_agreement"]
    changed["multirr_agreement"] = counted.assign(surrogate=counted["cells"], agrees=0, differs=0)
    source = Source("adult", "surrogate", "0" * 64, "surrogate", "because")
    return dataclasses.replace(contents, tables=tables | changed, sources=[source])


@pytest.fixture(scope="module")
def page(contents: Contents) -> str:
    return render(contents)


@pytest.fixture(scope="module")
def surrogate_page(of_surrogate: Contents) -> str:
    return render(of_surrogate)


def without(contents: Contents, *names: str) -> Contents:
    tables = {name: table for name, table in contents.tables.items() if name not in names}
    return dataclasses.replace(contents, tables=tables)


class Asked(dict[str, pd.DataFrame]):
    """Tables that remember which of them somebody asked for."""

    def __init__(self, tables: Mapping[str, pd.DataFrame]) -> None:
        super().__init__(tables)
        self.names: set[Any] = set()

    def __contains__(self, name: object) -> bool:
        self.names.add(name)
        return super().__contains__(name)

    def __getitem__(self, name: str) -> pd.DataFrame:
        self.names.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self.names.add(name)
        return super().get(name, default)


@contextmanager
def only(sections: Iterable[Any]) -> Iterator[None]:
    """Have pages with some sections and no others."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report, "PARTS", {"Some": tuple(sections)})
        yield


@pytest.fixture(scope="module")
def read_by(contents: Contents) -> dict[str, set[str]]:
    """Return the tables that each section asks for."""
    found = {}
    for each in SECTIONS:
        tables = Asked(contents.tables)
        with only([each]):
            render(dataclasses.replace(contents, tables=tables, figures={}))
        found[each.id] = tables.names
    return found


def alone(contents: Contents, name: str) -> str:
    """Fill one section."""
    with only(each for each in SECTIONS if each.id == name):
        return section(render(contents), name)


def of_readers(
    contents: Contents, read_by: Mapping[str, set[str]], name: str, table: pd.DataFrame | None
) -> tuple[str, list[str]]:
    """Fill the sections that read a table, with another in its place or none.

    Returns the page, without pictures, and the sections that should be on it.
    """
    tables = {each: t for each, t in contents.tables.items() if each != name}
    tables |= {} if table is None else {name: table}
    sections = [each for each in SECTIONS if name in read_by[each.id]]
    with only(sections):
        page = render(dataclasses.replace(contents, tables=tables, figures={}))
    return page, [each.id for each in sections if set(each.needs) <= set(tables)]


def section(page: str, name: str) -> str:
    return page.split(f'<h2 id="{name}">')[1].split("</section>", maxsplit=1)[0]


def words(part: str) -> str:
    """Return what is read of a part of the page."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", part))


class Page(html.parser.HTMLParser):
    """Collects elements with their attributes and ancestors, and checks that they are closed."""

    VOID = ("meta", "link", "br", "hr", "img", "input", "col")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.above: list[list[str]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag not in self.VOID:
            self.open.append(" ".join([tag, *(dict(attrs).get("class") or "").split()]))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.above.append(list(self.open))

    def handle_endtag(self, tag: str) -> None:
        while self.open.pop().split()[0] != tag:
            assert tag not in ("table", "tr", "td", "div", "figure", "details", "section"), tag

    def all(self, tag: str) -> Iterator[tuple[dict[str, str | None], list[str]]]:
        for (name, attributes), above in zip(self.elements, self.above, strict=True):
            if name == tag:
                yield attributes, above


@lru_cache(maxsize=1)
def parsed(page: str) -> Page:
    return Page(page)


# -- as a file: whole, self-contained, reachable ---------------------------------------------------


def test_nothing_is_fetched(page: str) -> None:
    loading = ("src", "href", "xlink:href", "action", "data", "poster", "srcset")
    for tag, attributes in parsed(page).elements:
        assert tag not in ("script", "link", "iframe", "object", "embed", "base"), tag
        for name in loading:
            value = attributes.get(name) or ""
            assert not re.match(r"(?i)\s*(https?:|//|file:|/)", value), (tag, name, value)
    assert "@import" not in page
    assert "@font-face" not in page
    for inside in re.findall(r"url\(([^)]*)\)", page):
        assert inside.strip("\"' ").startswith("#"), inside


def test_every_id_is_there_once_and_links_within_the_page_lead_to_one(page: str) -> None:
    elements = parsed(page).elements
    ids = [attributes["id"] for _, attributes in elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    inner = {
        str(attributes.get(name))[1:]
        for _, attributes in elements
        for name in ("href", "xlink:href", "aria-labelledby")
        if str(attributes.get(name) or "").startswith("#")
    }
    assert inner
    assert inner <= set(ids)
    assert {value.strip("\"' ")[1:] for value in re.findall(r"url\(([^)]*)\)", page)} <= set(ids)


def test_links_to_files_lead_to_what_a_run_leaves_or_to_the_code(page: str) -> None:
    made = {f"tables/{name}.csv" for name in [*TABLES, *COMPUTED_TABLES]}
    made |= {"audit/privacy.csv", "audit/samplers.csv"}
    for attributes, _ in parsed(page).all("a"):
        target = str(attributes["href"])
        if target.startswith("../"):
            assert (ROOT / target.removeprefix("../")).is_file(), target
        elif not target.startswith("#"):
            assert target in made, target


def test_tables_and_pictures_can_be_scrolled_on_a_narrow_screen_with_keys(page: str) -> None:
    read = parsed(page)
    for tag in ("table", "svg"):
        for attributes, above in read.all(tag):
            # The findings are text with, now and then, a small table.
            assert "div scroll" in above or tag == "table", attributes
    for attributes, _ in read.all("div"):
        if attributes.get("class") == "scroll":
            assert attributes["tabindex"] == "0"
            assert attributes["aria-label"]
    outside = [a for a, above in read.all("table") if "div scroll" not in above]
    assert len(outside) == 1  # that of the findings


def test_pictures_say_what_they_show(page: str) -> None:
    labels = [a["aria-label"] for a, _ in parsed(page).all("svg")]
    assert sorted(str(label) for label in labels) == sorted(
        figure.shows for figure in FIGURES.values()
    )


def test_headings_have_no_gaps(page: str) -> None:
    levels = [int(tag[1]) for tag, _ in parsed(page).elements if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later - earlier <= 1 for earlier, later in itertools.pairwise(levels))


def test_the_same_contents_give_the_same_page(page: str, contents: Contents) -> None:
    assert render(contents) == page


def test_values_are_escaped(contents: Contents) -> None:
    evil = "<script>alert(1)</script>&\"'"
    tables = dict(contents.tables)
    for name, column in (
        ("multirr_clusters", "cluster"),
        ("multirr_dependences", "attribute_1"),
        ("samplers", "release"),
        ("multirr_claims", "printed"),
        ("multirr_claims", "figure"),
        ("multirr_secure_sum_faults", "fault"),
        ("multirr_linkage", "category"),
        ("multirr_waiver", "trust"),
        ("multirr_accuracy", "added"),
        ("pram_results", "figure"),
        ("pram_coverage", "category"),
        ("pram_variance", "attribute"),
        ("pram_whole_file", "attribute"),
        ("pram_intruder", "category"),
        ("pram_worst_sets", "members"),
        ("pram_design", "requirements"),
        ("pram_channels", "reported"),
    ):
        said = tables[name][column].astype(str)
        said = said.where(said == "every category", evil + said)  # what pages look for stays
        tables[name] = tables[name].assign(**{column: said})
    tables["multirr_clusters"] = tables["multirr_clusters"].assign(attributes=2)
    release = contents.releases[0]
    estimates = release.tables["estimates"]
    changed = dataclasses.replace(
        contents,
        tables=tables,
        releases=[
            dataclasses.replace(
                release,
                description=dict(release.description, notice=evil),
                tables={**release.tables, "estimates": estimates.assign(categories=evil)},
            )
        ],
        config=evil,
        findings=evil,
    )
    page = render(changed)
    assert "<script" not in page
    assert page.count("&lt;script&gt;") >= 12
    parsed(page)


# -- every section ---------------------------------------------------------------------------------


def test_every_section_is_there_in_order_and_in_the_list_of_contents(page: str) -> None:
    names = [each.id for each in SECTIONS]
    assert re.findall(r'<h2 id="([^"]*)">', page) == names
    listed = page.split("<nav")[1].split("</nav>", maxsplit=1)[0]
    assert re.findall(r'href="#([^"]*)"', listed) == names


@pytest.mark.parametrize("each", SECTIONS, ids=lambda each: each.id)
def test_a_section_says_where_its_numbers_are_and_which_line_computes_them(
    page: str, each: Any
) -> None:
    part = section(page, each.id)
    for name in each.needs:
        origin = MADE_BY[name]
        assert f"{folder_of(name)}/{name}.csv" in part
        assert f"{origin.file}:{origin.line}" in part
        assert f"rule <code>{origin.rule}</code>" in part


@pytest.mark.parametrize("name", [*TABLES, *COMPUTED_TABLES, "privacy", "samplers"])
def test_every_table_stands_on_the_page_with_its_code(page: str, name: str) -> None:
    assert f'href="{folder_of(name)}/{name}.csv"' in page
    assert_in_source(MADE_BY[name])


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_stands_on_the_page_with_its_code(page: str, name: str) -> None:
    assert f'<figure id="figure-{name}">' in page
    assert_in_source(DRAWN_BY[name])
    caption = page.split(f'<figure id="figure-{name}">')[1].split("</figcaption>", maxsplit=1)[0]
    assert len(words(caption.split("<figcaption>")[1])) > 100


def folder_of(table: str) -> str:
    return "audit" if table in AUDITS else "tables"


def assert_in_source(origin: Origin) -> None:
    line = (ROOT / origin.file).read_text(encoding="utf-8").splitlines()[origin.line - 1]
    of_class, _, name = origin.name.rpartition(".")
    assert f"def {name}(" in line or f"class {of_class}(" in line
    rules = "".join(f.read_text("utf-8") for f in (ROOT / "workflow" / "rules").glob("*.smk"))
    assert origin.rule in ANALYSES or f"\nrule {origin.rule}:" in rules


@pytest.mark.parametrize(
    "name", sorted([*TABLES, *COMPUTED_TABLES, "privacy", "samplers"]), ids=lambda name: name
)
def test_a_missing_table_leaves_its_section_out_and_nothing_else(
    contents: Contents, page: str, read_by: dict[str, set[str]], name: str
) -> None:
    named = {each.id for each in SECTIONS if f"/{name}.csv" in section(page, each.id)}
    assert named <= {each for each, names in read_by.items() if name in names}
    without_it, shown = of_readers(contents, read_by, name, None)
    assert re.findall(r'<h2 id="([^"]*)">', without_it) == shown
    inner = {a["href"] for a, _ in Page(without_it).all("a") if str(a["href"]).startswith("#")}
    assert inner <= {f"#{each}" for each in ["top", *shown]}
    assert f"/{name}.csv" not in without_it


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("multirr_fig2", "estimator == 'rr_independent'"),
        ("multirr_fig3", "best == 'paper'"),
        ("multirr_fig3", "method == 'rr_clusters'"),
        ("multirr_adjustment", "measure == 'sweeps'"),
        ("multirr_pairs", "estimator == 'pair_shrunk'"),
        ("multirr_assessment", "method == 'pairs_joint'"),
        ("multirr_assessment", "measure == 'spearman' or t_v == 50"),
        ("multirr_attributes", "t_v == 50"),
        ("multirr_attributes", "t_v == 1"),
        ("multirr_risk", "mechanism == 'rr_independent' or t_v == 6"),
        ("multirr_secure_sum", "parties == 20"),
        ("multirr_linkage", "attribute == 'any'"),
        ("multirr_order", "measure == 'cramers_v'"),
        ("privacy", "p == 0.1"),
        ("multirr_table1", "t_v == 50 and mechanism == 'joint'"),
        ("pram_coverage", "channel == 'neighbours'"),
        ("pram_weights", "design == 'stratified'"),
        ("pram_item_sets", "epsilon == 2 and size == 1"),
        ("pram_item_sets", "epsilon == 2 or size == 1"),
        ("pram_variance", "epsilon == 6"),
        ("pram_whole_file", "mechanism != 'invariant_lazy'"),
        ("pram_invariant", "method == 'resampling'"),
        ("pram_invariant", "method == 'resampling' and estimator == 'shares'"),
        ("pram_invariant", "method == 'two_step_fixed'"),
        ("pram_invariant", "method == 'two_step_fixed' and claim != 'conditional'"),
        ("pram_invariant", "records == 1000 and p == 0.7"),
        ("pram_joint_loss", "epsilon == 1"),
        ("pram_breach_bounds", "epsilon == 1"),
        ("pram_breach_thresholds", "categories == 5"),
        ("pram_approach", "side == 'largest' and mass == 0.9"),
        ("pram_intruder", "p == 0.5"),
        ("pram_worst_sets", "rho_1 == 0.01"),
        ("pram_design", "epsilon == 1"),
    ],
)
def test_what_a_config_does_not_ask_for_is_not_missed(
    contents: Contents, read_by: dict[str, set[str]], name: str, rows: str
) -> None:
    table = contents.tables[name].query(rows)
    assert len(table)
    page, shown = of_readers(contents, read_by, name, table)
    assert re.findall(r'<h2 id="([^"]*)">', page) == shown
    assert " nan" not in words(page)


def test_a_missing_figure_leaves_its_caption_out(contents: Contents) -> None:
    kept = {name: svg for name, svg in contents.figures.items() if name != "multirr_pairs"}
    page = render(dataclasses.replace(contents, figures=kept))
    assert "figure-multirr_pairs" not in page
    assert page.count("<figure") == page.count("<figcaption") == len(kept)


def test_a_run_without_tables_has_a_page(contents: Contents) -> None:
    page = render(dataclasses.replace(contents, tables={}, figures={}))
    assert re.findall(r'<h2 id="([^"]*)">', page) == [e.id for e in SECTIONS if not e.needs]


def test_without_the_table_of_claims_nothing_is_said_of_them(contents: Contents, page: str) -> None:
    without_them = render(without(contents, "multirr_claims"))
    assert '<h2 id="claims">' not in without_them
    assert "claims in words" not in words(section(without_them, "glance"))
    assert "claims in words" in words(section(page, "glance"))


def test_a_run_without_releases_and_printed_numbers_has_a_page(contents: Contents) -> None:
    emptied = ("samplers", "multirr_agreement", "multirr_threshold_trend")
    tables = {name: contents.tables[name].iloc[:0] for name in emptied}
    page = render(
        dataclasses.replace(
            contents,
            releases=[],
            tables=dict(contents.tables) | tables,
        )
    )
    assert "The config names none." in page
    assert "There are no releases to test." in page


# -- tables as the paper prints them ---------------------------------------------------------------


def test_all_72_cells_of_both_tables_are_there_with_sign_and_colour(
    page: str, contents: Contents
) -> None:
    for name in ("multirr_table1", "multirr_table2"):
        part = section(page, name).split("<details>", maxsplit=1)[0]
        cells = re.findall(r'<td class="(agrees|differs)" title="[^"]*">\s([\d.]+) (.)</td>', part)
        expected = [
            (row["verdict"], f"{row['regenerated']:.3f}", SIGN[row["verdict"]])
            for row in contents.tables[name].to_dict("records")
        ]
        assert len(cells) == 72
        assert sorted(cells) == sorted(expected)
        printed = re.findall(r'<td class="group">([\d.]+)</td>', part)
        assert len(printed) == 36
        assert set(printed) == {f"{v:.3f}" for v in contents.tables[name]["published"]}


@pytest.mark.parametrize("verdict", SIGN)
def test_every_verdict_has_a_sign(verdict: str) -> None:
    assert SIGN[verdict].strip()


@pytest.mark.parametrize(
    "kind", [("agrees", "differs", "surrogate"), ("holds", "fails", "undecided", "depends")]
)
def test_verdicts_are_told_apart_without_colours(page: str, kind: tuple[str, ...]) -> None:
    assert len({SIGN[verdict] for verdict in kind}) == len(kind)
    for verdict in kind:
        for cell in re.findall(rf'<td class="[^"]*\b{verdict}\b[^"]*"[^>]*>(.*?)</td>', page):
            assert SIGN[verdict] in cell, cell


def test_what_is_said_on_hovering_can_also_be_read(page: str) -> None:
    for name in ("multirr_table1", "multirr_fig3", "claims"):
        part = section(page, name)
        titles = re.findall(r'title="([^"]*)"', part)
        below = words(part.split("<details>", maxsplit=1)[1])
        assert titles
        for title in titles:
            numbers = re.findall(r"0\.\d{3}|[\d.]+ %", title.replace("95 %", ""))
            assert all(number in below for number in numbers), title


# -- claims in words -------------------------------------------------------------------------------


def test_claims_are_a_grid_of_readings(page: str) -> None:
    grid = section(page, "claims").split("<details>", maxsplit=1)[0]
    rows = [re.findall(r"<td.*?</td>", row) for row in grid.split("<tr>")[3:]]
    seen = [
        [(int(re.search(r'colspan="(\d)"', c)[1]), words(c).strip()) for c in row[1:-1]]  # type: ignore[index]
        for row in rows
    ]
    assert seen == [
        [(2, "✓ 18 : 0"), (2, "✓ 18 : 0")],
        [(1, "✗ 18 : 0"), (1, "? 18 : 0"), (1, "✓ 18 : 0"), (1, "–")],
        [(4, "✗ 18 : 0")],
    ]
    assert [words(row[-1]).strip() for row in rows] == ["✓ holds", "≠ depends", "✗ fails"]
    assert [words(row[0]).strip() for row in rows] == [
        f"{claim} grows with Tv &lt;b&gt; 6.5, Table 1" for claim in ("gain", "best", "trend")
    ]


def test_claims_are_summed_up(page: str) -> None:
    assert "1 of 3claims in words hold however the text is read; 1 fail; 1 depend" in words(
        section(page, "glance")
    )
    said = words(section(page, "claims"))
    assert "Of 3 claims 1 hold under every reading, 1 fail under every reading and 1 depend" in said
    assert "RR-Clusters below RR-Independent at σ = .1" in said


# -- surrogate data --------------------------------------------------------------------------------


def test_the_banner_stands_on_surrogate_data_and_only_there(page: str, surrogate_page: str) -> None:
    assert "SURROGATE DATA" not in page.replace("SURROGATE DATA: records drawn", "", 0)
    assert 'class="banner"' not in page
    assert surrogate_page.count('<div class="banner" role="alert">SURROGATE DATA') == 1
    assert "because" in surrogate_page
    assert "because" not in words(section(page, "run"))


def test_no_verdict_is_given_on_surrogate_data(surrogate_page: str) -> None:
    page = surrogate_page
    for name in ("multirr_table1", "multirr_table2", "readings"):
        part = section(page, name)
        assert not re.search(r'<td class="[^"]*(agrees|differs)', part), name
    claims = section(page, "claims").split("<thead>", maxsplit=1)[1]
    assert not re.search(r'class="[^"]*(holds|fails|undecided|depends)', claims)
    assert "s no verdict" in words(claims)
    assert words(section(page, "glance")).count("no verdict") == 3
    # Example 1 rests on no data.
    assert "✓ agrees" in words(section(page, "adjustment"))


# -- the other sections ----------------------------------------------------------------------------


def test_an_attribute_is_shown_under_every_reading(page: str, contents: Contents) -> None:
    part = words(section(page, "about"))
    assert "the attribute colour with its 3 categories, at p = 0.7" in part
    keep = contents.tables["multirr_propagation"].query(
        "attribute == 'colour' and reading == 'keep' and p == 0.7"
    )
    assert keep["diagonal_weight"].iloc[0] == pytest.approx(0.7)
    assert "80.0 % 10.0 %" in re.sub(r"draws any category ?", "", part) or "80.0 %10.0 %" in part
    assert "of the 6 cells of colour and smokes, σ = 0.3 asks for 2" in part


def test_example_1_is_shown_in_fractions(page: str) -> None:
    part = section(page, "adjustment")
    for fraction in ("1/12", "(2/3, 1/3)", "3/32", "1/84"):
        assert fraction in part, fraction
    assert words(part).count("✓ agrees") == 5
    assert "the value that λ₂ takes is that of π̂²" in words(part)


def test_bounds_are_told_in_words(page: str) -> None:
    part = words(section(page, "bounds"))
    assert "With 4 of them and 500 records there are 48 combinations, 10.4 records for each" in part
    assert "Covariances under keep: 100 %." in part


def test_the_secure_sum_is_beside_its_formula(page: str) -> None:
    part = words(section(page, "assessment"))
    assert "all counts equal those of the records" in part
    assert "4,800" in part  # 12 cells x 20 x 20
    assert "✗ never" in part
    assert "exact ε" in part


def test_broken_claims_are_listed(page: str, contents: Contents) -> None:
    broken = int((~contents.tables["privacy"]["holds"]).sum())
    assert broken
    part = page.split("Claims that do not hold")[1].split("Samplers against", maxsplit=1)[0]
    assert part.count("✗</td>") == broken


def test_all_rows_of_the_account_of_risk_are_there(page: str, contents: Contents) -> None:
    rows = section(page, "risk").split("<details>")[1].count("<tr")
    assert rows == len(contents.tables["multirr_risk"]) + 1


def test_numbered_results_are_shown_with_their_verdicts(page: str, contents: Contents) -> None:
    part = section(page, "pram_results")
    table = contents.tables["pram_results"]
    assert len(re.findall(r'<td class="l holds">✓ holds</td>', part)) == len(table)
    assert f"All {len(table)} do" in words(part)
    assert f"{len(table)} of {len(table)}numbered results" in words(section(page, "glance"))


def test_a_numbered_result_that_fails_is_named(contents: Contents) -> None:
    table = contents.tables["pram_results"]
    broken = table.assign(verdict=["fails", *table["verdict"][1:]])
    tables = contents.tables | {"pram_results": broken}
    part = alone(dataclasses.replace(contents, tables=tables), "pram_results")
    assert f"{len(table) - 1} of {len(table)} do; (1.1) does not" in words(part)
    assert part.count('<td class="l fails">✗ fails</td>') == 1


def test_only_what_rests_on_no_data_has_a_verdict_under_pram(
    page: str, surrogate_page: str
) -> None:
    for each in PARTS["PRAM and the theory of channels"]:
        for shown in (page, surrogate_page):
            coloured = re.search(
                r'class="[^"]*(agrees|differs|holds|fails)', section(shown, each.id)
            )
            assert bool(coloured) == (each.id == "pram_results"), each.id


def test_what_an_invariant_matrix_gives_away_is_said_with_numbers(
    page: str, contents: Contents
) -> None:
    part = words(section(page, "pram_variance"))
    made = contents.tables["pram_whole_file"].query("mechanism != 'resampling'")
    assert "Invariant PRAM is not differentially private at the ε of its matrix." in part
    assert f"in every one of {len(made)} cases" in part
    assert f"{len(made)} of {len(made)}attributes" in words(section(page, "glance"))


def test_printed_cells_are_said_to_have_the_runs_that_they_have(contents: Contents) -> None:
    tables = dict(contents.tables)
    tables["pram_coverage"] = tables["pram_coverage"].assign(replicates=123_456)
    part = words(alone(dataclasses.replace(contents, tables=tables), "glance"))
    assert "up to 50 runs a cell" in part


def test_a_design_that_is_worse_is_not_passed_over(page: str, contents: Contents) -> None:
    assert "In 1 of 3 comparisons it is worse" in words(section(page, "pram_design"))
    assert "2 of 3comparisons" in words(section(page, "glance"))
    better = contents.tables["pram_design"].query("attribute == 'colour'")
    changed = dataclasses.replace(contents, tables=contents.tables | {"pram_design": better})
    assert "In none of 2 comparisons is it worse" in words(alone(changed, "pram_design"))


def test_a_release_says_what_was_made_from_it(page: str, contents: Contents) -> None:
    part = words(section(page, "releases"))
    assert f"{contents.releases[0].adjustment['sweeps']} sweeps to a gap of" in part
    assert "nothing left out" in part
    assert "pairs inside a cluster" in part
    assert "match clusters at random" in part


def test_what_an_adjustment_left_out_is_named(contents: Contents) -> None:
    release = contents.releases[0]
    gone = {"attributes": ["colour", "owner"], "categories": ["red", "yes"], "target": 0.0125}
    changed = dataclasses.replace(release, adjustment=dict(release.adjustment, left_out=[gone]))
    part = words(alone(dataclasses.replace(contents, releases=[changed]), "releases"))
    assert "colour × owner = red × yes (1.25 %)" in part


def of_lane(contents: Contents, table: str) -> list[ReleaseFiles]:
    """Return the releases that have a table."""
    return [files for files in contents.releases if table in files.tables]


def test_a_release_that_is_no_rehearsal_has_no_checks(contents: Contents) -> None:
    release = contents.releases[0]
    estimates = {"estimates": release.tables["estimates"]}
    real = ReleaseFiles(release.description, estimates, release.adjustment)
    part = words(alone(dataclasses.replace(contents, releases=[real]), "releases"))
    assert "against the truth" not in part
    assert "weighted reports say as much as" in part


def test_a_release_of_numbers_shows_what_is_claimed_proved_and_found(
    page: str, contents: Contents
) -> None:
    part = section(page, "releases")
    table = part.split("claimed, proved and measured")[1].split("</tbody>")[0]
    idp, histograms = (re.sub(r"\s+", " ", row) for row in table.split("<tr>")[2:])
    assert "numbers_idp" in idp
    assert "<td>infinite</td>" in idp
    # All centroids together and the records break the claim, each in a cell of its own.
    assert idp.count('class="fails"') == 3
    assert "✗ ∞ ×" in idp
    assert "numbers_numeric_dp" in histograms
    assert histograms.count('class="holds">✓ 1.00 ×') == 3
    for files in of_lane(contents, "utility"):
        sse = files.tables["utility"].set_index("measure")["value"]["mean SSE"]
        assert f"<td>{report.short(float(sse))}</td>" in table
        for verdict in files.description["privacy"]["verdicts"]:
            assert verdict["why"] in html.unescape(words(part))
    assert "over 2 redraws the intervals cover" in words(part)
    assert "prove, whatever code made them" in words(part)
    assert "for the owner: audit.csv" in words(part)


def test_a_release_of_numbers_that_is_no_rehearsal_shows_no_truth(contents: Contents) -> None:
    files = of_lane(contents, "audit")[0]
    said = dict(files.description, rehearsal=False, notice="drawn once")
    kept = {name: files.tables[name] for name in ("audit", "estimates")}
    changed = dataclasses.replace(contents, releases=[ReleaseFiles(said, kept)])
    part = alone(changed, "releases")
    assert "<th>true</th>" not in part
    assert "utility.csv" not in part
    assert "redraws" not in part
    assert "The config names none" not in part
    empty = dataclasses.replace(contents, releases=[])
    assert "The config names none" in alone(empty, "releases")


def test_a_collection_shows_what_is_claimed_and_what_is_exact(
    page: str, contents: Contents
) -> None:
    part = words(section(page, "releases"))
    (files,) = of_lane(contents, "independence")
    privacy = files.description["privacy"]
    assert "Collections by RRBA" in part
    assert f"{privacy['epsilon']:.3f} at most" in part
    for row in privacy["by_cells"]:
        assert f"{row['cells']} cells: exact {row['epsilon']:.3f}, claimed 0.693" in part
    dependent = files.tables["check"]["dependent"]
    rejected = files.tables["check"]["rejected"]
    assert f"Of {(~dependent).sum()} tables that are independent in the network" in part
    both = (rejected & ~dependent).sum(), (rejected & dependent).sum()
    assert f"{both[0]} and {both[1]} by each test by itself" in part
    assert f"{report.short(files.tables['check']['l2_consistent'].mean())} consistent" in part
    assert f"{rejected.sum()} rejected at 5 % by each test by itself" in part


def test_a_collection_that_is_no_rehearsal_shows_no_truth(contents: Contents) -> None:
    (files,) = of_lane(contents, "independence")
    said = dict(files.description, rehearsal=False, notice="drawn once")
    kept = {name: files.tables[name] for name in ("margins", "independence")}
    changed = dataclasses.replace(contents, releases=[ReleaseFiles(said, kept)])
    part = alone(changed, "releases")
    assert "tables beside the truth" not in part
    assert "check.csv" not in part
    assert "The config names none" not in part
    # Of a user's own file nobody knows the population.
    check = files.tables["check"].assign(dependent=np.nan)
    unknown = dataclasses.replace(files, tables={**files.tables, "check": check})
    part = alone(dataclasses.replace(contents, releases=[unknown]), "releases")
    assert "tables beside the truth" in part
    assert "tests against the population" not in part


def test_distances_are_means_by_kind_of_table() -> None:
    check = pd.DataFrame(
        [("a", True, 0.1), ("b", True, 0.3), ("a x b", True, 0.5), ("a x c", False, 0.7)],
        columns=["attributes", "one_cluster", "protected"],
    ).assign(synthetic=0.2, adjusted=0.1, synthetic_from="adjustment")
    found = distances(check)
    assert [(row["kind"], row["tables"], row["protected"]) for row in found["rows"]] == [
        ("single attributes", 2, pytest.approx(0.2)),
        ("pairs inside a cluster", 1, 0.5),
        ("pairs across clusters", 1, 0.7),
    ]
    assert found["synthetic_from"] == "adjustment"


def test_the_findings_are_set_as_text_with_tables(page: str) -> None:
    part = section(page, "findings")
    assert "<strong>bold</strong>" in part
    assert "<td>1</td>" in part
    assert "<h3>On</h3>" in part
    assert "This run is another one" in part


@pytest.mark.parametrize(
    ("findings", "changes", "same"),
    [
        ("seed 1, 1,000 runs; for some 50 runs", {}, True),
        ("seed 1, 1,000 runs", {}, False),
        ("seed 2, 1,000 runs, 50 runs", {}, False),
        ("seed 1, 50 runs", {}, False),
        ("nothing", {}, False),
        ("seed 1, 1,000 runs, 50 runs", {"tables": {}}, False),
    ],
)
def test_findings_are_about_a_run_of_their_seed_and_size(
    contents: Contents, findings: str, changes: dict[str, Any], same: bool
) -> None:
    sizes = {"multirr_table1": pd.DataFrame({"replicates": [1000, 1000]})}
    sizes["pram_weights"] = pd.DataFrame({"replicates": [50]})
    sizes["multirr_linkage"] = pd.DataFrame({"replicates": [3]})  # filled by no study
    settings = {"tables": sizes, "findings": findings} | changes
    assert is_run_of_findings(dataclasses.replace(contents, **settings)) == same


def test_findings_are_about_no_surrogate(of_surrogate: Contents) -> None:
    assert not is_run_of_findings(
        dataclasses.replace(of_surrogate, findings="seed 1, 50 runs of 20 runs")
    )


def test_the_run_is_described(page: str, contents: Contents) -> None:
    part = section(page, "run")
    assert "0" * 64 in part
    for name, version in contents.facts.items():
        assert name in part
        assert version in part
    assert "seed: 1" in part


# -- reading the files -----------------------------------------------------------------------------


def test_a_category_may_be_called_what_others_call_missing(
    small_data: Microdata, tmp_path: Path
) -> None:
    files = SimpleNamespace(
        **{name: [] for name in ("figures", "audits", "releases", "sources")},
        tables=[str(tmp_path / "t.csv")],
        findings=str(tmp_path / "findings.md"),
    )
    write_table(tmp_path / "t.csv", pd.DataFrame({"a": ["NA", "None", None], "b": [1, np.inf, 2]}))
    write_text(tmp_path / "findings.md", "")
    table = gather(files, {"seed": 1}).tables["t"]
    assert table["a"].tolist()[:2] == ["NA", "None"]
    assert table["a"].isna().tolist() == [False, False, True]
    assert table["b"].tolist() == [1, np.inf, 2]


def test_no_object_is_shown_by_its_address(page: str) -> None:
    # A key such as "update" is a method of a row where a template asks for it with a dot.
    assert not re.search(r" at 0x[0-9a-f]{6,}|built-in method|&lt;bound method", page)
