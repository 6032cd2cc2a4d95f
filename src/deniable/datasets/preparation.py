"""Records for the studies: of the published file or of its surrogate, whatever they are made of."""

from pathlib import Path
from typing import Any

import numpy as np

from deniable.datasets import (
    bayesian_network,
    copula,
    numeric as numeric_datasets,
    numeric_surrogates,
    surrogates,
)
from deniable.datasets.manifest import AnyDataset, Dataset, NumericDataset
from deniable.datasets.resolve import read_original
from deniable.errors import DataError
from deniable.records import Microdata, NumericMicrodata


def read_published(dataset: AnyDataset, path: Path | str) -> Microdata | NumericMicrodata:
    """Read the published file of a data set, categorical or numeric.

    Raises
    ------
    DataError
        As `deniable.datasets.resolve.read_original` and `deniable.datasets.numeric.read_original`.
    """
    if isinstance(dataset, NumericDataset):
        return numeric_datasets.read_original(dataset, path)
    return read_original(dataset, path)


def draw_surrogate(
    dataset: AnyDataset, model: Path | str, generator: np.random.Generator
) -> Microdata | NumericMicrodata:
    """Draw as many records as the published file has from its surrogate.

    Raises
    ------
    DataError
        If the model cannot be read, or is of other attributes than the manifest's.
    """
    if isinstance(dataset, Dataset):
        network = bayesian_network.read(model, dataset.domain)
        return surrogates.sample(network, dataset.records, generator)
    return numeric_surrogates.sample(read_copula(dataset, model), dataset.records, generator)


def read_copula(dataset: NumericDataset, model: Path | str) -> copula.Copula:
    """Read the copula of a numeric data set.

    Raises
    ------
    DataError
        If it cannot be read, or is of other attributes or classes than the manifest's.
    """
    found = copula.read(model)
    given = dataset.class_attribute
    of_the_manifest = (dataset.names, *((given.name, given.classes) if given else ("", ())))
    if (found.names, found.class_name, found.classes) != of_the_manifest:
        raise DataError(
            f"{model}: its attributes or classes are not those of the manifest; restore the file, "
            "or fit it again"
        )
    return found


def fit_surrogate(
    dataset: AnyDataset,
    origin: Path | str,
    model: Path | str,
    *,
    sha256: str,
    generator: np.random.Generator,
) -> Any:
    """Fit the surrogate of a data set to its published file, and write it to `model`.

    Returns
    -------
    pandas.DataFrame
        How near as many records drawn come to the file: for a categorical data set what
        `deniable.datasets.surrogates.pairwise_total_variation` returns, for a numeric one what
        `deniable.datasets.numeric_surrogates.fidelity` does.

    Raises
    ------
    DataError
        If the file cannot be read or the surrogate cannot be fitted to it.
    """
    if isinstance(dataset, Dataset):
        data = read_original(dataset, origin)
        network = surrogates.fit(data, sha256=sha256)
        drawn = surrogates.sample(network, dataset.records, generator)
        bayesian_network.write(model, network)
        return surrogates.pairwise_total_variation(data, drawn)
    numbers = numeric_datasets.read_original(dataset, origin)
    fitted = numeric_surrogates.fit(numbers, sha256=sha256)
    copula.write(model, fitted)
    stand_in = numeric_surrogates.sample(fitted, dataset.records, generator)
    return numeric_surrogates.fidelity(numbers, stand_in)
