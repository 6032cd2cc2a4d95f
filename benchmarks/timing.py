"""Whether the time to randomize one record reveals its response: processor time by response.

Each record is randomized by itself, as a device or a service does, again and again, in a new random
order each time: so a change of the machine's pace meets all responses. The time of a record is the
median of its draws. For each mechanism and each pair of classes of records the table has the number
of records, the median times, their ratio, the difference with a 95 % interval (bootstrap of
records) and the p-value of a rank test (Mann-Whitney), in several replicates with other keys.

Classes are of the response, and of the original value. A record is "open" if its first 16 bits do
not decide, which happens to 1 in 65,536: these are looked up among the first --search records. The
control does some 100 ns of extra work for one class, and shows which differences are found. Always
exits 0. Caches and branches of the processor, memory, input and output are not measured.

    python benchmarks/timing.py [--records N] [--rounds N] [--replicates N] [--search N]
"""

import argparse
import gc
import time
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
from scipy import stats

from deniable.channels import Channel, DenseChannel, HadamardResponse, KeepOrReplace, SquareWave
from deniable.sampling import KeyedDraws

EPSILON, NAMES, BOOTSTRAP = 1.0, ("x",), 400
SLOW = 500  # microseconds of a draw, above which there are fewer rounds
Flags = np.ndarray
Classes = Callable[[np.ndarray, np.ndarray], Flags]
"""Whether a record is in the second class, by its original value and its response."""


class Case(NamedTuple):
    """A `channel`, two original values of its records, and the second class of each pair."""

    name: str
    channel: Channel
    originals: tuple[int, int]
    pairs: Mapping[str, Classes]


def cases() -> Iterator[Case]:
    """Yield the mechanisms."""
    changed: Mapping[str, Classes] = {"kept or not": lambda u, v: u != v}
    keep = KeepOrReplace.of_epsilon(8, EPSILON)
    yield Case("control", keep, (2, 5), changed)
    yield Case("keep-or-replace, 8", keep, (2, 5), changed | {"v < 4 or not": lambda u, v: v >= 4})
    for size in (5, 300):
        rows = np.random.default_rng(size).exponential(size=(size, size))
        rows += np.eye(size) * size / 4
        dense = DenseChannel(rows / rows.sum(axis=1, keepdims=True))
        pairs = changed | {"v < m / 2 or not": lambda u, v, half=size // 2: v >= half}
        yield Case(f"dense, {size}", dense, (0, size - 1), pairs)
    hadamard = HadamardResponse.of_epsilon(20, EPSILON)
    members = [hadamard.supported_by(np.arange(hadamard.reports), each) for each in range(20)]
    table = np.array(members)
    yield Case("Hadamard, 20", hadamard, (6, 13), {"member or not": lambda u, v: ~table[u, v]})
    wave = SquareWave.of_epsilon(300, EPSILON)
    window = wave.window
    pairs = {"inside or not": lambda u, v: (v < u) | (v >= u + window)}
    yield Case(f"square wave, {wave.reports}", wave, (100, 200), pairs)


def medians(case: Case, draws: KeyedDraws, records: np.ndarray, true: np.ndarray, slow: Flags, rounds: int) -> np.ndarray:
    """Return the median processor time of the draw of each record, in microseconds."""
    parts = [range(each, each + 1) for each in records.tolist()]
    values, extra = list(true.reshape(-1, 1)), slow.tolist()
    clock, report, order = time.thread_time_ns, case.channel.report, np.random.default_rng(1)
    found: list[np.ndarray] = []
    gc.disable()
    while len(found) < rounds:
        row = np.empty(len(records))
        for at in order.permutation(len(records)).tolist():
            start = clock()
            report(values[at], draws, NAMES, parts[at])
            if extra[at]:
                sum((1, 2, 3))
            row[at] = clock() - start
        found.append(row)
        if np.median(row) > 1000 * SLOW:
            rounds = min(rounds, 5)
    gc.enable()
    return np.median(found, axis=0) / 1000


def compared(seen: np.ndarray, second: Flags) -> str:
    """Return the numbers of a line of the table."""
    own, generator = [seen[~second], seen[second]], np.random.default_rng(2)
    drawn = [np.median(generator.choice(each, (BOOTSTRAP, len(each))), axis=1) for each in own]
    low, high = 1000 * np.quantile(drawn[1] - drawn[0], [0.025, 0.975])
    a, b = (float(np.median(each)) for each in own)
    p = stats.mannwhitneyu(*own).pvalue
    counts = f"{len(own[0]):6} {len(own[1]):6}"
    return f"{counts} {a:8.2f} {b:8.2f} {b / a:7.4f} {1000 * (b - a):+7.0f} [{low:+6.0f},{high:+6.0f}] {p:8.2g}"


def open_records(case: Case, draws: KeyedDraws, search: int) -> np.ndarray:
    """Return the records with the first 16 bits of the probability to draw a member."""
    if not isinstance(case.channel, HadamardResponse):
        return np.empty(0, dtype=np.int64)
    words = draws.column(NAMES, search).words()
    return np.flatnonzero(words == int(case.channel.probability * 2**16))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1500)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--replicates", type=int, default=5)
    parser.add_argument("--search", type=int, default=1 << 22)
    given = parser.parse_args()
    print("mechanism            classes             records        us, medians   ratio     ns  [95 %]           p")
    for case in cases():
        for replicate in range(given.replicates):
            draws = KeyedDraws(bytes([replicate + 1]) * 32, b"timing")
            rare = open_records(case, draws, given.search)
            records = np.concatenate([rare, np.arange(given.records)])
            true = np.random.default_rng(replicate).choice(case.originals, len(records))
            shown = case.channel.report(true, draws, NAMES, records)
            pairs = {name: of(true, shown) for name, of in case.pairs.items()}
            slow = pairs["kept or not"] if case.name == "control" else np.zeros(len(true), bool)
            pairs["original value"] = true == case.originals[1]
            if len(rare):
                pairs["decided or open"] = np.arange(len(records)) < len(rare)
            seen = medians(case, draws, records, true, slow, given.rounds)
            for name, second in pairs.items():
                print(f"{case.name:20} {name:17} {compared(seen, second)}", flush=True)


if __name__ == "__main__":
    main()
