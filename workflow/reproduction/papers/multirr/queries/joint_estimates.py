"""Joint distributions of all columns: several methods on the same randomized records.

A replicate randomizes a file by each design, at one p or at one exact ε of a record. ``inverse``
is the estimate of Castell by the inverse of the aggregated matrix. ``inverse_clipped`` may differ
from its truncated scheme, because only the abstract of the text was available.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain, combinations, islice, permutations
from math import comb
from typing import Any

import numpy as np

from deniable import estimation, randomized_response as rr
from deniable.arrays import Floats
from deniable.channels import ProductChannel
from deniable.joint import Evidence, JointDistribution, LatentClasses, estimate_joint
from deniable.plans import make_plan, make_questionnaire, plan_from_protocol
from deniable.records import Domain, Microdata
from deniable.responses import Answers, Forms

from reproduction.papers.multirr.queries import shared
from reproduction.study import Cell, Comparisons, Output, Simulated, Simulator

EVEN, JOINT = "even", "joint"
THRESHOLDS: Mapping[str, tuple[int, float]] = {
    "clusters_50": (50, 0.3),
    "clusters_100": (100, 0.3),
    "clusters_300": (300, 0.1),
    "clusters_30000": (30_000, 0.0),
}
"""T_v and T_d. T_v of [multirr] is at most 300."""
ONLY_P = ("clusters_50", "clusters_30000")  # at small ε, other clusters are better
ASK: Mapping[str, Any] = {"ask_1": 1, "ask_2": 2, "ask_pairs": "pairs"}
MAX_SETS = {2: 10_000, 3: 56, 4: 12, 5: 12, 6: 12}  # about; by number of columns
MAX_COLUMNS = 10  # with other designs than `even`, `optimal` and `ask_1`, which take much longer
QUERIES, SIGMA = 560, 0.1
ESTIMATES: Mapping[str, Any] = {
    "pair_likelihood": shared.PROJECTIONS["likelihood"],
    "inverse": estimation.estimate_or_uniform,
    "inverse_clipped": shared.PROJECTIONS["clip"],
}
OF_PAIRS = ("pair_likelihood", "rr_adjustment")
NAMES = ("design", "method", "measure", "against")
Names = tuple[str, ...]
Sets = Mapping[int, Sequence[Names]]


@dataclass(frozen=True, eq=False)
class JointEstimates(Simulator):
    """Simulator of joint distributions of the `files`, by name, under the `designs`.

    ``distance_k`` is the mean total variation distance of tables of k columns from the original
    ones, and ``distance_2_to_6`` of all tables. ``relative_error`` is of count queries about pairs.
    """

    files: Mapping[str, Microdata]
    designs: tuple[str, ...]

    def simulate(self, cell: Cell, generator: np.random.Generator, replicates: int) -> Simulated:
        data, found = self.files[cell["dataset"]], dict[tuple[str, ...], list[Any]]()
        sets = sets_of(data.domain.names)
        every = [names for of in sets.values() for names in of]
        true: dict[Names, Floats] = {n: data.counts(n).reshape(-1) / len(data) for n in every}
        queries = -(-QUERIES // len(sets[2]))
        for _ in range(replicates):
            draw = partial(estimation.random_queries, queries=queries, generator=generator)
            asked = {pair: draw(true[pair].size, SIGMA) for pair in sets[2]}
            for design in self._possible(cell):
                forms = forms_of(data, cell["given"], cell["value"], design)
                answers = list(randomized(data, forms, generator))
                for method, table in methods(answers, design, data, generator):
                    own = {2: sets[2]} if method in OF_PAIRS else sets
                    for measure, value in errors(table, own, true, asked):
                        found.setdefault((design, method, measure), []).append(value)
        for key, values in found.items():
            yield dict(zip(NAMES, (*key, None), strict=True)), np.reshape(values, (replicates, -1))

    def _possible(self, cell: Cell) -> Iterator[str]:
        large = len(self.files[cell["dataset"]].domain) > MAX_COLUMNS
        for design in self.designs:
            of_p = design in (EVEN, *THRESHOLDS)
            possible = of_p if cell["given"] == "p" else design not in ONLY_P
            if possible and (not large or design in (EVEN, "optimal", "ask_1")):
                yield design

    def compared(self, outputs: Sequence[Output]) -> Comparisons:
        """Return ratios of `outputs`: to independence, and of the joint estimate to all others."""
        found: Comparisons = []
        for (i, one), (j, other) in permutations(enumerate(outputs), 2):
            of_design = one["design"] == other["design"] and other["method"].startswith("rr_")
            designs = {one["design"], other["design"]}
            ours = one["method"] == JOINT and (EVEN in designs or designs <= {*THRESHOLDS})
            if one["measure"] == other["measure"] and (of_design or ours):
                against = f"{other['method']}, {other['design']}"
                name = {"measure": f"{one['measure']}_ratio", "against": against}
                found.append(({**one, **name}, "ratio", (i, j)))
        return found

    def spends(self, cell: Cell, output: Output) -> Mapping[str, float]:
        data = self.files[cell["dataset"]]
        forms = forms_of(data, cell["given"], cell["value"], output["design"])
        of_one = max(forms.epsilon_by_changed_attribute().values())
        return {"attribute_epsilon": of_one, "record_epsilon": forms.epsilon}


def sets_of(names: Names) -> Sets:
    """Return sets of the columns `names` by size: all pairs, and evenly spaced larger sets."""
    steps = {k: -(-comb(len(names), k) // most) for k, most in MAX_SETS.items()}
    every = {k: islice(combinations(names, k), 0, None, step) for k, step in steps.items() if step}
    return {k: tuple(of) for k, of in every.items()}


@cache
def forms_of(data: Microdata, given: str, value: float, design: str) -> Forms:
    """Return a `design` as forms, at a `value` of "p" or "epsilon"; one form asks all columns.

    Clusters are formed from the original `data`. Other designs depend on the domain alone.
    """
    domain = data.domain
    if design in THRESHOLDS or given == "p":
        t_v, t_d = THRESHOLDS.get(design, (1, 0))
        clusters = rr.cluster_attributes(domain, rr.dependences(data, ()), t_v, t_d)
        matrix: rr.Reading = "printed" if given == "p" else "keep"
        protocol = shared.stated(domain, clusters, matrix, "joint", given, value).protocol
    else:
        protocol = rr.protocol_from_epsilon(domain, value)
        schema = plan_from_protocol(protocol).schema
        if design in ASK:
            return make_questionnaire(schema, value, ASK[design]).protocol
        if design == "optimal":
            protocol = make_plan(schema, value, split="optimal").protocol
    ways = zip(protocol.clusters, protocol.channels, strict=True)
    blocks = tuple(rr.Protocol(domain.project(own), (own,), (way,)) for own, way in ways)
    return Forms(domain, blocks, (tuple(range(len(blocks))),))


def randomized(data: Microdata, forms: Forms, generator: np.random.Generator) -> Iterator[Answers]:
    """Yield the randomized values of each block of `forms` for `data`, by the `generator`."""
    drawn = generator.integers(len(forms.forms), size=len(data))
    for at, block in enumerate(forms.blocks):
        part, (channel,) = data.project(block.domain.names), block.channels
        rows = np.flatnonzero(np.array([at in form for form in forms.forms])[drawn])
        codes = np.full(len(data), -1)
        codes[rows] = channel.randomize(part.domain.ravel(part.columns)[rows], generator)
        yield Answers(part.domain, channel, codes)


def methods(
    answers: Sequence[Answers], design: str, data: Microdata, generator: np.random.Generator
) -> Iterator[tuple[str, Callable[[Names], Floats]]]:
    """Yield each method for the `answers` of a `design`: a function of names of columns.

    They are about the original `data`. The `generator` draws a seed.
    """
    evidence, seed = Evidence.of(answers), int(generator.integers(1 << 31))
    base, units, margins = "rr_independent", evidence.units, evidence.margins
    if design in THRESHOLDS:
        base, units = "rr_clusters", tuple(each.cells for each in answers)
        margins = [_margin(each) for each in answers]
        yield "rr_adjustment", _adjusted(answers, margins, data.domain)
    independent = LatentClasses.independent(margins)
    yield base, JointDistribution(data.domain, units, independent).table
    yield JOINT, estimate_joint(answers, data.domain, seed=seed).distribution.table
    if design == EVEN:
        records = Microdata(data.domain, tuple(each.codes for each in answers))
        channel_of = {each.cells.names[0]: each.channel for each in answers}
        for method, estimate in ESTIMATES.items():
            yield method, partial(_estimated, estimate, records, channel_of)


def _adjusted(
    answers: Sequence[Answers], margins: Sequence[Floats], domain: Domain
) -> Callable[[Names], Floats]:
    """Return RR-Adjustment to the `margins` of clusters, as a function of two names of columns."""
    columns: dict[str, Any] = {}
    for each in answers:
        columns |= zip(
            each.cells.names, np.unravel_index(each.codes, each.cells.shape), strict=True
        )
    weights = shared.adjust_quietly([each.codes for each in answers], margins).weights
    pairs = rr.weighted_pairs([columns[name] for name in domain.names], weights, domain.shape)
    table: dict[Names, Floats] = {}
    table |= zip(combinations(domain.names, 2), map(np.ravel, pairs), strict=True)
    return table.__getitem__


def _margin(answers: Answers) -> Floats:
    counts = np.bincount(answers.codes, minlength=answers.channel.reports)
    return estimation.consistent(counts, answers.channel).proportions


def _estimated(estimate: Any, records: Microdata, channel_of: Any, names: Names) -> Any:
    channel = ProductChannel(tuple(channel_of[name] for name in names))
    return estimate(records.counts(names).reshape(-1), channel)


def errors(
    table: Callable[[Names], Floats], sets: Sets, true: Mapping[Names, Floats], asked: Any
) -> Iterator[tuple[str, Any]]:
    """Yield measures of a method, `table`, on `sets` of columns with `true` proportions.

    Queries are about the cells `asked` of each pair.
    """
    found = {names: table(names) for of in sets.values() for names in of}
    distances = {names: np.abs(own - true[names]).sum() / 2 for names, own in found.items()}
    means = {k: np.mean([distances[names] for names in of]) for k, of in sets.items()}
    yield from ((f"distance_{k}", mean) for k, mean in means.items())
    if len(means) > 1:
        numbers = [comb(len({*chain(*sets[2])}), k) for k in means]
        yield "distance_2_to_6", np.average([*means.values()], weights=numbers)
    answers = ((queries @ found[pair], queries @ true[pair]) for pair, queries in asked.items())
    yield "relative_error", np.concatenate([estimation.relative_errors(*each) for each in answers])
