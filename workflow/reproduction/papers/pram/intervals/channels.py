"""Channels on attributes of Adult for the coverage of intervals.

- ``warner``: income, with the true answer with probability .7 (Warner, 1965);
- ``generalized``: education, 16 categories; the true category with probability .6, otherwise any
  category with equal probability;
- ``ordinal``: education in 7 levels, with a dense asymmetric matrix: near levels are more likely
  than far ones, and lower levels more likely than higher ones;
- ``product``: relationship and income, randomized separately; all 12 cells are estimated;
- ``near_singular``: the 7 levels with a matrix with nearly equal rows (98 %) and a condition number
  of 296, which needs more records;
- ``neighbours``: education; a category becomes itself or a neighbour. Rare categories then have few
  responses, and Wald's intervals from a thousand records have too little coverage.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from deniable.arrays import Floats
from deniable.channels import Channel, DenseChannel, KeepOrReplace, ProductChannel, Target
from deniable.records import Microdata

TARGETS: tuple[Target, ...] = ("population", "file")
LEVELS = {  # levels of education, in order, with their categories in Adult
    "up to 6th": ("Preschool", "1st-4th", "5th-6th"),
    "7th to 9th": ("7th-8th", "9th"),
    "10th to 12th": ("10th", "11th", "12th"),
    "high school": ("HS-grad",),
    "some college": ("Some-college", "Assoc-voc", "Assoc-acdm"),
    "bachelor": ("Bachelors",),
    "beyond": ("Masters", "Prof-school", "Doctorate"),
}


def _ordinal() -> Floats:
    """Return a matrix with weights 1, .35, .35^2, ... by distance, times 1.5 for lower levels."""
    codes = np.arange(len(LEVELS))
    distance = codes[None, :] - codes[:, None]
    weights = 0.35 ** np.abs(distance) * np.where(distance < 0, 1.5, 1.0)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _neighbours(size: int = 16) -> Floats:
    """Return a matrix with .8 for the category itself, and .2 for its neighbours."""
    weights = np.eye(size, k=1) + np.eye(size, k=-1)
    return np.asarray(0.8 * np.eye(size) + 0.2 * weights / weights.sum(axis=1, keepdims=True))


ORDINAL = _ordinal()
CHANNELS: Mapping[str, tuple[tuple[str, ...], Channel]] = {
    "warner": (("income",), KeepOrReplace.from_entries(2, 0.7, 0.3)),
    "generalized": (("education",), KeepOrReplace.uniform(16, 0.6)),
    "ordinal": (("education",), DenseChannel(ORDINAL)),
    "product": (
        ("relationship", "income"),
        ProductChannel((KeepOrReplace.uniform(6, 0.7), KeepOrReplace.uniform(2, 0.7))),
    ),
    "near_singular": (("education",), DenseChannel(0.02 * ORDINAL + 0.98 * ORDINAL.mean(axis=0))),
    "neighbours": (("education",), DenseChannel(_neighbours())),
}  # each channel with its attributes in Adult


def setting(
    data: Microdata, name: str, classes: Sequence[str] = ()
) -> tuple[Channel, list[str], Floats]:
    """Return the channel `name`, the names of its categories, and their proportions in `data`.

    The proportions have one more axis for each attribute in `classes`, before the categories.
    """
    attributes, channel = CHANNELS[name]
    labels = data.domain.project(attributes).cell_labels()
    counts = data.counts((*classes, *attributes))
    counts = counts.reshape(*counts.shape[: len(classes)], len(labels))
    if channel.size == len(LEVELS):
        code = data.domain["education"].code_of
        groups = ([code(each) for each in group] for group in LEVELS.values())
        counts = np.stack([counts[..., group].sum(axis=-1) for group in groups], axis=-1)
        labels = list(LEVELS)
    return channel, labels, np.asarray(counts / counts.sum())
