"""Test whether the time to randomize one record reveals its response.

Draws may need further random bits, so their time may reveal responses. Each record is randomized by
itself, as a device or a service does, many times, in a new random order each time. So a change of
the machine's speed affects all responses. The time of a record is the first decile of the processor
times of its draws, which other processes disturb least. For each mechanism and each pair of classes
of records, the output has these numbers, over replicates with other keys: the records of a
replicate, the median times of both classes and their ratio, the mean, smallest and largest
difference of the medians, the replicates with p < .01 in a rank test (Mann-Whitney), and the
p-value of all together (Fisher).

Classes are of the response, and of the original value. A record is "open" if its first 16 bits do
not decide, which happens for 1 in 65,536. Open records are searched among the first --search
records. The control does some 100 ns of extra work for one class, and shows which differences are
found. The exit code is always 0. Caches, branches, memory, input and output are not measured.

    python benchmarks/timing.py [--records N] [--rounds N] [--replicates N] [--search N]

Results, with 5 keys for each row (10 for the square wave, 15 for the noise) and 1,500 records (300
for dense, 300 values), on a shared machine:

=============================================  ========  ===============  ========================
mechanism, pairs of classes                    CPU time  mean difference  smallest p of a pair
                                                         of medians
=============================================  ========  ===============  ========================
keep-or-replace, 8 values, 3 pairs             79 µs     -55 to +42 ns    .28
dense, 5 values, 3 pairs                       87 µs     -19 to +19 ns    .20
dense, 300 values, 3 pairs, before change 2    4,280 µs  -1 to +11 µs     .008, .40 in a repetition
Hadamard response, 20 categories, 2 pairs      114 µs    -13 to +19 ns    .62
the same, decided or open first bits           114 µs    -250 ns          .34
square wave, 452 values, inside the window     51 µs     -12 ns           .33
  or not
Laplace noise, below the median size or not    109 µs    +59 ns           .14
control: some 100 ns of extra work             80 µs     +100 ns          .013
control, in a repetition                                 +75 ns           .14
=============================================  ========  ===============  ========================

Three differences were found and removed, with the same bytes. The first two changes are for calls
of up to 200 records.

1. Records with open first bits took longer: +35 µs with Hadamard response. Now all records take
   further bits.
2. A binary search among more than 256 values took 18 ns more at higher values (p = .004 with the
   square wave). Now all thresholds are compared, up to 2^20 of them.
3. The noise of masked numbers and histograms is drawn by rejection. Larger noise needs more random
   events, 7 on average: +4.4 µs, p below 10^-70. Now each value gets at least 48, and the idle ones
   change nothing. About 2 values in a million need more and still take longer.

The control shows the limit: differences of 100 ns are found in some repetitions only, and smaller
ones are not excluded. Dense matrices of 300 values were not measured again after the change. Not
measured: other processors, calls of several records (their time depends on the number of open
ones), and other mechanisms.
"""

import argparse
import gc
import time
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
from scipy import stats

from deniable.channels import Channel, DenseChannel, HadamardResponse, KeepOrReplace, SquareWave
from deniable.sampling import KeyedDraws, KeyedNoise

EPSILON, NAMES = 1.0, ("x",)
HADAMARD = "Hadamard, 20"
FEWER = 5  # times fewer records and 5 rounds, if a draw takes milliseconds
Flags = np.ndarray
Draw = Callable[[np.ndarray, KeyedDraws, range | np.ndarray], np.ndarray]
"""Randomizes original values by keys and record numbers."""
Classes = Callable[[np.ndarray, np.ndarray], Flags]
"""Functions that return whether a record is in the second class, by original value and response."""


class Case(NamedTuple):
    """A mechanism, two original values of its records, and the second class of each pair."""

    name: str
    draw: Draw
    originals: tuple[int, int]
    pairs: Mapping[str, Classes]
    slow: bool = False


def by(channel: Channel) -> Draw:
    """Return the draw of a `channel`."""
    return lambda values, draws, records: channel.report(values, draws, NAMES, records)


def noise(values: np.ndarray, draws: KeyedDraws, records: range | np.ndarray) -> np.ndarray:
    """Add noise of scale 10, as for masked numbers, to each record by its own key."""
    pairs = zip(values, records, strict=True)
    keys = (
        (np.array([float(value)]), KeyedDraws(draws.key, b"%d" % number)) for value, number in pairs
    )
    added = [KeyedNoise(key).add(value, np.array([10.0]), 1)[0] for value, key in keys]
    return np.concatenate(added)


def cases() -> Iterator[Case]:
    """Yield the mechanisms."""
    changed: dict[str, Classes] = {"kept or not": lambda u, v: u != v}
    keep = KeepOrReplace.of_epsilon(8, EPSILON)
    yield Case("control", by(keep), (2, 5), changed)
    yield Case(
        "keep-or-replace, 8", by(keep), (2, 5), changed | {"v < 4 or not": lambda u, v: v >= 4}
    )
    for size in (5, 300):
        rows = np.random.default_rng(size).exponential(size=(size, size))
        rows += np.eye(size) * size / 4
        dense = DenseChannel(rows / rows.sum(axis=1, keepdims=True))
        pairs = changed | {"v < m / 2 or not": lambda u, v, half=size // 2: v >= half}
        yield Case(f"dense, {size}", by(dense), (0, size - 1), pairs, size > 256)
    hadamard = HadamardResponse.of_epsilon(20, EPSILON)
    members = [hadamard.supported_by(np.arange(hadamard.reports), each) for each in range(20)]
    table = np.array(members)
    yield Case(HADAMARD, by(hadamard), (6, 13), {"member or not": lambda u, v: ~table[u, v]})
    wave = SquareWave.of_epsilon(300, EPSILON)
    window = wave.window
    pairs = {"inside or not": lambda u, v: (v < u) | (v >= u + window)}
    yield Case(f"square wave, {wave.reports}", by(wave), (100, 200), pairs)
    noisy: dict[str, Classes] = {"|noise| < 7 or not": lambda u, v: np.abs(v - u) >= 7}
    yield Case("Laplace noise", noise, (20, 60), noisy)


def times(
    case: Case, draws: KeyedDraws, records: np.ndarray, true: np.ndarray, slow: Flags, rounds: int
) -> np.ndarray:
    """Return the processor time of the draw of each record, in microseconds."""
    parts = [range(each, each + 1) for each in records.tolist()]
    values, extra = list(true.reshape(-1, 1)), slow.tolist()
    clock, draw, order = time.thread_time_ns, case.draw, np.random.default_rng(1)
    found: list[np.ndarray] = []
    gc.disable()
    while len(found) < rounds:
        row = np.empty(len(records))
        for at in order.permutation(len(records)).tolist():
            start = clock()
            draw(values[at], draws, parts[at])
            if extra[at]:
                sum((1, 2, 3))
            row[at] = clock() - start
        found.append(row)
    gc.enable()
    return np.asarray(np.quantile(found, 0.1, axis=0) / 1000)


class Compared(NamedTuple):
    """Records of both classes, their median times in microseconds, and a p-value."""

    records: tuple[int, int]
    times: tuple[float, float]
    p: float


def compared(seen: np.ndarray, second: Flags) -> Compared:
    """Compare the times of the records of two classes."""
    own = seen[~second], seen[second]
    medians = float(np.median(own[0])), float(np.median(own[1]))
    return Compared((len(own[0]), len(own[1])), medians, float(stats.mannwhitneyu(*own).pvalue))


def line(found: list[Compared]) -> str:
    """Return the numbers of a line of the table, from all replicates."""
    first, second = (np.array([each.times[i] for each in found]) for i in (0, 1))
    steps, p = 1000 * (second - first), [each.p for each in found]
    apart = f"{steps.mean():+7.0f} [{steps.min():+6.0f},{steps.max():+6.0f}]"
    together = stats.combine_pvalues(p).pvalue
    return (
        f"{found[0].records[0]:6} {found[0].records[1]:6} {first.mean():8.2f} {second.mean():8.2f} "
        f"{second.mean() / first.mean():7.4f} {apart} {sum(e < 0.01 for e in p)}/{len(p)} "
        f"{together:8.2g}"
    )


def open_records(case: Case, draws: KeyedDraws, search: int) -> np.ndarray:
    """Return the records with the first 16 bits of the probability to draw a member."""
    if case.name != HADAMARD:
        return np.empty(0, dtype=np.int64)
    probability = HadamardResponse.of_epsilon(20, EPSILON).probability
    return np.flatnonzero(draws.column(NAMES, search).words() == int(probability * 2**16))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--records", type=int, default=1500)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--replicates", type=int, default=5)
    parser.add_argument("--search", type=int, default=1 << 22)
    given = parser.parse_args()
    numbers = "records       us, medians     ratio      ns [least, most]  p<.01      p"
    print(f"{'mechanism':20} {'classes':19} {numbers}")
    for case in cases():
        found: dict[str, list[Compared]] = {}
        number = given.records // (FEWER if case.slow else 1)
        rounds = min(given.rounds, 5) if case.slow else given.rounds
        for replicate in range(given.replicates):
            draws = KeyedDraws(bytes([replicate + 1]) * 32, b"timing")
            rare = open_records(case, draws, given.search)
            records = np.concatenate([rare, np.arange(number)])
            true = np.random.default_rng(replicate).choice(case.originals, len(records))
            shown = case.draw(true, draws, records)
            pairs = {name: of(true, shown) for name, of in case.pairs.items()}
            slow = pairs["kept or not"] if case.name == "control" else np.zeros(len(true), bool)
            pairs["original value"] = true == case.originals[1]
            if len(rare):
                pairs["decided or open"] = np.arange(len(records)) < len(rare)
            seen = times(case, draws, records, true, slow, rounds)
            for name, second in pairs.items():
                found.setdefault(name, []).append(compared(seen, second))
        for name, each in found.items():
            print(f"{case.name:20} {name:18} {line(each)}", flush=True)


if __name__ == "__main__":
    main()
