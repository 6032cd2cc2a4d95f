"""The ways to spend an epsilon on many attributes, side by side."""

from itertools import combinations

import numpy as np
import pandas as pd

from deniable.channels import KeepOrReplace
from deniable.randomized_response.budgets.estimates import planned_variances
from deniable.randomized_response.budgets.makers import (
    sample_attribute,
    share_pairs,
    split_clusters,
    split_record,
)
from deniable.randomized_response.budgets.plan import QuestionPlan
from deniable.randomized_response.budgets.splitting import ChannelOf
from deniable.randomized_response.dependence import Clusters
from deniable.records import Domain


def compare_budgets(
    domain: Domain,
    epsilon: float,
    persons: int,
    clusters: Clusters | None = None,
    channel_of: ChannelOf = KeepOrReplace.of_epsilon,
) -> pd.DataFrame:
    """Return what each way to ask gets out of so many persons at the same epsilon of a record.

    Closed forms, at uniform truth and for the target "population"; estimates are those of
    `estimate_table`.

    Parameters
    ----------
    domain : Domain
        Of at least 2 attributes, one of them of at least 2 categories.
    epsilon : float, above 0
        Of a record.
    persons : int, at least 1
    clusters : tuple of tuples of attribute names, optional
        Those of RR-Clusters; by default neighbours in twos.
    channel_of : function, optional
        How every question is asked; see `split_budget`.

    Returns
    -------
    DataFrame
        A row a way: ``way``; ``epsilon`` of a record and the largest ``attribute_epsilon``, both
        exact; ``margins`` and ``pairs``, the mean squared error of a cell, averaged over the cells
        of a table, then over all attributes or pairs; NaN where no group is asked about a pair.

    Examples
    --------
    >>> from deniable.records import Attribute
    >>> yes_no = [Attribute(name, ("no", "yes")) for name in "ab"]
    >>> found = compare_budgets(Domain(tuple(yes_no)), 1.0, 1000)
    >>> found["way"].tolist()[:2]
    ['split, even', 'split, size']
    """
    if clusters is None:
        names = domain.names
        clusters = tuple(names[start : start + 2] for start in range(0, len(names), 2))
    plans = {
        "split, even": split_record(domain, epsilon, "even", channel_of),
        "split, size": split_record(domain, epsilon, "size", channel_of),
        "split, least variance": split_record(domain, epsilon, "least_variance", channel_of),
        "one attribute a person": sample_attribute(domain, epsilon, None, channel_of),
        "clusters": split_clusters(domain, clusters, epsilon, "least_variance", channel_of),
        "one pair a person": share_pairs(domain, epsilon, None, channel_of),
    }
    return pd.DataFrame(
        {
            "way": way,
            "epsilon": plan.epsilon,
            "attribute_epsilon": max(plan.epsilon_of(name) for name in domain.names),
            "margins": _mean_error(plan, tuple((name,) for name in domain.names), persons),
            "pairs": _mean_error(plan, tuple(combinations(domain.names, 2)), persons),
        }
        for way, plan in plans.items()
    )


def _mean_error(plan: QuestionPlan, tables: Clusters, persons: int) -> float:
    if not all(_is_asked(plan, table) for table in tables):
        return np.nan
    return float(np.mean([planned_variances(plan, table, persons).mean() for table in tables]))


def _is_asked(plan: QuestionPlan, table: tuple[str, ...]) -> bool:
    return any(
        set(table) <= {name for question in group.questions for name in question.names}
        for group in plan.groups
    )
