"""Small records that depend on each other, their randomized values, and exact calculations."""

from collections.abc import Sequence
from functools import reduce

import numpy as np

from deniable.channels import Channel, DenseChannel, KeepOrReplace
from deniable.joint import JointDistribution
from deniable.joint.classes import LatentClasses
from deniable.joint.evidence import Evidence
from deniable.records import Attribute, Domain, Microdata
from deniable.responses import Answers

Clusters = Sequence[Sequence[int]]


def domain_of(shape: Sequence[int]) -> Domain:
    names = "abcdefgh"[: len(shape)]
    pairs = zip(names, shape, strict=True)
    return Domain(tuple(Attribute(name, tuple(map(str, range(size)))) for name, size in pairs))


def dependent(records: int, shape: Sequence[int], seed: int = 1, like: float = 0.8) -> Microdata:
    """Return records of columns that follow a hidden group of three with the probability `like`."""
    generator = np.random.default_rng(seed)
    group = generator.choice(3, records, p=[0.5, 0.3, 0.2])
    columns = [
        np.where(
            generator.random(records) < like,
            (group + place) % size,
            generator.integers(0, size, records),
        )
        for place, size in enumerate(shape)
    ]
    return Microdata(domain_of(shape), tuple(columns))


def keeping(shape: Sequence[int], keep: float) -> list[KeepOrReplace]:
    return [KeepOrReplace.uniform(size, keep) for size in shape]


def answers_of(
    data: Microdata, channels: Sequence[Channel], seed: int = 1, clusters: Clusters | None = None
) -> list[Answers]:
    """Return the randomized values of `data`, by default of each column through a channel."""
    generator, names = np.random.default_rng(seed), data.domain.names
    answers = []
    for at, channel in zip(clusters or [[k] for k in range(len(names))], channels, strict=True):
        cells = data.domain.project([names[k] for k in at])
        codes = cells.ravel([data.column(name) for name in cells.names])
        answers.append(Answers(cells, channel, channel.randomize(codes, generator)))
    return answers


def random_channel(size: int, generator: np.random.Generator) -> Channel:
    """Return a channel with up to two randomized values more than categories."""
    rows = generator.random((size, size + int(generator.integers(3)))) + 0.05
    rows[:, :size] += 2 * np.eye(size)
    return DenseChannel(rows / rows.sum(axis=1, keepdims=True))


def random_answers(
    seed: int, *, joined: bool = False, missing: bool = False, records: int = 60
) -> list[Answers]:
    """Return answers of 2 or 3 columns, `joined` ones about two of them, some `missing`."""
    generator = np.random.default_rng(seed)
    shape = generator.integers(2, 4, int(generator.integers(2, 4))).tolist()
    domain, clusters = domain_of(shape), [[k] for k in range(len(shape))]
    clusters += [[0, 1]] if joined else []
    answers = []
    for at in clusters:
        cells = domain.project([domain.names[k] for k in at])
        channel = random_channel(cells.size, generator)
        codes = generator.integers(0, channel.reports, records)
        if missing or joined:  # a record has one answer about a column
            codes[generator.random(records) < 0.4] = -1
        answers.append(Answers(cells, channel, codes))
    if joined:
        together = answers[-1].codes >= 0
        for own in answers[:2]:
            own.codes[together] = -1
    return answers


def random_classes(
    sizes: Sequence[int], classes: int, generator: np.random.Generator
) -> LatentClasses:
    conditionals = tuple(generator.dirichlet(np.ones(size), classes) for size in sizes)
    return LatentClasses(generator.dirichlet(np.ones(classes)), conditionals)


def whole_table(model: LatentClasses) -> np.ndarray:
    """Return the probabilities of all joint cells, cell by cell."""
    shape = [own.shape[1] for own in model.conditionals]
    found = np.zeros(shape)
    for cell in np.ndindex(*shape):
        within = [own[:, code] for own, code in zip(model.conditionals, cell, strict=True)]
        found[cell] = model.weights @ np.prod(within, axis=0)
    return found


def brute_densities(model: LatentClasses, evidence: Evidence) -> np.ndarray:
    """Return the probability of each record as a sum over all original cells."""
    table = whole_table(model)
    cells = list(np.ndindex(*table.shape))
    found = np.zeros(evidence.records)
    for cell in cells:
        chance = np.full(evidence.records, table[cell])
        for part in evidence.parts:
            shape = [table.shape[at] for at in part.units]
            own = int(np.ravel_multi_index([cell[at] for at in part.units], shape))
            rows = slice(None) if part.rows is None else part.rows
            chance[rows] *= part.channel.matrix()[own, part.codes]
        found += chance
    return found


def random_joint(seed: int, *, clusters: bool) -> tuple[JointDistribution, np.ndarray]:
    """Return a distribution of 3 or 4 columns, and its table with an axis for each column.

    Some cells have the probability 0. With `clusters`, the first and the third column are one unit.
    """
    generator = np.random.default_rng(seed)
    shape = generator.integers(2, 4, int(generator.integers(3, 5))).tolist()
    domain = domain_of(shape)
    groups = [(0, 2), *((k,) for k in range(len(shape)) if k not in (0, 2))]
    groups = groups if clusters else [(k,) for k in range(len(shape))]
    units = tuple(domain.project([domain.names[k] for k in group]) for group in groups)
    model = random_classes([unit.size for unit in units], int(generator.integers(1, 4)), generator)
    for own in model.conditionals:
        own[:, -1] = 0.0
        np.divide(own, own.sum(axis=1, keepdims=True), out=own)
    table = whole_table(model)
    cells = Domain(tuple(each for unit in units for each in unit))
    order = [cells.position(name) for name in domain.names]
    table = (table / table.sum()).reshape(cells.shape).transpose(order)
    return JointDistribution(domain, units, model), table


def distance(one: np.ndarray, other: np.ndarray) -> float:
    """Return the total variation distance of two distributions."""
    return float(np.abs(one.reshape(-1) - other.reshape(-1)).sum() / 2)


def product_of(margins: Sequence[np.ndarray]) -> np.ndarray:
    return np.asarray(reduce(np.multiply.outer, margins)).reshape(-1)
