"""Three processes of ``deniable rrba`` reproduce one configuration of Figure 5 of [rrba]."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from tests.cli.test_rrba import run_three
from tests.plans.test_collected import NETWORKS, frame_of, schema_of
from tests.simulations import outputs_of

from deniable import CollectedPlan, rrba
from deniable.datasets.networks import drawn_file, from_resources
from deniable.plans import write_plan
from deniable.records import Microdata
from deniable.rrba import Collection, TableState

from reproduction.papers.rrba.convergence import UPDATES, Convergence, closest_cell

CONFIG = Path(__file__).resolve().parents[4] / "config" / "config.yaml"
CELL: dict[str, Any] = {
    "dataset": "survey",
    "probability": 0.356,
    "block_size": 18,
    "p": 0.5,
    "update": "pooled",
}
CHUNKS, RUNS = 10, 2000  # of the study


@pytest.mark.slow
def test_three_processes_reproduce_a_configuration_of_figure_5(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each measure of the processes lies within the range of 20,000 runs of the study.

    If both have one distribution, a measure is below the least or above the largest value with a
    probability of at most 2 / 20,001: below 0.0016 for all 16 measures.
    """
    study = yaml.safe_load(CONFIG.read_text("utf-8"))["studies"]["rrba_fig5"]
    assert all(CELL[name] in values for name, values in study["grids"][0].items())
    blocks, size, keep = study["blocks"], CELL["block_size"], CELL["p"]
    data = drawn_file("survey", lambda name: from_resources(name, NETWORKS))
    simulator = Convergence({"survey": data}, blocks, study["reference"])
    runs = [simulator(CELL, np.random.default_rng(seed), RUNS)[1] for seed in range(CHUNKS)]

    followed = closest_cell(data, CELL["probability"])
    pair, drawn = data.project(followed.combination), np.random.default_rng(7)
    rows = drawn.integers(len(pair), size=blocks * size)  # with replacement, as in the study
    clients = Microdata(pair.domain, tuple(pair.column(n)[rows] for n in pair.domain.names))
    monkeypatch.chdir(tmp_path)
    frame_of(clients).to_feather("r.arrow", compression="uncompressed")
    Path("names.txt").write_text("".join(f"p-{i}\n" for i in range(1, len(rows) + 1)))
    rest: dict[str, Any] = {"block": size, "floor": UPDATES[CELL["update"]].floor}
    write_plan("plan.json", CollectedPlan.from_schema(schema_of(pair.domain), keep=keep, **rest))
    run_three(["--test", "3"])

    answers = pd.read_feather("pub/answers.arrow")
    shape = (blocks, followed.proportions.size)
    reports = answers["reports"].to_numpy().reshape(shape)
    fake = answers["fake"].to_numpy().reshape(shape)
    assert (reports.sum(axis=1) == size).all()
    state = TableState.uniform(shape[1])
    for counts, sent in zip(reports, fake, strict=True):
        np.testing.assert_array_equal(sent, state.table)
        state = state.updated(counts, keep, UPDATES[CELL["update"]])
    last = TableState(*(each[None] for each in (state.table, state.counts, state.exposure)))
    mine = Collection(keep, reports[None], fake[None], last)
    monkeypatch.setattr(rrba, "collect", lambda *_: mine)
    (measures,) = simulator(CELL, np.random.default_rng(0), 1)[1]
    assert (np.min(np.concatenate(runs), axis=0) <= measures).all()
    assert (measures <= np.max(np.concatenate(runs), axis=0)).all()
    names = [(each["criterion"], each["measure"]) for each in outputs_of(simulator, CELL)]
    found = dict(zip(names, measures, strict=True))
    assert found["precise", "converged"] == 1
    assert 0 < found["precise", "tuples"] < blocks * size
