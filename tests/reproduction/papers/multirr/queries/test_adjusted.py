"""Figure 3's runs against Algorithm 2 in loops over records, and against the level of counts."""

import itertools
import math
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tests.simulations import of_random_sets, outputs_of
from tests.slow_variants import slow

from deniable.randomized_response.protocols import Protocol, rr_channel, rr_clusters, rr_independent
from deniable.records.categorical import Microdata
from deniable.records.domain import Attribute, Domain

from reproduction.papers.multirr.queries.adjusted import METHODS, WORK, AdjustedQueries
from reproduction.papers.multirr.queries.clusters import ClusterQueries
from reproduction.study.engine import replicate

# Each comparison of two samples fails by chance once in 10,000 times.
ERROR_RATE = 1e-4
RUNS = 500
SIGMAS = (0.2, 0.5)
PROJECTIONS = ("clip", "simplex", "likelihood")
TOGETHER = ({"colour", "smokes"}, {"region", "owner"})
TOLERANCE = 1e-6  # of a margin's gap; where RR-Adjustment stops
MAX_SWEEPS = 1000

Reports = list[tuple[Protocol, Microdata]]


def cell_of(**settings: Any) -> dict[str, Any]:
    base = {"matrix": "keep", "mechanism": "joint", "p": 0.5, "t_d": 0.5, "t_v": 8, "best": "both"}
    return base | settings


def with_clusters(queries: Any, together: Sequence[set[str]] = TOGETHER) -> Any:
    """Give a study's simulation the dependences that lead to the clusters wanted."""
    rows = [
        (a, b, "cramers_v", 0.9 if {a, b} in together else 0.1)
        for a, b in itertools.combinations(queries.data.domain.names, 2)
    ]
    columns = ["attribute_1", "attribute_2", "measure", "dependence"]
    queries.__dict__["dependences"] = lambda _: pd.DataFrame(rows, columns=columns)
    return queries


def queries_of(
    data: Microdata,
    projections: tuple[str, ...] = PROJECTIONS,
    together: Sequence[set[str]] = TOGETHER,
) -> AdjustedQueries:
    queries = AdjustedQueries(data, SIGMAS, projections)
    return with_clusters(queries, together)  # type: ignore[no-any-return]


def column(queries: AdjustedQueries, values: np.ndarray, **output: Any) -> np.ndarray:
    """Return the runs of one output, shape (runs, pairs)."""
    names = enumerate(outputs_of(queries, cell_of()))
    (found,) = [number for number, each in names if output.items() <= each.items()]
    return values[:, found]


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Any]]:
    """Record what is drawn: the reports with their protocols, and the pairs with their queries."""
    found: dict[str, list[Any]] = {"reports": [], "asked": []}
    randomize, ask = Protocol.randomize, AdjustedQueries._ask

    def recorded(self: Protocol, data: Microdata, source: Any) -> Microdata:
        reports = randomize(self, data, source)
        found["reports"].append((self, reports))
        return reports

    def asked(self: AdjustedQueries, generator: Any, replicates: int) -> Any:
        queries = ask(self, generator, replicates)
        found["asked"] += zip(self.pairs, queries, strict=True)
        return queries

    monkeypatch.setattr(Protocol, "randomize", recorded)
    monkeypatch.setattr(AdjustedQueries, "_ask", asked)
    return found


@pytest.fixture
def _only_singular_warns() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.filterwarnings("ignore", "the channel over . cells is singular", RuntimeWarning)
        yield


# -- the reference: records, cells and queries in loops --------------------------------------------

Cell = tuple[int, ...]
Table = dict[Cell, float]


def slow_estimate(protocol: Protocol, reports: Microdata, cluster: tuple[str, ...]) -> Table:
    """Equation (2) by linear equations, then what 6.4 does: clip and rescale."""
    sizes = [reports.domain[name].size for name in cluster]
    cells = list(itertools.product(*map(range, sizes)))
    matrix = protocol.channel_of(cluster).matrix()
    frequencies = dict.fromkeys(cells, 0.0)
    for record in zip(*(reports.column(name).tolist() for name in cluster), strict=True):
        frequencies[record] += 1 / len(reports)
    if np.ptp(matrix) < 1e-9:  # the reports tell nothing
        return dict.fromkeys(cells, 1 / len(cells))
    estimate = np.linalg.solve(matrix.T, list(frequencies.values())).clip(0)
    return dict(zip(cells, (estimate / estimate.sum()).tolist(), strict=True))


def algorithm_2(
    columns: list[list[Cell]], targets: list[Table]
) -> tuple[list[float], int, float, float]:
    """[multirr], section 5, line by line; returns weights, sweeps, gap, and what was left out."""
    n = len(columns[0])
    live = [
        all(target[column[i]] > 0 for column, target in zip(columns, targets, strict=True))
        for i in range(n)
    ]
    left_out = 0.0
    reachable = []
    for column, target in zip(columns, targets, strict=True):
        met = {column[i] for i in range(n) if live[i]}
        kept = {v: share if v in met else 0.0 for v, share in target.items()}
        left_out += sum(target.values()) - sum(kept.values())
        reachable.append({v: share / sum(kept.values()) for v, share in kept.items()})
    w = [1 / n] * n  # line 4
    for sweep in range(1, MAX_SWEEPS + 1):  # line 5
        moved = 0.0
        for y, pi in zip(columns, reachable, strict=True):  # line 6
            s = margin(y, w, pi)  # lines 11 to 13
            moved = max(moved, *(abs(s[v] - pi[v]) for v in pi))
            for i in range(n):  # lines 14 to 17
                if s[y[i]]:  # else the weights are 0 already
                    w[i] = w[i] * pi[y[i]] / s[y[i]]
        if moved <= TOLERANCE or sweep == MAX_SWEEPS:
            found = [margin(y, w, pi) for y, pi in zip(columns, reachable, strict=True)]
            gaps = [abs(s[v] - pi[v]) for s, pi in zip(found, reachable, strict=True) for v in pi]
            return w, sweep, max(gaps), left_out
    raise AssertionError


def margin(y: list[Cell], w: list[float], pi: Table) -> Table:
    s = dict.fromkeys(pi, 0.0)
    for value, weight in zip(y, w, strict=True):
        s[value] += weight
    return s


def slow_run(
    data: Microdata, reports: Reports, pair: tuple[str, str], queries: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return one run's relative errors (coverages, methods) and work (adjustments, what)."""
    cells = list(itertools.product(*(range(data.domain[name].size) for name in pair)))
    answers: dict[str, Table] = {}
    work = []
    for name, (protocol, records) in zip(METHODS, reports, strict=False):
        targets = [slow_estimate(protocol, records, c) for c in protocol.clusters]
        columns = [
            list(zip(*(records.column(each).tolist() for each in c), strict=True))
            for c in protocol.clusters
        ]
        weights, *told = algorithm_2(columns, targets)
        work.append(told)
        answers[name], answers[f"{name}_adjustment"] = {}, dict.fromkeys(cells, 0.0)
        for codes in cells:
            wanted = dict(zip(pair, codes, strict=True))
            share = 1.0
            for cluster, target in zip(protocol.clusters, targets, strict=True):
                fits = [i for i, each in enumerate(cluster) if each in wanted]
                share *= sum(
                    value
                    for place, value in target.items()
                    if all(place[i] == wanted[cluster[i]] for i in fits)
                )
            answers[name][codes] = share
        pairs = zip(*(records.column(each).tolist() for each in pair), strict=True)
        for codes, weight in zip(pairs, weights, strict=True):
            answers[f"{name}_adjustment"][codes] += weight
    true = dict.fromkeys(cells, 0)
    for codes in zip(*(data.column(each).tolist() for each in pair), strict=True):
        true[codes] += 1
    errors = []
    for query in queries:
        asked = [codes for codes, wanted in zip(cells, query, strict=True) if wanted]
        X = sum(true[codes] for codes in asked)
        Y = {m: len(data) * sum(answers[m][codes] for codes in asked) for m in METHODS}
        errors.append([abs(Y[m] - X) / X if X else math.inf if Y[m] else 0.0 for m in METHODS])
    return np.array(errors), np.array(work)


def tiny_data() -> Microdata:
    """60 records over nine shades, which printed p = .1 says nothing of, and three other things."""
    generator = np.random.default_rng(5)
    domain = Domain(
        (
            Attribute("shade", tuple("abcdefghi")),
            Attribute("colour", ("blue", "red", "green")),
            Attribute("region", ("N", "E", "S", "W")),
            Attribute("owner", ("no", "yes")),
        )
    )
    colour = generator.choice(3, 60, p=[0.6, 0.3, 0.1])
    columns = (
        generator.integers(0, 9, 60),
        colour,
        (colour + generator.choice(4, 60, p=[0.8, 0.2, 0, 0])) % 4,
        generator.integers(0, 2, 60),
    )
    return Microdata(domain, columns, {"data_source": "original"})


OF_TINY = ({"colour", "region"},)
SETTINGS = [
    slow("small", "joint", "keep", 0.5),
    ("small", "kronecker", "keep", 0.5),
    ("small", "joint", "printed", 0.1),
    ("small", "kronecker", "printed", 0.1),
    ("tiny", "kronecker", "keep", 0.5),
    ("tiny", "joint", "diagonal", 0.6),
    ("tiny", "kronecker", "printed", 0.1),
    ("tiny", "joint", "printed", 0.1),
]


@pytest.mark.usefixtures("_only_singular_warns")
@pytest.mark.parametrize(("which", "mechanism", "matrix", "p"), SETTINGS)
def test_a_run_is_what_the_text_says(
    small_data: Microdata,
    drawn: dict[str, list[Any]],
    which: str,
    mechanism: str,
    matrix: str,
    p: float,
) -> None:
    data, together, runs = (
        (small_data, TOGETHER, 3) if which == "small" else (tiny_data(), OF_TINY, 8)
    )
    queries = queries_of(data, ("clip",), together)
    cell = cell_of(mechanism=mechanism, matrix=matrix, p=p, t_v=12)
    values = queries(cell, np.random.default_rng(3), runs)[1]
    alone, grouped = (drawn["reports"][:runs], drawn["reports"][runs:])
    if mechanism == "kronecker":
        assert grouped == []  # the same reports; the clusters are only estimated together
        protocol = rr_clusters(data.domain, queries.clusters(cell), p, matrix, "kronecker")
        grouped = [(protocol, records) for _, records in alone]
    assert max(map(len, grouped[0][0].clusters)) == 2
    for run in range(runs):
        nth = run % len(queries.pairs)
        pair, asked = drawn["asked"][nth]
        errors, work = slow_run(data, [alone[run], grouped[run]], pair, asked[run])
        for (number, sigma), (place, method) in itertools.product(
            enumerate(SIGMAS), enumerate(METHODS)
        ):
            ours = column(queries, values, measure="relative_error", sigma=sigma, method=method)
            assert ours[run, nth] == pytest.approx(errors[number, place], rel=1e-8, abs=1e-9)
        for (place, method), (number, what) in itertools.product(
            enumerate(METHODS[2:]), enumerate(WORK)
        ):
            ours = column(queries, values, measure=what, method=method)
            assert ours[run, nth] == pytest.approx(work[place, number], rel=1e-9, abs=1e-12)


@pytest.mark.usefixtures("_only_singular_warns")
def test_targets_without_records_are_told_not_warned_of() -> None:
    queries = queries_of(tiny_data(), together=OF_TINY)
    cell = cell_of(mechanism="kronecker", t_v=12)
    values = queries(cell, np.random.default_rng(1), 40)[1]
    for projection in PROJECTIONS:
        told = {
            (what, method): column(
                queries, values, measure=what, method=method, projection=projection
            )
            for what in WORK
            for method in METHODS[2:]
        }
        clusters = told["left_out", "rr_clusters_adjustment"]
        if projection == "likelihood":  # whose best distribution has nothing there
            assert not clusters.any()
        else:
            assert 0 < np.mean(clusters > 0) < 1  # runs of both kinds
        assert np.all((clusters >= 0) & (clusters < 1))
        for method in METHODS[2:]:
            sweeps, gap = told["sweeps", method], told["gap", method]
            assert np.all((sweeps >= 1) & (sweeps == sweeps.round()))
            assert np.all((gap >= 0) & ((gap <= TOLERANCE) | (sweeps == MAX_SWEEPS)))


def test_an_erased_attribute_warns_once_a_cell_and_projection_and_protocol() -> None:
    queries = queries_of(tiny_data(), together=OF_TINY)
    cell = cell_of(matrix="printed", p=0.1, t_v=12)
    for runs in (1, 20):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            values = queries(cell, np.random.default_rng(2), runs)[1]
        assert {str(each.message).split(":")[0] for each in said} == {
            "the channel over 9 cells is singular"
        }
        assert len(said) == 2 * len(PROJECTIONS)
        work = 2 * len(WORK) * len(PROJECTIONS)
        assert np.all(np.isfinite(values[:, -work:]))
        assert not np.any(np.isnan(values))


# -- distributions ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mechanism", "matrix", "p"),
    [("joint", "keep", 0.5), slow("kronecker", "printed", 0.5), slow("kronecker", "keep", 0.3)],
)
def test_without_adjustment_errors_are_those_of_counts(
    small_data: Microdata, mechanism: str, matrix: str, p: float
) -> None:
    cell = cell_of(mechanism=mechanism, matrix=matrix, p=p)
    queries = queries_of(small_data, ("clip", "likelihood"))
    records = queries(cell, np.random.default_rng(1), RUNS)[1]
    for projection, sigma in itertools.product(("clip", "likelihood"), SIGMAS):
        counts = with_clusters(ClusterQueries(small_data, sigma))
        for method, t_v in (("rr_clusters", 8), ("rr_independent", 1)):
            other = cell | {"t_v": t_v, "dataset": "adult", "projection": projection}
            output = {"projection": projection, "sigma": sigma, "method": method}
            slow = of_random_sets(column(queries, records, against=None, **output), 3)
            fast = counts(other, np.random.default_rng(2), 3 * RUNS)[1]
            fast = of_random_sets(fast[:, 0], 4)
            assert stats.ks_2samp(slow, fast).pvalue > ERROR_RATE, (projection, sigma, method)


def test_the_comparison_sees_a_small_difference(small_data: Microdata) -> None:
    queries = queries_of(small_data, ("clip",))
    output = {"sigma": 0.2, "method": "rr_clusters"}
    one, other = (
        of_random_sets(
            column(
                queries, queries(cell_of(p=p), np.random.default_rng(p > 0.5), 300)[1], **output
            ),
            3,
        )
        for p in (0.5, 0.7)
    )
    assert stats.ks_2samp(one, other).pvalue < ERROR_RATE


# -- one randomization, the same queries -----------------------------------------------------------


def test_outputs_are_named_in_the_order_of_the_columns(small_data: Microdata) -> None:
    queries = queries_of(small_data, ("simplex", "clip"))
    outputs = outputs_of(queries, cell_of())
    assert outputs == [
        {
            "measure": "relative_error",
            "projection": projection,
            "sigma": sigma,
            "method": method,
            "against": None,
        }
        for projection in ("simplex", "clip")
        for sigma in (0.2, 0.5)
        for method in (
            "rr_independent",
            "rr_clusters",
            "rr_independent_adjustment",
            "rr_clusters_adjustment",
        )
    ] + [
        {
            "measure": measure,
            "projection": projection,
            "sigma": None,
            "method": method,
            "against": None,
        }
        for projection in ("simplex", "clip")
        for method in ("rr_independent_adjustment", "rr_clusters_adjustment")
        for measure in ("sweeps", "gap", "left_out")
    ]
    assert queries(cell_of(), np.random.default_rng(1), 3)[1].shape == (3, len(outputs), 6)


def test_each_method_is_compared_with_those_before_it(small_data: Microdata) -> None:
    queries = queries_of(small_data, ("simplex", "clip"))
    outputs = outputs_of(queries, cell_of())
    compared = queries.compared(outputs)
    assert len(compared) == 2 * 2 * 6 * 2  # projections, coverages, pairs of methods, hows
    for name, how, (first, second) in compared:
        assert name["measure"] == f"relative_error_{how}"
        one, other = outputs[first], outputs[second]
        assert (one["method"], other["method"]) == (name["method"], name["against"])
        for same in ("projection", "sigma"):
            assert one[same] == other[same] == name[same]
        assert METHODS.index(one["method"]) > METHODS.index(other["method"])


@pytest.mark.parametrize("mechanism", ["joint", "kronecker"])
def test_runs_depend_on_the_stream_alone(small_data: Microdata, mechanism: str) -> None:
    cell = cell_of(mechanism=mechanism)
    used, fresh = queries_of(small_data), queries_of(small_data)
    used(cell_of(p=0.9), np.random.default_rng(9), 5)
    ours = used(cell, np.random.default_rng(1), 20)[1]
    np.testing.assert_array_equal(ours, fresh(cell, np.random.default_rng(1), 20)[1])
    assert not np.array_equal(ours, fresh(cell, np.random.default_rng(2), 20)[1])


@pytest.mark.parametrize("mechanism", ["joint", "kronecker"])
@pytest.mark.parametrize("projection", PROJECTIONS)
def test_projections_change_neither_reports_nor_queries(
    small_data: Microdata, mechanism: str, projection: str
) -> None:
    cell = cell_of(mechanism=mechanism, p=0.2)
    every, alone = queries_of(small_data), queries_of(small_data, (projection,))
    all_values = every(cell, np.random.default_rng(1), 10)[1]
    values = alone(cell, np.random.default_rng(1), 10)[1]
    names = enumerate(outputs_of(every, cell))
    of_projection = [number for number, each in names if each["projection"] == projection]
    np.testing.assert_array_equal(all_values[:, of_projection], values)


def test_attribute_by_attribute_one_randomization_serves_both_protocols(
    small_data: Microdata, drawn: dict[str, list[Any]]
) -> None:
    queries = queries_of(small_data)
    queries(cell_of(mechanism="kronecker"), np.random.default_rng(1), 7)
    assert len(drawn["reports"]) == 7
    queries(cell_of(mechanism="joint"), np.random.default_rng(1), 7)
    assert len(drawn["reports"]) == 7 + 14
    # Without any cluster both methods are then one.
    output = {"projection": "clip", "sigma": 0.2}
    for mechanism, same in (("kronecker", True), ("joint", False)):
        cell = cell_of(mechanism=mechanism, t_v=1)
        values = queries(cell, np.random.default_rng(1), 7)[1]
        one, other = (
            column(queries, values, method=method, **output)
            for method in ("rr_independent", "rr_clusters")
        )
        assert np.array_equal(one, other) == same


def test_each_run_asks_about_every_pair(small_data: Microdata, drawn: dict[str, list[Any]]) -> None:
    queries_of(small_data)(cell_of(), np.random.default_rng(1), 60)
    pairs = [pair for pair, _ in drawn["asked"]]
    assert pairs == list(itertools.combinations(small_data.domain.names, 2))
    for pair, asked in drawn["asked"]:
        cells = small_data.domain.project(pair).size
        assert asked.shape == (60, len(SIGMAS), cells)
        expected = [math.ceil(sigma * cells - 1e-9) for sigma in SIGMAS]
        assert (asked.sum(axis=2) == expected).all()


@pytest.mark.parametrize("mechanism", ["joint", "kronecker"])
def test_nothing_randomized_leaves_only_the_error_of_independence(
    small_data: Microdata, drawn: dict[str, list[Any]], mechanism: str
) -> None:
    queries = queries_of(small_data, ("clip", "simplex"))
    cell = cell_of(mechanism=mechanism, matrix="diagonal", p=1 - 1e-12)
    values = queries(cell, np.random.default_rng(1), 60)[1]
    inside = np.array([set(pair) in TOGETHER for pair, _ in drawn["asked"]])
    assert 0 < inside.sum() < inside.size
    for projection, sigma in itertools.product(("clip", "simplex"), SIGMAS):
        of = {
            method: column(queries, values, projection=projection, sigma=sigma, method=method)
            for method in METHODS
        }
        # Reports are the truth, so their own joint distribution has all margins already ...
        for method in METHODS[2:]:
            np.testing.assert_allclose(of[method], 0, atol=1e-9)
        # ... and a pair inside a cluster has lost nothing; outside, methods without adjustment
        # take independence for granted, each the same.
        np.testing.assert_allclose(of["rr_clusters"][:, inside], 0, atol=1e-9)
        np.testing.assert_allclose(
            of["rr_clusters"][:, ~inside], of["rr_independent"][:, ~inside], atol=1e-9
        )
        assert np.median(of["rr_independent"][:, inside]) > 0.01
    for method in METHODS[2:]:
        sweeps = column(queries, values, projection="clip", measure="sweeps", method=method)
        assert np.all(sweeps == 1)


def test_the_pairs_of_a_cluster_have_its_distribution_after_adjustment(
    small_data: Microdata, drawn: dict[str, list[Any]]
) -> None:
    queries = queries_of(small_data, ("clip",))
    values = queries(cell_of(mechanism="joint"), np.random.default_rng(4), 100)[1]
    inside = np.array([set(pair) in TOGETHER for pair, _ in drawn["asked"]])
    left_out = column(queries, values, measure="left_out", method="rr_clusters_adjustment")
    assert not left_out.any()
    for sigma in SIGMAS:
        plain, adjusted = (
            column(queries, values, sigma=sigma, method=method)[:, inside]
            for method in ("rr_clusters", "rr_clusters_adjustment")
        )
        np.testing.assert_allclose(plain, adjusted, atol=1e-3)  # 500 records, gaps to 1e-6


def test_it_is_a_simulator_of_studies(small_data: Microdata) -> None:
    queries = queries_of(small_data)
    runs = replicate(queries, 1, "multirr_fig3", cell_of(), replicates=12, block=5)[1]
    assert runs.shape == (12, len(outputs_of(queries, cell_of())), 6)


def test_the_clusters_are_those_of_the_true_dependences(small_data: Microdata) -> None:
    queries = AdjustedQueries(small_data, SIGMAS, ("clip",))
    # smokes is whether colour is not blue, with noise: their six cells come first.
    found = queries.clusters(cell_of(t_v=12, t_d=0.3))
    assert found == (("colour", "smokes"), ("region",), ("owner",))
    assert queries.clusters(cell_of(t_v=12, t_d=0.9)) == tuple(
        (name,) for name in small_data.domain.names
    )


def test_the_reference_knows_what_erases_everything() -> None:
    # By hand, as the references above lean on it: p |A| = 1 - p for |A| = 9 at p = .1.
    matrix = rr_channel(9, 0.1, "printed").matrix()
    np.testing.assert_allclose(matrix, 1 / 9)
    assert rr_independent(tiny_data().domain, 0.1, "printed").channels[0].singular
