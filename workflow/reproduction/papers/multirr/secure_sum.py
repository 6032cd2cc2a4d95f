"""Run the secure sum of [multirr], 4.2, also with deviating parties; link its tables (4.3)."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import Generator

from deniable import randomized_response as rr
from deniable.arrays import Codes
from deniable.records import Attribute, Domain, Microdata
from deniable.sampling import RandomSource, generator_for


class Deviating(rr.Party):
    """A party that leaves, miscounts, or sets the count.

    It leaves when its shares have `reached` this proportion of the seats, in order, in [0, 1]; then
    it broadcasts nothing. Its shares sum to `shares` instead of 0. Its broadcast is `broadcast` too
    high. In the last seat, it receives all other broadcasts first and sets the count to `count`.
    """

    def __init__(
        self,
        number: int,
        indicator: int,
        *,
        reached: float | None = None,
        shares: int = 0,
        broadcast: int = 0,
        count: int | None = None,
    ) -> None:
        super().__init__(number, indicator + broadcast)
        self.reached, self.shares, self.count = reached, shares, count

    def _shares(self, network: rr.Network, source: RandomSource) -> Codes:
        shares = super()._shares(network, source)
        shares[0] = (shares[0] + self.shares) % network.modulus
        if self.reached is not None:
            shares[int(self.reached * network.parties) :] = rr.NOTHING
        return shares

    def answer(self, seat: int, network: rr.Network) -> None:
        """Broadcast from a `seat` of the `network`, with the deviation."""
        if self.count is not None:
            heard = network.broadcasts[:seat].sum()
            network.broadcasts[seat] = (self.count - heard) % network.modulus
        elif self.reached is None:
            super().answer(seat, network)


def trials(
    data: Microdata, root_seed: int, pair: rr.Pair, parties: int, parties_of_all_pairs: int
) -> pd.DataFrame:
    """Compare secure sums with plain counts of the same records of `data`, drawn by `root_seed`.

    Many `parties` count one `pair`, and few (`parties_of_all_pairs`) count all pairs. The result
    has one row per pair, and one with the sums over all pairs. The paper's formulas of messages are
    ``formula_per_party`` and ``formula_in_all``.
    """
    one = _drawn(data, parties, root_seed, "one pair")
    few = _drawn(data, parties_of_all_pairs, root_seed, "all pairs")
    source = generator_for(root_seed, {"study": "secure_sum", "part": "shares"})
    single = _trial(one, rr.bivariate_distribution(one, pair, source))
    pairs = list(combinations(data.domain.names, 2))
    counted = {pair: rr.bivariate_distribution(few, pair, source) for pair in pairs}
    each = pd.DataFrame([_trial(few, distribution) for distribution in counted.values()])
    whole = each.select_dtypes(np.integer).sum().to_dict() | {"pair": f"all {len(pairs)} pairs"}
    whole |= {"parties": len(few), "equals_direct_counts": each["equals_direct_counts"].all()}
    whole["inconsistencies"] += len(rr.disagreeing_margins(counted.values()))
    return pd.DataFrame([single, *each.to_dict("records"), whole], columns=list(single))


def _trial(data: Microdata, counted: rr.BivariateDistribution) -> dict[str, Any]:
    direct = data.counts(counted.domain.names)
    sent, cells = counted.traffic, counted.domain.size
    return {
        "pair": " and ".join(counted.domain.names),
        "parties": counted.parties,
        "cells": cells,
        "share_messages": sent["share_messages"],
        "broadcasts": sent["broadcasts"],
        "messages": sent["share_messages"] + sent["broadcasts"],
        "formula_per_party": cells * counted.parties,
        "formula_in_all": cells * counted.parties**2,
        "bits": sent["bits"],
        "equals_direct_counts": np.array_equal(counted.table, direct),
        "inconsistencies": len(counted.inconsistencies),
        "cramers_v_from_sum": rr.cramers_v(counted.table),
        "cramers_v_direct": rr.cramers_v(direct),
    }


def _drawn(data: Microdata, parties: int, root_seed: int, part: str, sample: int = 0) -> Microdata:
    key = {"study": "secure_sum", "part": part, "parties": parties, "sample": sample}
    records = generator_for(root_seed, key).choice(len(data), parties, replace=False)
    return Microdata(data.domain, tuple(column[records] for column in data.columns), data.marks)


def linked_parties(data: Microdata) -> pd.DataFrame:
    """Rebuild records from the exact tables of all pairs in `data`, and compare with the originals.

    If only one party has a category, each table with its attribute has a single 1 in the row of
    that category. The columns of these entries are the party's values of all other attributes.
    Unique combinations of values reveal more, and so do parties that become distinct once a third
    is known. So the number of rebuilt records is a lower bound.

    There is one row per category that only one party has, in the domain's order: ``attribute``,
    ``category``, ``party`` (number of its record), ``attributes_rebuilt`` (with the attribute
    itself), ``equals_true_record``.
    """
    rows = []
    for attribute in data.domain:
        if not (others := [name for name in data.domain.names if name != attribute.name]):
            continue
        tables = {name: data.counts((attribute.name, name)) for name in others}
        for code in np.flatnonzero(data.counts((attribute.name,)) == 1).tolist():
            rebuilt = {name: int(table[code].argmax()) for name, table in tables.items()}
            party = int(np.flatnonzero(data.column(attribute.name) == code)[0])
            equal = all(data.column(name)[party] == value for name, value in rebuilt.items())
            category = attribute.categories[code]
            rows.append((attribute.name, category, party, len(rebuilt) + 1, equal))
    columns = ["attribute", "category", "party", "attributes_rebuilt", "equals_true_record"]
    return pd.DataFrame(rows, columns=columns)


def linkage_example(data: Microdata, root_seed: int, parties: int, samples: int) -> pd.DataFrame:
    """Reconstruct records from exact tables of all pairs, in `samples` of `parties` from `data`.

    The `root_seed` draws the samples. The result has one row for each category that a single party
    has in some sample, and one for any of these categories. ``attributes_rebuilt`` is the smallest
    number of reconstructed attributes, including the category itself.
    """
    drawn = (_drawn(data, parties, root_seed, "linkage", number) for number in range(samples))
    each = [linked_parties(part).assign(sample=number) for number, part in enumerate(drawn)]
    found = pd.concat([links for links in each if len(links)] or each[:1])
    everybody = samples * parties
    groups = [*found.groupby(["attribute", "category"]), (("any", "any"), found)]
    rows = [
        {
            "attribute": attribute,
            "category": category,
            "parties": parties,
            "samples": samples,
            "share_of_samples": links["sample"].nunique() / samples,
            "attributes_rebuilt": links["attributes_rebuilt"].min() if len(links) else 0,
            "equals_true_record": bool(links["equals_true_record"].all()),
            "share_of_parties_exposed": len(links.drop_duplicates(["sample", "party"])) / everybody,
        }
        for (attribute, category), links in groups
    ]
    return pd.DataFrame(rows)


SMALL = Domain(
    (
        Attribute("colour", ("blue", "red")),
        Attribute("region", ("north", "south", "west")),
        Attribute("owner", ("no", "yes")),
    )
)
PAIRS: tuple[rr.Pair, ...] = tuple(combinations(SMALL.names, 2))
PAIR = PAIRS[0]
MISSING = "a message is missing"
TOTAL = "the counts of the pair do not add up to the number of parties"
MARGINS = "an attribute is counted differently in two pairs"

Spoilt = dict[rr.Pair, rr.FaultyParties]
Spoil = Callable[[Microdata, Generator], Spoilt]


def fault_trials(root_seed: int, count: int) -> pd.DataFrame:
    """Simulate `count` sums of 4 to 9 parties with each kind of deviation, drawn by `root_seed`.

    The result has the proportion of detected deviations and the means of detection.
    """
    rows = []
    for fault, spoil, pairs, limit in FAULTS:
        generator = generator_for(root_seed, {"study": "secure_sum", "fault": fault})
        by, named = zip(*(_notice(spoil, pairs, generator) for _ in range(count)), strict=True)
        row = {"fault": fault, "trials": count, "detected": np.mean([*map(bool, by)])}
        by_what = "; ".join(sorted(set().union(*by))) or "nothing"
        row |= {"party_named": np.mean(named), "by_what": by_what, "remedy_or_limit": limit}
        rows.append(row)
    return pd.DataFrame(rows)


def _notice(spoil: Spoil, pairs: Sequence[rr.Pair], generator: Generator) -> tuple[set[str], bool]:
    data = small_records(generator)
    faults = spoil(data, generator)
    sum_of = partial(rr.bivariate_distribution, data, source=generator)
    try:
        counted = [sum_of(pair, faults=faults.get(pair, {})) for pair in pairs]
    except rr.SecureSumError as error:
        return {MISSING}, set(error.parties) == {n for pair in faults.values() for n, _ in pair}
    total = any(distribution.inconsistencies for distribution in counted)
    margins = rr.disagreeing_margins(counted)
    return {means for means, found in ((TOTAL, total), (MARGINS, margins)) if found}, False


def small_records(generator: Generator) -> Microdata:
    """Draw 4 to 9 records over `SMALL` with a `generator`; the first 3 are in 3 cells of `PAIR`."""
    parties = int(generator.integers(4, 10))
    columns = tuple(generator.integers(0, size, parties) for size in SMALL.shape)
    for column, size in zip(columns, SMALL.shape, strict=True):
        column[:3] = np.arange(3) % size
    return Microdata(SMALL, columns)


def _cells(data: Microdata, pair: rr.Pair) -> Codes:
    records = data.project(pair)
    return records.domain.ravel(records.columns)


def _one(what: str, value: float | None, data: Microdata, random: Generator) -> Spoilt:
    """Let one party deviate in one cell, by a `value` or, without it, an amount from 1 to n."""
    where = int(random.integers(len(data))), int(random.integers(6))
    amount = int(random.integers(1, len(data) + 1))
    how: dict[str, Any] = {what: amount if value is None else value}
    return {PAIR: {where: partial(Deviating, **how)}}


def _counts_itself(once_more: int, less: int, data: Microdata, random: Generator) -> Spoilt:
    """Let a party count itself in a second cell (`once_more` 1), and another in none (`less` 1)."""
    cells = _cells(data, PAIR)
    twice, never = map(int, random.choice(len(data), 2, replace=False))
    second = (int(cells[twice]) + int(random.integers(1, 6))) % 6
    again, missed = (partial(Deviating, broadcast=each) for each in (once_more, -less))
    return {PAIR: {(twice, second): again, (never, int(cells[never])): missed}}


def _answers_for_another(
    pairs: Sequence[rr.Pair], data: Microdata, random: Generator, more_than_there_are: bool = False
) -> Spoilt:
    """Let a party move all records equal to its own, or more, to the cells of another record."""
    party = int(random.integers(len(data)))
    own = tuple(int(column[party]) for column in data.columns)
    # Change both attributes of the first pair, so that every pair changes.
    other = (own[0] + 1) % 2, (own[1] + int(random.integers(1, 3))) % 3, own[2]
    amount = sum(record == own for record in zip(*data.columns, strict=True))
    spoilt: Spoilt = {}
    for pair in pairs:
        cells, codes = _cells(data, pair), [np.array(other[SMALL.position(n)]) for n in pair]
        there, elsewhere = int(cells[party]), int(SMALL.project(pair).ravel(codes))
        if more_than_there_are:
            amount = int(np.count_nonzero(cells == there)) + 1
        less, more = (partial(Deviating, broadcast=each) for each in (-amount, amount))
        spoilt[pair] = {(party, there): less, (party, elsewhere): more}
    return spoilt


def _speaks_last(data: Microdata, random: Generator) -> Spoilt:
    wanted = random.multinomial(len(data), np.full(6, 1 / 6)).tolist()
    last = len(data) - 1
    return {PAIR: {(last, cell): partial(Deviating, count=n) for cell, n in enumerate(wanted)}}


ONE, ALL = (PAIR,), PAIRS
AGAIN = (
    "run the pair again with fresh shares and without that party; published counts reveal "
    "whether it was in them"
)
UNTRACED = "run the pair again; the party cannot be identified"
COMPARE = "count another pair with each of the attributes and compare"
NO_CHECK = "no check of the counts can show it; each message would need a proof that it is right"
FAULTS: tuple[tuple[str, Spoil, Sequence[rr.Pair], str], ...] = (
    ("a party leaves before it sends a share", partial(_one, "reached", 0.0), ONE, AGAIN),
    ("a party leaves while it sends its shares", partial(_one, "reached", 0.5), ONE, AGAIN),
    ("a party leaves between shares and broadcast", partial(_one, "reached", 1.0), ONE, AGAIN),
    ("a party sends shares that do not sum to 0", partial(_one, "shares", None), ONE, UNTRACED),
    ("a party broadcasts a wrong sum", partial(_one, "broadcast", None), ONE, UNTRACED),
    ("a party counts itself in two cells", partial(_counts_itself, 1, 0), ONE, UNTRACED),
    ("a party counts itself in no cell", partial(_counts_itself, 0, 1), ONE, UNTRACED),
    (
        "one party counts itself twice, another not at all; one pair is counted",
        partial(_counts_itself, 1, 1),
        ONE,
        COMPARE,
    ),
    (
        "a party moves all records like its own to another cell; one pair is counted",
        partial(_answers_for_another, ONE),
        ONE,
        COMPARE,
    ),
    (
        "the same, while all pairs are counted and the others are answered truly",
        partial(_answers_for_another, ONE),
        ALL,
        UNTRACED,
    ),
    ("the same in all pairs alike", partial(_answers_for_another, ALL), ALL, NO_CHECK),
    (
        "a party moves more records to another cell than there are",
        partial(_answers_for_another, ONE, more_than_there_are=True),
        ONE,
        "noticed in whole numbers alone: modulo n + 1 the counts add up",
    ),
    (
        "a party waits until all others have broadcast and sets the counts as it likes",
        _speaks_last,
        ONE,
        "have all commit to their broadcasts before the first is heard; the party can then shift "
        "counts, but not choose them",
    ),
)
