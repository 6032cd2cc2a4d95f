"""Names of reports of channels with more reports than categories, for files."""

from collections.abc import Sequence

from deniable.channels import MAX_MATRIX_ENTRIES, Channel
from deniable.records import Attribute, Domain

BETWEEN = " | "
LONGEST_LABEL = 60
OF_ALL = "any"


def as_reports(part: Domain, channel: Channel) -> Domain:
    """Return the domain of reports of some attributes, `part`, through one `channel`.

    These are the attributes, if the reports are their categories. Otherwise it is one attribute,
    with the names of all of them and one category per report (see `report_labels`).
    """
    if channel.returns_categories:
        return part
    labels = report_labels(channel, part.cell_labels())
    return Domain((Attribute(" x ".join(part.names), tuple(labels)),))


def report_labels(channel: Channel, categories: Sequence[str]) -> list[str]:
    """Return a name for each report of a `channel`: the `categories` with the highest probability.

    If such names are long or ambiguous, the reports are numbered from 1.

    Examples
    --------
    >>> import numpy as np
    >>> from deniable.channels import DenseChannel
    >>> pairs = DenseChannel(np.array([[0.4, 0.4, 0.2], [0.4, 0.2, 0.4], [0.2, 0.4, 0.4]]))
    >>> report_labels(pairs, ["red", "green", "blue"])
    ['red | green', 'red | blue', 'green | blue']
    """
    numbers = [str(number) for number in range(1, channel.reports + 1)]
    if channel.size * channel.reports > MAX_MATRIX_ENTRIES:
        return numbers
    labels = []
    for column in channel.matrix().T:
        likeliest = [categories[u] for u in (column == column.max()).nonzero()[0]]
        labels.append(OF_ALL if len(likeliest) == len(categories) else BETWEEN.join(likeliest))
    clear = len(set(labels)) == len(labels) and max(map(len, labels)) <= LONGEST_LABEL
    return labels if clear else numbers
