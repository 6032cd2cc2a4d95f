"""Releases of categories held to what they state: the audit, and rehearsals beside the truth.

The audit reads the channel file of any release. A rehearsal alone knows the true records.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields, replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from deniable.arrays import Floats
from deniable.channels import Channel, channel_from_json
from deniable.estimation import Z_95, Part, combined
from deniable.pram import StratifiedProtocol, label, shares
from deniable.privacy import (
    Finding,
    SamplerTest,
    audit_sampler,
    cells_by_others,
    column_epsilon,
    exact_epsilon,
    whole_weights,
)
from deniable.randomized_response import (
    Protocol,
    audit_of_release,
    audit_release as audit_multirr_release,
)
from deniable.records import Microdata
from deniable.release import NOTHING, CategoricalRelease, ReleaseKey, key_of_seed, marked
from deniable.release.categorical.clusters import answering, part_of
from deniable.release.categorical.estimates import groups, margins, reports_by_block
from deniable.sampling import generator_for

ROUNDING = 1e-8  # of numbers written with 9 digits
KEYS = ["attributes", "categories", "stratum"]
LARGEST_MATRIX = 1 << 24  # entries
LARGEST_EXACT = 2**14  # different entries of a matrix whose every ratio is taken in whole numbers
MOST_EXACT_ENTRIES = 1 << 16  # of such a matrix: fractions of more take minutes
RAREST = 1e-4  # p-value of a sampler's test that passes: a right one misses it once in 10,000
SAMPLER_COLUMNS = ["release", "cluster", "cells", *(x.name for x in fields(SamplerTest)), "holds"]


def audit_release(description: Mapping[str, Any]) -> pd.DataFrame:
    """Audit what a release states of its privacy, from its channel file.

    Of randomized response, as `deniable.randomized_response.audit.audit_release`. Of PRAM the
    claims are those in the file, for the worst stratum; the exact epsilon is that of the
    probabilities that are drawn, in whole numbers; the shipped one that of the dense matrices. A
    stratum attribute is released as it is: no finite epsilon holds for it, and that of a record is
    of one whose stratum stays. Where the true records made the matrices the others are given these;
    a row says that no finite epsilon holds for invariant ones, which disclose shares.

    `description` is what `deniable.release.categorical.design.describe` wrote; returned are the
    columns of `deniable.randomized_response.audit.audit_multirr`. For PRAM ``matrix`` is its kind.
    """
    if "protocols" not in description:
        return audit_multirr_release(description)
    protocol = StratifiedProtocol.from_json(description)
    privacy = description["privacy"]
    claims, found = privacy["epsilon_by_changed_attribute"], _worst(protocol)
    given = "" if privacy["not_counted"] == NOTHING else ", the matrices given"
    rows = [
        (f"attribute{given}", name, Finding(float(claims[name]), *found[name]))
        for name in protocol.randomized.names
    ]
    whole = Finding(float(privacy["epsilon"]), *found[None])
    unit = "record whose stratum stays" if protocol.strata else "record"
    rows.append((f"{unit}{given}", "all attributes", whole))
    for name in protocol.strata:
        rows.append(("stratum attribute", name, Finding(float(claims[name]), math.inf, math.inf)))
    if protocol.invariant:
        none = Finding(math.inf, math.inf, math.inf)
        rows.append(("record", "the matrices, made from the true frequencies", none))
    kind = description["parameters"]["matrix"]["kind"]
    return audit_of_release(description["release"], kind, rows)


def audited(made: Mapping[str, Any]) -> pd.DataFrame:
    """Return the audit of a release by the ``release`` it `made`, with whose records they are."""
    said = made["release"]
    return audit_release(said).assign(data_source=said["data_source"])


def _worst(protocol: StratifiedProtocol) -> dict[str | None, tuple[float, float]]:
    """Return the exact and the shipped epsilons of the worst stratum, as `epsilons_of_blocks`."""
    found = [epsilons_of_blocks(own) for own in protocol.protocols.values()]
    return {
        changed: (max(each[changed][0] for each in found), max(each[changed][1] for each in found))
        for changed in found[0]
    }


def epsilons_of_blocks(protocol: Protocol) -> dict[str | None, tuple[float, float]]:
    """Return a `protocol`'s exact and shipped epsilon of a changed attribute, and of all (None).

    Exact ones are of the probabilities that are drawn, in whole numbers, shipped ones of the dense
    matrices, and stand for exact ones where a matrix has very many entries. Those of all
    attributes are sums over the blocks. A channel over so many categories that its matrix is not
    formed is taken at its own word.
    """
    found: dict[str | None, tuple[float, float]] = {None: (0.0, 0.0)}
    for block, channel in zip(protocol.clusters, protocol.channels, strict=True):
        if len(block) == 1 and channel.size * channel.reports > LARGEST_MATRIX:
            for changed in (None, *block):  # no matrix of it is ever formed
                before = found.get(changed, (0.0, 0.0))
                found[changed] = (before[0] + channel.epsilon, before[1] + channel.epsilon)
            continue
        sizes, P = protocol.domain.project(block).shape, channel.matrix()
        exactly = P.size <= MOST_EXACT_ENTRIES and np.unique(P).size <= LARGEST_EXACT
        weights = whole_weights(channel) if exactly else None
        alone = {None: None} | {
            name: cells_by_others(sizes, position) for position, name in enumerate(block)
        }
        for changed, classes in alone.items():
            shipped = column_epsilon(P, classes)
            exact = shipped if weights is None else exact_epsilon(weights, classes)
            before = found.get(changed, (0.0, 0.0))
            found[changed] = (before[0] + exact, before[1] + shipped)
    return found


def audit_release_samplers(
    description: Mapping[str, Any], root_seed: int, draws: int = 400_000
) -> pd.DataFrame:
    """Hold each channel of a release against its matrix, by drawing from every true category.

    Draws follow from the `root_seed`. The `description` is what
    `deniable.release.categorical.design.describe` wrote; `draws` are those for each channel, shared
    by its rows.

    Columns are ``release``, ``cluster`` (in a stratum named as "education in Female"; of
    answers that clusters are formed from as "dependences: sex"), ``cells``, ``draws``,
    ``statistic``, ``degrees_of_freedom``, ``p_value``, ``impossible`` (reports of probability 0)
    and ``holds``: none impossible and a p-value above 1e-4, which a right sampler misses once in
    ten thousand tests.
    """
    release, rows = description["release"], []
    for name, channel in _drawn_from(description):
        key = key_of_seed(root_seed, "audit of samplers", release, name)
        randomize = partial(channel.report, chance=key.draws("audit"), names=(name,))
        test = audit_sampler(randomize, channel.matrix(), max(draws // channel.size, 1))
        holds = test.impossible == 0 and test.p_value > RAREST
        about = {"release": release, "cluster": name, "cells": channel.size}
        rows.append(about | asdict(test) | {"holds": holds})
    return pd.DataFrame(rows, columns=SAMPLER_COLUMNS)


def _drawn_from(description: Mapping[str, Any]) -> Iterator[tuple[str, Channel]]:
    """Yield the channels of a release by name: those of the file, and of what forms clusters."""
    for stratum, own in StratifiedProtocol.from_json(description).protocols.items():
        for block, channel in zip(own.clusters, own.channels, strict=True):
            yield " x ".join(block) + (f" in {label(stratum)}" if stratum else ""), channel
    for each in description.get("dependences", {}).get("channels", []):
        yield f"dependences: {' x '.join(each['attributes'])}", channel_from_json(each["channel"])


def checked(
    release: CategoricalRelease,
    made: Mapping[str, Any],
    data: Microdata,
    key: ReleaseKey,
    seed: int,
) -> dict[str, pd.DataFrame]:
    """Return a rehearsal's estimates, and what is made from them, beside the truth.

    The `release` `made` ``release``, ``estimates``, ``pairs``, ``protected``, ``synthetic`` and
    ``adjusted_weights``; the `seed` is that of redraws, the `key` is not looked at. The truth is
    that of those records of the `data` which answered for the file.
    """
    data = part_of(data, answering(made["release"], len(data)))
    protocol = StratifiedProtocol.from_json(made["release"])
    generator = generator_for(seed, {"release": release.name, "check": "redraws"})
    coverage = coverage_of_redraws(protocol, data, generator)
    weights = made["adjusted_weights"]["weight"].to_numpy()
    distances = distances_from_truth(protocol, data, made["protected"], made["synthetic"], weights)
    distances["pairs"] = distances["attributes"].map(pair_distances(made["pairs"], data))
    distances["synthetic_from"] = made["synthetic"].marks["synthetic_from"]
    return {
        "check": check_against_truth(made["estimates"], coverage),
        "synthetic_check": marked(distances, release, data),
    }


def check_against_truth(estimates: pd.DataFrame, coverage: pd.DataFrame) -> pd.DataFrame:
    """Set the estimates of a rehearsal beside the true proportions, which a rehearsal knows.

    `estimates` are returned with the `coverage` that `coverage_of_redraws` found, and ``covered``:
    whether the interval for the file holds the truth, empty without an estimate. Where the matrices
    are invariant, ``reported_covered`` is the same for the reports' own shares.
    """
    table = estimates.merge(coverage, on=KEYS, validate="one_to_one", how="left")
    for prefix in ("", "reported_"):
        if f"{prefix}coverage" in table:
            low = table[f"{prefix}ci_low_file"] - ROUNDING
            high = table[f"{prefix}ci_high_file"] + ROUNDING
            covered = table["true"].between(low, high)
            unknown = table[f"{prefix}coverage"].isna()  # without an estimate nothing can cover
            table[f"{prefix}covered"] = (
                covered.astype("boolean").mask(unknown) if unknown.any() else covered
            )
    return table


def coverage_of_redraws(
    protocol: StratifiedProtocol,
    data: Microdata,
    generator: np.random.Generator,
    redraws: int = 2000,
) -> pd.DataFrame:
    """Draw a release by a `protocol` again and again, as counts, and see how often intervals cover.

    A `generator` serves, for the draws protect nobody. One release says little of its intervals:
    its cells depend on each other, so they miss together. Matrices stay as they are, as they do
    given the true records, `data`.

    Columns are ``attributes``, ``categories``, ``stratum``, ``true`` (proportion), ``coverage``
    (share of redraws whose interval for the file holds it), ``redraws``; with ``reported_coverage``
    where the matrices are invariant.
    """
    tables = []
    for block, truth in reports_by_block(protocol, data, true=True):
        drawn = []
        for each in truth:
            counts = each.channel.randomize_counts(np.tile(each.counts, (redraws, 1)), generator)
            drawn.append(replace(each, counts=counts))
        for about, indicators in margins(protocol.domain.project(block)):
            for name, chosen in groups(truth):
                whole = sum(truth[i].counts for i in chosen)
                true = indicators @ whole / np.sum(whole)
                parts = [drawn[i].parts(indicators, invariant=protocol.invariant) for i in chosen]
                unbiased = combined([part for part, _ in parts])
                coverage = {"coverage": _coverage(unbiased, true)}
                if own := [part for _, part in parts if part is not None]:
                    coverage["reported_coverage"] = _coverage(combined(own), true)
                columns = about | {"stratum": name, "true": true} | coverage
                tables.append(pd.DataFrame(columns | {"redraws": redraws}))
    return pd.concat(tables, ignore_index=True)


def _coverage(part: Part, true: Floats) -> Floats:
    # Exact estimates (nothing was replaced) have no error and cover, up to rounding.
    covered = np.abs(part.values - true) <= Z_95 * part.standard_errors("file") + 1e-12
    rates = np.asarray(covered.mean(axis=0))
    return np.where(np.isnan(part.values).all(axis=0), np.nan, rates)


def distances_from_truth(
    protocol: StratifiedProtocol,
    data: Microdata,
    protected: Microdata,
    synthetic: Microdata,
    weights: Floats,
) -> pd.DataFrame:
    """Say how far a rehearsal's files are from the true records, which a rehearsal knows.

    `data` are the true records; `weights` are those of the `protected` ones, as `adjust_reports`
    returns them; there are `synthetic` ones.

    A row for each attribute of the `protocol` and each pair: ``attributes`` (joined by " x "),
    ``one_cluster`` (whether their joint distribution is estimated: all but stratum attributes are
    randomized together), and the total variation distance between the true table and that of the
    protected file as it is (``protected``), of the synthetic file (``synthetic``) and of the
    weighted reports (``adjusted``).
    """
    names = protocol.domain.names
    rows = []
    for attributes in [*combinations(names, 1), *combinations(names, 2)]:
        true = shares(data, attributes)
        found = {
            "protected": shares(protected, attributes),
            "synthetic": shares(synthetic, attributes),
            "adjusted": shares(protected, attributes, weights),
        }
        randomized = set(attributes) - set(protocol.strata)
        together = any(randomized <= set(block) for block in protocol.blocks)
        rows.append(
            {"attributes": " x ".join(attributes), "one_cluster": together}
            | {file: float(np.abs(own - true).sum() / 2) for file, own in found.items()}
        )
    return pd.DataFrame(rows)


def pair_distances(pairs: pd.DataFrame, data: Microdata) -> dict[str, float]:
    """Return how far each of `pairs`, as `estimate_pairs` shrinks it, is from that of true `data`.

    By the pair's name, in total variation; NaN where nothing is estimated.
    """
    whole = pairs[pairs["stratum"] == ""]
    found = {}
    for attributes, table in whole.groupby("attributes", sort=False):
        name, estimate = str(attributes), table["shrunk"].to_numpy(float)
        true = shares(data, tuple(name.split(" x ")))
        found[name] = float(np.abs(estimate - true).sum() / 2)
    return found
