"""Compare the estimates and records of a test release with the original records."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from deniable.errors import from_extras
from deniable.idp import (
    NumericMechanism,
    class_codes,
    estimate_numbers,
    f_measures,
    histograms,
    majority_f_measures,
    mean_sse,
    microaggregate,
    protect_numbers,
    statistics,
)
from deniable.idp.audit.attack import certificate
from deniable.idp.audit.linkage import link_records
from deniable.records import NumericMicrodata
from deniable.sampling import SeededNoise, generator_for

LINKED_TARGETS = 1000
REDRAWS = 100
ROUNDING = 1e-8  # for numbers written with 9 digits
UTILITY_COLUMNS = ["measure", "class", "value", "reference", "reference_is"]
UNPROTECTED = "the original records"


def compare_estimates(
    mechanism: NumericMechanism,
    original: NumericMicrodata,
    estimates: pd.DataFrame,
    generator: np.random.Generator,
    redraws: int = REDRAWS,
) -> pd.DataFrame:
    """Compare the `estimates` of a test release with the statistics of the `original` records.

    The `generator` draws the release again, `redraws` times, to measure coverage. The result has
    the estimates, by `deniable.idp.estimate_numbers` of the `mechanism`, with ``true``,
    ``covered``, ``coverage`` and ``redraws``. Without an interval, ``covered`` and
    ``coverage`` are empty.
    """
    domains, inner = mechanism.domains, mechanism.domains.inner(original.values)
    found = [x for column in domains.outer(inner).T for x in statistics(column).values()]
    if mechanism.by_histograms:
        codes, classes = class_codes(original), max(len(original.classes), 1)
        counts = histograms(inner, codes, classes, domains.widths, mechanism.bins)
        sizes = np.bincount(codes, minlength=classes)
        found += (counts[:, sizes > 0] / sizes[sizes > 0, None]).reshape(-1).tolist()
    true = np.array(found)
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
        values, noisy = protect_numbers(mechanism, original, noise, generator)
        again = estimate_numbers(mechanism, original.with_values(values), noisy)
        hits += again["ci_low_file"].to_numpy() - slack <= true
        hits -= again["ci_high_file"].to_numpy() + slack < true
    return table.assign(coverage=np.where(known, hits / redraws, np.nan), redraws=redraws)


def measure_utility(
    mechanism: NumericMechanism, original: NumericMicrodata, protected: NumericMicrodata, seed: int
) -> pd.DataFrame:
    """Return measures of the utility and of the disclosure risk of a test release.

    The `original` and the `protected` records are in the same order. The `seed` is for the intruder
    and the random forests.

    Columns are ``measure``, ``class``, ``value``, ``reference``, ``reference_is``. The measures are

    - mean SSE under the `mechanism`; the reference is microaggregation alone;
    - proportion of records that the intruder of `deniable.idp.audit.linkage` links correctly, a
      lower bound on the risk; the reference is guessing;
    - lower bound on epsilon from the released numbers; the reference is the claimed epsilon;
    - F-measures of a random forest, trained on the first 66 % of the protected records and tested
      on the other original ones; the reference is a forest trained on original records.
    """
    rows: list[tuple[Any, ...]] = []
    varied, k = np.ptp(original.values, axis=0) > 0, mechanism.k
    if varied.any():
        numbers, released = original.values[:, varied], protected.values[:, varied]
        alone = float(mean_sse(numbers, microaggregate(numbers, k))) if k else np.nan
        basis = f"microaggregation alone, k = {k}" if k else ""
        generator = generator_for(seed, {"check": "linkage"})
        targets = generator.permutation(len(original))[:LINKED_TARGETS]
        linked = link_records(numbers, released, targets, generator).share
        proven = float(certificate(numbers, released[None]).max())
        rows = [
            ("mean SSE", "", float(mean_sse(numbers, released)), alone, basis),
            ("proportion of records linked", "", linked, 1 / len(original), "guessing"),
            ("epsilon proved by the numbers", "", proven, mechanism.epsilon, "claimed"),
        ]
    if len(original.classes) > 1:
        rows += _forests(original, protected, seed)
    return pd.DataFrame(rows, columns=UTILITY_COLUMNS)


def _forests(
    original: NumericMicrodata, protected: NumericMicrodata, seed: int
) -> Iterator[tuple[Any, ...]]:
    # Imported here because the library is large and files without classes do not need it.
    with from_extras():
        from sklearn.ensemble import (  # type: ignore[import-untyped]  # noqa: PLC0415
            RandomForestClassifier,
        )

    training, test = original.training_split()
    if min(np.unique(part.labels).size for part in (training, test)) < 2:
        return
    measures = []
    for records in (protected.values[: len(training)], training.values):
        forest = RandomForestClassifier(random_state=seed, n_jobs=1)
        forest.fit(records, training.labels)
        measures.append(f_measures(test.labels, forest.predict(test.values), len(original.classes)))
    majority = majority_f_measures(training.labels, test.labels, len(original.classes))
    for name, own, reference, always in zip(original.classes, *measures, majority, strict=True):
        yield "F-measure", name, float(own), float(reference), UNPROTECTED
        yield "F-measure of the majority class", name, float(always), float(reference), UNPROTECTED
