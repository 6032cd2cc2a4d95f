"""Compute the error analysis of [multirr] (2.3, 3.3, 4.1) without simulation."""

import math
from collections.abc import Callable, Sequence
from itertools import combinations, product
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from deniable import estimation, randomized_response as rr
from deniable.channels import ProductChannel
from deniable.records import Domain, Microdata

READINGS: tuple[rr.Reading, ...] = ("keep", "printed")  # matrices for the order of dependences
COPIES = (1, 6)  # Adult and Adult6


def figure_1(sizes: Sequence[int] = ()) -> pd.DataFrame:
    """Return Figure 1 of [multirr]: ``root_b``, sqrt(B), by number of ``categories``, at 95 %.

    The grid has ten points per decade from 1 to 10**7, the `sizes` of attributes and their product.
    """
    grid = np.logspace(0, 7, 71).round().astype(int).tolist()
    numbers = sorted({*grid, *sizes, math.prod(sizes)})
    roots = [estimation.bonferroni_critical_value(number) for number in numbers]
    return pd.DataFrame({"categories": numbers, "root_b": roots})


def accuracy_table(domain: Domain, records_list: Sequence[int]) -> pd.DataFrame:
    """Return the accuracy analysis of [multirr], 3.3, at 95 %, for growing sets of attributes.

    The result has one row for each number of records in `records_list` and each number of first
    ``attributes`` of the `domain`. ``enough_records`` is bound (7), n >> cells, with 10 records per
    cell: the paper leaves the factor open. ``relative_error_independent`` is the largest error of
    an attribute (``widest``). With ``records_needed_joint`` records RR-Joint has the same error.
    """
    rows: list[dict[str, Any]] = []
    for records, number in product(records_list, range(1, len(domain) + 1)):
        sizes = domain.shape[:number]
        cells = math.prod(sizes)
        errors = [estimation.best_case_relative_error(size, records) for size in sizes]
        error, joint = max(errors), estimation.best_case_relative_error(cells, records)
        rows.append(
            {
                "records": records,
                "attributes": number,
                "added": domain.names[number - 1],
                "cells": cells,
                "records_a_cell": records / cells,
                "enough_records": records >= 10 * cells,
                "relative_error_independent": error,
                "widest": domain.names[errors.index(error)],
                "relative_error_joint": joint,
                "ratio": joint / error if error else 1.0,  # of one category: both are exact
                "records_needed_joint": estimation.records_needed(cells, error) if error else 1,
            }
        )
    return pd.DataFrame(rows)


def propagation_table(domain: Domain, probabilities: Sequence[float]) -> pd.DataFrame:
    """Return the propagation factor ([multirr], 2.3) of each attribute and of a record ("all").

    The `probabilities`, in (0, 1), are p of section 6.3.1. The ``propagation_factor`` of a record
    is a product, infinite for a singular matrix. ``propagation_factor_joint`` belongs to one matrix
    over all cells of the `domain` with the same ε (6.3.2). ``diagonal_weight`` is a in
    P = a I + 1 b'. All ε are exact.
    """
    rows: list[dict[str, Any]] = []
    for reading, p in product(get_args(rr.Reading), probabilities):
        channels = [rr.rr_channel(size, p, reading) for size in domain.shape]
        spent = rr.epsilons(rr.rr_independent(domain, p, reading))
        which = {"reading": reading, "p": p} | spent
        for attribute, channel in zip(domain, channels, strict=True):
            factor = estimation.propagation_factor(channel)
            row = {"attribute": attribute.name, "cells": attribute.size} | which
            row |= {"attribute_epsilon": channel.epsilon}
            row |= {"diagonal_weight": channel.diagonal_weight, "propagation_factor": factor}
            rows.append(row | {"propagation_factor_joint": factor})
        epsilon = sum(rr.claimed_epsilon(size, p, reading) for size in domain.shape)
        factor = estimation.propagation_factor(ProductChannel(tuple(channels)))
        row = {"attribute": "all", "cells": domain.size} | which | {"propagation_factor": factor}
        joint = estimation.smallest_propagation(domain.size, epsilon)
        rows.append(row | {"propagation_factor_joint": joint})
    return pd.DataFrame(rows)


def expected_dependence_order(data: Microdata, probabilities: Sequence[float]) -> pd.DataFrame:
    """Return how well randomization preserves the order of dependences ([multirr], 4.1).

    The dependence of a pair in its table T of the `data` is compared with its dependence in the
    expected table of responses, P_a' T P_b, without sampling error. The matrices have the
    `probabilities` p. Codes are the scores of correlation and covariance. ``rank_correlation`` is
    Spearman's. ``order_kept`` is the proportion of comparisons of two ``pairs`` with equal order.
    """
    pairs = list(combinations(data.domain.names, 2))
    tables = [data.counts(pair) for pair in pairs]
    first, second = np.triu_indices(len(pairs), 1)
    rows: list[dict[str, Any]] = []
    for (name, measure), reading, p in product(MEASURES.items(), READINGS, probabilities):
        reported = []
        for table in tables:
            channel = ProductChannel(tuple(rr.rr_channel(size, p, reading) for size in table.shape))
            expected = channel.reported(table.ravel()).reshape(table.shape)
            # Exactly 0 for a singular channel: rounding errors must not determine the order.
            reported.append(0.0 if channel.singular else measure(expected))
        t, r = np.array([*map(measure, tables)]), np.array(reported)
        kept = (t[first] - t[second]) * (r[first] - r[second]) > 0
        rows.append(
            {"measure": name, "reading": reading, "p": p}
            | rr.epsilons(rr.rr_independent(data.domain, p, reading))
            | {"pairs": len(pairs)}
            | {"rank_correlation": pd.Series(t).rank().corr(pd.Series(r).rank())}
            | {"order_kept": kept.mean(), "strongest_kept": t.argmax() == r.argmax()}
            | {"largest_true": t.max(), "largest_reported": r.max()}
        )
    return pd.DataFrame(rows)


def _absolute_covariance(table: npt.ArrayLike) -> float:
    joint = np.asarray(table, dtype=float)
    joint = joint / joint.sum()
    x, y = (np.arange(size, dtype=float) for size in joint.shape)
    return float(abs((x - joint.sum(axis=1) @ x) @ joint @ (y - joint.sum(axis=0) @ y)))


MEASURES: dict[str, Callable[[npt.ArrayLike], float]] = {
    "cramers_v": rr.cramers_v,
    "absolute_correlation": rr.absolute_correlation,
    "absolute_covariance": _absolute_covariance,
}
