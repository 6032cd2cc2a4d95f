"""What jobs cost, from benchmark files; what a run will cost, from what its jobs did."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import costs
from costs import Cost, Kind, Measured, expected, measured_cost, units
from deniable.errors import DeniableError
from deniable.files import write_json
from job_graph import read_graph, schedule

from reproduction.pipeline import CPU_SUFFIX
from reproduction.pipeline.config import Config, validate

ROOT = Path(__file__).resolve().parents[2]

HEADER = "s\th:m:s\tmax_rss\tmax_vms\tmax_uss\tmax_pss\tio_in\tio_out\tmean_load\tcpu_time\n"
STUDY = Kind("simulate", "multirr_tables")


@pytest.fixture
def config(config_values: dict[str, Any]) -> Config:
    return validate(config_values)


def written(path: Path, wall: Any, memory: Any, cpu: float | None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    row = [wall, "0:00:01", memory, 1, 1, 1, 0, 0, 50, "NA"]
    if cpu is not None:
        write_json(path.with_suffix(CPU_SUFFIX), {"cpu_seconds": cpu})
    path.write_text(HEADER + "\t".join(map(str, row)) + "\n", encoding="utf-8")


def measured(seconds: float, kind: Kind = STUDY, memory: float = 100.0) -> Measured:
    return Measured(kind, "", 0, 1, seconds, seconds, memory, 0.0)


# -- benchmark files -------------------------------------------------------------------------------


def test_benchmark_files_tell_rule_study_and_chunk(tmp_path: Path) -> None:
    written(tmp_path / "simulate" / "multirr_tables-2-of-4.tsv", 2.0, 200.5, 1.5)
    written(tmp_path / "collect" / "multirr_table1.tsv", 1.0, 90, 0.5)
    written(tmp_path / "report.tsv", 0.3, "NA", None)
    collect, report, simulate = costs.read_benchmarks(tmp_path)
    assert (collect.kind, collect.name, collect.cpu_seconds) == (
        Kind("collect"),
        "multirr_table1",
        0.5,
    )
    assert (simulate.kind, simulate.chunk, simulate.chunks) == (STUDY, 2, 4)
    assert (simulate.wall_seconds, simulate.memory_mb) == (2.0, 200.5)
    # A job that recorded no CPU time, and ended before Snakemake measured its memory.
    assert (report.kind, report.cpu_seconds, report.memory_mb) == (Kind("report"), 0.3, 0.0)


def test_another_file_among_the_benchmarks_is_named(tmp_path: Path) -> None:
    (tmp_path / "report.tsv").write_text("a\tb\n1\t2\n", encoding="utf-8")
    with pytest.raises(DeniableError, match=r"report\.tsv is not a benchmark file"):
        costs.read_benchmarks(tmp_path)


def test_only_chunks_of_the_config_count(config: Config) -> None:
    chunks = config.studies.multirr_tables.chunks
    jobs = [
        Measured(kind, "", 0, of, 1.0, 1.0, 1.0, 0.0)
        for kind, of in [(STUDY, chunks), (STUDY, chunks + 1), (Kind("simulate", "gone"), 1)]
    ]
    others = [measured(1.0, Kind("report"))]
    assert costs.current([*jobs, *others], config) == [jobs[0], *others]


def test_units_are_runs_and_add_up_over_chunks(config: Config) -> None:
    study = config.studies.multirr_tables
    runs = [units(config, STUDY, chunk, study.chunks) for chunk in range(study.chunks)]
    assert sum(runs) == len(study.cells()) * study.replicates
    tables = config.studies.rrba_tables
    whole = len(tables.cells()) * tables.replicates * tables.subsets
    assert units(config, Kind("simulate", "rrba_tables")) == whole
    assert units(config, Kind("report")) == 1


# -- costs of a kind -------------------------------------------------------------------------------


def test_start_and_unit_are_found_from_two_sizes() -> None:
    jobs = [(measured(2.0 + 0.01 * work), work) for work in (50.0, 50.0, 1000.0, 1000.0)]
    cost = measured_cost(STUDY, jobs, 7.0)
    assert cost.start_seconds == pytest.approx(2.0)
    assert cost.unit_seconds == pytest.approx(0.01)
    assert cost.spread == pytest.approx(0.0, abs=1e-9)
    assert (cost.jobs, cost.memory_mb, cost.output_bytes) == (4, 100.0, 7.0)


def test_of_one_size_the_start_is_the_known_one() -> None:
    jobs = [(measured(9.0), 100.0), (measured(11.0), 100.0)]
    cost = measured_cost(STUDY, jobs, 0.0)
    assert cost.start_seconds == costs.START
    assert cost.seconds(100) == pytest.approx(10.0)
    assert cost.spread == pytest.approx(0.1)
    known = Cost("simulate", "multirr_tables", 1, 3.0, 1.0, 0.1, 1.0, 1.0)
    assert measured_cost(STUDY, jobs, 0.0, known).start_seconds == pytest.approx(3.0)


def test_where_the_start_is_nearly_all_the_work_is_not_taken_for_nothing() -> None:
    short = measured_cost(STUDY, [(measured(0.5), 10.0)], 0.0)
    assert (short.start_seconds, short.unit_seconds) == pytest.approx((0.25, 0.025))
    # What is known of start and work keeps its proportion: a start of 1.2 s and 0.4 s of work.
    known = Cost("simulate", "multirr_sweep", 26, 1.2, 0.004, 0.2, 1.0, 1.0)
    for seconds in (1.1, 1.3, 2.0):
        cost = measured_cost(STUDY, [(measured(seconds), 100.0)], 0.0, known)
        assert cost.seconds(100) == pytest.approx(seconds)
        assert cost.seconds(10_000) == pytest.approx(seconds / 1.6 * 41.2)
    # Larger jobs that took no longer, by chance.
    jobs = [(measured(6.0), 100.0), (measured(2.0), 400.0)]
    assert measured_cost(STUDY, jobs, 0.0, known).unit_seconds > 0


def test_no_known_study_costs_the_same_at_any_size() -> None:
    known = costs.read_costs(ROOT / costs.COSTS)
    studies = [cost for cost in known.values() if cost.study]
    assert len(studies) > 20
    assert [cost.study for cost in studies if cost.unit_seconds == 0] == []


@given(st.lists(st.tuples(st.floats(0.1, 100), st.floats(1, 1e6)), min_size=1, max_size=20))
def test_the_sum_over_the_jobs_is_what_they_took(jobs: list[tuple[float, float]]) -> None:
    cost = measured_cost(STUDY, [(measured(seconds), work) for seconds, work in jobs], 0.0)
    assert cost.start_seconds >= 0
    assert cost.unit_seconds >= -1e-12
    total = math.fsum(cost.seconds(work) for _, work in jobs)
    assert total == pytest.approx(sum(seconds for seconds, _ in jobs), rel=1e-6)


def test_costs_are_read_as_they_were_written(tmp_path: Path) -> None:
    one = Cost("simulate", "multirr_tables", 4, 1.25, 1.5e-05, 0.125, 250.0, 1000.0)
    other = Cost("report", "", 1, 0.0, 2.5, 0.3, 300.0, 2e6)
    costs.write_costs([one, other], tmp_path / "costs.csv")
    assert costs.read_costs(tmp_path / "costs.csv") == {one.kind: one, other.kind: other}
    assert costs.read_costs(tmp_path / "none.csv") == {}


def test_a_range_holds_single_jobs_and_whole_runs() -> None:
    cost = Cost("plot", "", 9, 0.0, 2.0, 0.5, 120.0, 10.0)
    found = expected([(cost, 1.0)] * 25)
    assert (found.jobs, found.cpu_seconds, found.output_bytes) == (25, 50.0, 250.0)
    reach = 2 * math.sqrt(25) * 1.0
    assert found.low == pytest.approx((50 - reach) * (1 - costs.BETWEEN_RUNS))
    assert found.high == pytest.approx((50 + reach) * (1 + costs.BETWEEN_RUNS))


# -- the graph of jobs -----------------------------------------------------------------------------

GRAPH = r"""digraph snakemake_dag {
    node[shape=box, style=rounded, fontname=sans, fontsize=10, penwidth=2];
	0[label = "all", color = "0.01 0.6 0.85", style="rounded"];
	1[label = "simulate\nchunk: 0\nchunks: 2\nstudy: s", color = "0.5 0.6 0.85", style="rounded"];
	2[label = "prepare_data\ndataset: a: b", color = "0.4 0.6 0.8", style="rounded,dashed"];
	1 -> 0
	2 -> 1
}
"""


def test_the_graph_tells_what_is_to_be_done_and_what_waits() -> None:
    last, simulate, data = read_graph(GRAPH)
    assert (last.rule, last.wildcards, last.after, last.to_do) == ("all", {}, (1,), True)
    assert simulate.wildcards == {"chunk": "0", "chunks": "2", "study": "s"}
    assert (simulate.after, simulate.to_do) == ((2,), True)
    assert (data.rule, data.wildcards, data.to_do) == ("prepare_data", {"dataset": "a: b"}, False)


@given(st.integers(0, 2**32 - 1), st.integers(1, 5))
def test_a_schedule_keeps_to_its_bounds(seed: int, cores: int) -> None:
    generator = np.random.default_rng(seed)
    number = int(generator.integers(1, 30))
    seconds = {job: float(generator.exponential()) for job in range(number)}
    after = {job: [e for e in range(job) if generator.random() < 0.1] for job in range(number)}
    wall, chain = schedule(seconds, after, cores)
    total = sum(seconds.values())
    # What no schedule can beat, and Graham's bound for any that leaves no core idle in vain.
    assert max(chain, total / cores) <= wall * (1 + 1e-9)
    assert wall <= (total / cores + (1 - 1 / cores) * chain) * (1 + 1e-9)
    slow: dict[int, float] = {}
    for job in range(number):
        slow[job] = seconds[job] + max((slow[each] for each in after[job]), default=0.0)
    assert chain == pytest.approx(max(slow.values()))


def test_nothing_to_do_takes_no_time() -> None:
    assert schedule({}, {}, 2) == (0.0, 0.0)
