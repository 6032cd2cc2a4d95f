"""How a rehearsal of a release of numbers fares against the truth, which a rehearsal knows."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from deniable.errors import from_extras
from deniable.idp import f_measures, histograms, majority_f_measures, mean_sse, microaggregate
from deniable.idp.audit import certificate, link_records
from deniable.records import NumericMicrodata
from deniable.release import (
    HistogramRelease,
    IdpRelease,
    NumericRelease,
    ReleaseKey,
    in_true_order,
    marked,
)
from deniable.release.numeric.design import Domains, chosen, class_codes, protect
from deniable.release.numeric.estimates import estimate_numbers, statistics
from deniable.sampling import SeededNoise, generator_for

LINKED_TARGETS = 1000
ROUNDING = 1e-8  # of numbers written with 9 digits
UTILITY_COLUMNS = ["measure", "class", "value", "reference", "reference_is"]
UNPROTECTED = "the true records"


def checked(
    release: NumericRelease,
    made: Mapping[str, Any],
    data: NumericMicrodata,
    key: ReleaseKey,
    seed: int,
) -> dict[str, pd.DataFrame]:
    """Return a rehearsal's estimates beside the truth, and what its file keeps and shows.

    The `release` `made` ``release``, ``protected`` and ``estimates`` of its true `data`; the `key`
    tells their order; the `seed` is that of redraws and forests.
    """
    stated = Domains.from_json(made["release"]["domains"])
    redraws, forests = (
        generator_for(seed, {"release": release.name, "check": check})
        for check in ("redraws", "forests")
    )
    protected = in_true_order(release, made["protected"], key.draws(made["release"]))
    measured = measure_utility(release, data, protected, int(forests.integers(2**31)))
    return {
        "check": check_numbers(release, stated, data, made["estimates"], redraws),
        "utility": marked(measured, release, data),
    }


def check_numbers(
    release: NumericRelease,
    stated: Domains,
    data: NumericMicrodata,
    estimates: pd.DataFrame,
    generator: np.random.Generator,
    redraws: int = 100,
) -> pd.DataFrame:
    """Set the estimates of a rehearsal beside the truth, and see how often intervals cover it.

    A `release` that has intervals is drawn again `redraws` times by the `generator`, from the true
    `data` in the `stated` domains. The `estimates` are those of `estimate_numbers`; they are
    returned with ``true``, ``covered``, and ``coverage`` over ``redraws``; the last three are empty
    where there is no interval.
    """
    own = chosen(release, data)
    true = np.array(_truth(release, stated, own))
    low, high = (estimates[f"ci_{end}_file"].to_numpy(dtype=float) for end in ("low", "high"))
    slack = ROUNDING * np.maximum(1.0, np.abs(true))
    known = np.isfinite(low)
    covered = (low - slack <= true) & (true <= high + slack)
    table = estimates.assign(true=true, covered=pd.array(covered, dtype="boolean"))
    table["covered"] = table["covered"].mask(~known)
    if not known.any():
        return table.assign(coverage=np.nan, redraws=0)
    noise, hits = SeededNoise(generator), np.zeros(len(true))
    for _ in range(redraws):
        again = estimate_numbers(release, stated, protect(release, stated, data, noise, generator))
        hits += again["ci_low_file"].to_numpy() - slack <= true
        hits -= again["ci_high_file"].to_numpy() + slack < true
    return table.assign(coverage=np.where(known, hits / redraws, np.nan), redraws=redraws)


def _truth(release: NumericRelease, stated: Domains, data: NumericMicrodata) -> list[float]:
    """Return the true statistic of each row of the estimates, within bounds."""
    inner = stated.inner(data.values)
    found = [x for column in stated.outer(inner).T for x in statistics(column).values()]
    if isinstance(release, HistogramRelease):
        codes, classes = class_codes(data), max(len(data.classes), 1)
        counts = histograms(inner, codes, classes, stated.widths, release.bins)
        sizes = np.bincount(codes, minlength=classes)
        found += (counts[:, sizes > 0] / sizes[sizes > 0, None]).reshape(-1).tolist()
    return found


def measure_utility(
    release: NumericRelease, data: NumericMicrodata, protected: NumericMicrodata, seed: int
) -> pd.DataFrame:
    """Return what a rehearsal `release` keeps of the true `data`, and what it shows of them.

    `protected` is the protected file of the same records in the same order; the `seed` is that of
    the intruder and of random forests.

    The columns are ``measure``, ``class``, ``value``, and a ``reference``, with what it is: the
    mean SSE (beside that of microaggregation alone), the share of records that the intruder of
    `deniable.idp.audit.linkage` links to their own released values, a lower bound (beside
    guessing), the epsilon that the released numbers prove (beside the claimed one), and F-measures
    of a random forest trained on the first 66 % of the protected records and tested on the other
    true ones (beside one trained on true records).
    """
    own = chosen(release, data)
    rows = list(_whole_file(release, own, protected, seed))
    if len(own.classes) > 1:
        rows += _of_forests(own, protected, seed)
    return pd.DataFrame(rows, columns=UTILITY_COLUMNS)


def _whole_file(
    release: NumericRelease, true: NumericMicrodata, protected: NumericMicrodata, seed: int
) -> Iterator[tuple[Any, ...]]:
    varied = np.ptp(true.values, axis=0) > 0
    numbers, released = true.values[:, varied], protected.values[:, varied]
    if not varied.any():
        return
    k = release.k if isinstance(release, IdpRelease) else None
    alone = float(mean_sse(numbers, microaggregate(numbers, k))) if k else np.nan
    basis = f"microaggregation alone, k = {k}" if k else ""
    yield "mean SSE", "", float(mean_sse(numbers, released)), alone, basis
    generator = generator_for(seed, {"check": "linkage"})
    targets = generator.permutation(len(true))[:LINKED_TARGETS]
    linked = link_records(numbers, released, targets, generator).share
    yield "share of records linked", "", linked, 1 / len(true), "guessing"
    proven = certificate(numbers, released[None]).largest
    yield "epsilon proved by the numbers", "", proven, release.epsilon, "claimed"


def _of_forests(
    true: NumericMicrodata, protected: NumericMicrodata, seed: int
) -> Iterator[tuple[Any, ...]]:
    # Here, not above: the library is large, and files without classes do without it.
    with from_extras():
        from sklearn.ensemble import (  # type: ignore[import-untyped]  # noqa: PLC0415
            RandomForestClassifier,
        )

    training, test = true.training_split()
    if min(np.unique(part.labels).size for part in (training, test)) < 2:
        return
    measures = []
    for records in (protected.values[: len(training)], training.values):
        forest = RandomForestClassifier(random_state=seed, n_jobs=1)
        forest.fit(records, training.labels)
        predicted = forest.predict(test.values)
        measures.append(f_measures(test.labels, predicted, len(true.classes)))
    majority = majority_f_measures(training.labels, test.labels, len(true.classes))
    for name, own, reference, always in zip(true.classes, *measures, majority, strict=True):
        yield "F-measure", name, float(own), float(reference), UNPROTECTED
        yield "F-measure of the majority class", name, float(always), float(reference), UNPROTECTED
