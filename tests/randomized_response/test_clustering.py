"""Algorithm 1 of [multirr], by hand."""

import pandas as pd
import pytest

from deniable.randomized_response.clustering import cluster_attributes
from deniable.records.domain import Attribute, Domain


def domain_of(**sizes: int) -> Domain:
    return Domain(
        tuple(Attribute(name, tuple(map(str, range(size)))) for name, size in sizes.items())
    )


def table(**pairs: float) -> pd.DataFrame:
    rows = [(pair[0], pair[1], "cramers_v", value) for pair, value in pairs.items()]
    return pd.DataFrame(rows, columns=["attribute_1", "attribute_2", "measure", "dependence"])


DOMAIN = domain_of(A=4, B=5, C=2, D=2)
DEPENDENCES = table(AB=0.9, AC=0.8, AD=0.1, BC=0.1, BD=0.25, CD=0.3)


@pytest.mark.parametrize(
    ("largest_cells", "least_dependence", "clusters"),
    [
        # AB has 20 cells: else the next element, AC with 8. Start over: AC with B (still .9) 40,
        # AC with D (.3, from CD) 16, both over 12; else BD (.25) with 10. Then AC with BD: 80.
        (12, 0.2, ("AC", "BD")),
        (12, 0.25, ("AC", "BD")),  # .25 is not below .25
        (12, 0.26, ("AC", "B", "D")),
        # 16 cells are allowed: AC takes D before BD is looked at, and ACD with B has 80.
        (16, 0.2, ("ACD", "B")),
        (16, 0.31, ("AC", "B", "D")),
        # AB first; then AB with C 40 at .8, over 20; AB with D 40 at .25; CD 4 at .3 is before it.
        (20, 0.2, ("AB", "CD")),
        (40, 0.2, ("ABC", "D")),
        (80, 0.2, ("ABCD",)),
        (80, 0.91, ("A", "B", "C", "D")),
        (3, 0.0, ("A", "B", "C", "D")),
        (4, 0.0, ("A", "B", "CD")),
    ],
)
def test_by_hand(largest_cells, least_dependence, clusters):
    found = cluster_attributes(DOMAIN, DEPENDENCES, largest_cells, least_dependence)
    assert found == tuple(tuple(cluster) for cluster in clusters)


def test_ties_are_taken_in_the_domains_order():
    domain = domain_of(A=2, B=2, C=2, D=2)
    equal = table(AB=0.5, AC=0.5, AD=0.5, BC=0.5, BD=0.5, CD=0.5)
    assert cluster_attributes(domain, equal, 4, 0.1) == (("A", "B"), ("C", "D"))
    # The order of the rows, or of a row's two names, changes nothing.
    shuffled = equal.iloc[[5, 2, 0, 4, 1, 3]].rename(
        columns={"attribute_1": "attribute_2", "attribute_2": "attribute_1"}
    )
    assert cluster_attributes(domain, shuffled, 4, 0.1) == (("A", "B"), ("C", "D"))


def test_clusters_keep_the_domains_order():
    domain = domain_of(D=2, C=2, B=2, A=2)
    found = cluster_attributes(
        domain, table(AB=0.1, AC=0.9, AD=0.1, BC=0.1, BD=0.8, CD=0.1), 4, 0.5
    )
    assert found == (("D", "B"), ("C", "A"))


def test_one_attribute():
    assert cluster_attributes(domain_of(A=9), table(), 4, 0.1) == (("A",),)
